// A clock that stands still, for a loop of which a test counts what it does within a moment.
#pragma once

#include "net/timer.hpp"
#include "time/clocks.hpp"

#include <pawl/clock.hpp>

#include <cstdint>

namespace pawl {

struct stopped_clock final : net::simulated_node {
    instant now() const override { return at_; }
    time::wall_instant wall() const override { return wall_; }
    std::uint64_t random() override { return 1; }

private:
    const instant at_ = lease_clock::now();
    const time::wall_instant wall_ = time::wall_now();
};

}  // namespace pawl
