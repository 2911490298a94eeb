// Virtual time: what happens next, and when. Nothing here waits, and nothing reads a clock.
#pragma once

#include "test_support/simulation/rng.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pawl::simulation {

// Used by one thread. Events of one instant happen in the order in which they were planned.
class timeline {
public:
    // Since the beginning of the simulation.
    nanos now() const { return now_; }
    std::uint64_t happened() const { return happened_; }

    void at(nanos when, std::function<void()> what);
    void after(nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    // When something is planned to happen; nanos::max() for never.
    nanos next() const { return heap_.empty() ? nanos::max() : heap_.front().when; }
    // Lets everything up to `end` happen, and stops there.
    void run_until(nanos end);

private:
    struct event {
        nanos when;
        std::uint64_t order;
        std::function<void()> what;
    };
    static bool later(const event& a, const event& b) {
        return a.when != b.when ? a.when > b.when : a.order > b.order;
    }

    std::vector<event> heap_;
    nanos now_{0};
    std::uint64_t planned_ = 0;
    std::uint64_t happened_ = 0;
};

}  // namespace pawl::simulation
