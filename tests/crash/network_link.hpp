// The way from one node to a server, which can be cut so that nobody is told.
#pragma once

#include "tests/crash/takeover_scenario.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::crash {

class network_link {
public:
    virtual ~network_link() = default;
    virtual place far_end() const = 0;
    // From then on there is silence: no connection is reset.
    virtual void cut() = 0;
    virtual void mend() = 0;
};

// A store's URL at this host and these ports, with this timeout for one operation.
using url_maker = std::string (*)(const std::string& host, const std::vector<std::uint16_t>& ports,
                                  millis timeout);
// HOST:PORT,HOST:PORT,… as in a URL.
std::string hosts_at(const std::string& host, const std::vector<std::uint16_t>& ports);
// Shorter than a lease of a scenario, so that a server that says nothing is given up in time to ask
// again; longer than a server takes that has to share two cores with a test suite.
constexpr millis short_timeout{500};
// Of a scenario's node: its waiter ends with the first request that takes longer. Its command is
// ended by the guard, so that no node has to give up an answer in time.
constexpr millis node_timeout{20'000};

// Where clients learn from servers where the others are, those must be reached there.
enum class addresses { given, told };

// A network namespace where we may make one, and then it must succeed; else a way of proxies, as
// where addresses are told: those of the servers are of our own loopback. `number` tells the links
// of one test apart.
std::unique_ptr<network_link> make_link(int number, const std::vector<std::uint16_t>& servers,
                                        url_maker url, addresses how);

}  // namespace pawl::crash
