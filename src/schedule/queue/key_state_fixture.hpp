// What the tests of a key state share: two occurrences, and a run of one of them.
#pragma once

#include "schedule/queue/key_state.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::schedule {

using namespace std::chrono_literals;
using act = key_state::act;

constexpr instant start{1h};
constexpr double even = 0.5;
constexpr occurrence first{1'800'000'000'000};
constexpr occurrence second{1'800'000'060'000};

inline key_state key_state_of(delivery mode, overlap when_running = overlap::skip) {
    queue_rules rules;
    rules.delivery = mode;
    rules.when_running = when_running;
    return key_state{rules};
}

inline void begin_run(key_state& one, pawl::occurrence occurrence, instant now) {
    one.queue().offer_occurrence(occurrence, now, 0ms, 0ms);
    ASSERT_EQ(one.next(now).what, act::claim);
    ASSERT_EQ(one.wanted().occurrence, occurrence);
    one.on_granted();
}

// One occurrence has been given up, for this reason.
inline void expect_skipped(key_state& one, pawl::occurrence occurrence, skip_reason why) {
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].occurrence, occurrence);
    EXPECT_EQ(skipped[0].why, why);
}

}  // namespace pawl::schedule
