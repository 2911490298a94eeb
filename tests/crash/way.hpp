// The way from one client to the servers of a store: a proxy in front of each.
#pragma once

#include "test_support/faults/tcp_proxy.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace pawl::crash {

// Thread-safe, as a proxy is.
class way {
public:
    // Where there are several servers, what they say of each other's ports is told as the proxies',
    // so that a client which asks them where to go stays on this way.
    explicit way(const std::vector<std::uint16_t>& servers);

    // Of the proxies, in the order of the servers.
    std::vector<std::uint16_t> ports() const;

    // As of a proxy, for all of them.
    void cut();
    void reject();
    void accept_again();
    void stall(testing_faults::direction which);
    void resume(testing_faults::direction which);
    void delay(millis one_way);

    // Returns when any server has bytes held back; false when that takes too long.
    bool wait_for_held_bytes(testing_faults::direction which) const;

private:
    std::vector<std::unique_ptr<testing_faults::tcp_proxy>> proxies_;
};

}  // namespace pawl::crash
