// A node's own network: a namespace that reaches us by one link, which can be cut.
#pragma once

#include <string>
#include <vector>

namespace pawl::crash {

// Needs CAP_NET_ADMIN and `ip`; throws std::runtime_error with what `ip` said. Gone with the
// object.
class separate_network {
public:
    // `number` tells the networks of one test apart; processes are told apart by their pids.
    explicit separate_network(int number);
    ~separate_network();
    separate_network(const separate_network&) = delete;
    separate_network& operator=(const separate_network&) = delete;

    // Goes before the command line of what is to run inside.
    std::vector<std::string> prefix() const;
    // Our address, as seen from inside.
    const std::string& our_address() const { return our_address_; }

    // Packets are dropped in silence, as when a cable is unplugged far away: no connection is
    // reset.
    void cut() const;
    void mend() const;

private:
    void make_link(const std::string& their_address) const;

    std::string name_;
    std::string our_end_;
    std::string their_end_;
    std::string our_address_;
};

}  // namespace pawl::crash
