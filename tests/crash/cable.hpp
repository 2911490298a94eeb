// The way from one node to a server, which can be cut so that nobody is told.
#pragma once

#include "tests/crash/contest.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace pawl::crash {

class cable {
public:
    virtual ~cable() = default;
    virtual place far_end() const = 0;
    // From then on there is silence: no connection is reset.
    virtual void cut() = 0;
    virtual void mend() = 0;
};

// A store's URL at this host and port, with this timeout for one operation.
using url_maker = std::string (*)(const std::string& host, std::uint16_t port, millis timeout);
// Shorter than a lease of a contest, so that a server that says nothing is given up in time to ask
// again; longer than a server takes that has to share two cores with a test suite.
constexpr millis short_timeout{500};

// A network namespace where we may make one, and then it must succeed; else a proxy. `number` tells
// the cables of one test apart.
std::unique_ptr<cable> lay_cable(int number, std::uint16_t server_port, url_maker url);

}  // namespace pawl::crash
