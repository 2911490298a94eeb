// The bare side of the ZooKeeper benchmark: what pawl does to the tree, by the C client's variant
// with threads. pawl links the other variant, whose functions have the same names, so this one
// comes in a module of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::benchmarks {

class bare_zookeeper {
public:
    virtual ~bare_zookeeper() = default;

    virtual void create(const std::string& path) = 0;
    virtual std::vector<std::string> children(const std::string& path) = 0;
    // Acquires and releases the key whose record is there, by calls that block.
    virtual void pair(const std::string& record) = 0;
    // As many chains of pairs at once as there are records; pairs a second.
    virtual double rate(const std::vector<std::string>& records, int pairs_each) = 0;
    // One renewal of all: transactions of 256, all in flight at once.
    virtual void renew(const std::vector<std::string>& leases) = 0;
};

// Connected. Throws std::runtime_error without the module or what it links.
std::unique_ptr<bare_zookeeper> connect_bare_zookeeper(std::uint16_t port);

}  // namespace pawl::benchmarks
