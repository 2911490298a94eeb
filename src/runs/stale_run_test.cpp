#include "runs/stale_run.hpp"

#include <gtest/gtest.h>

namespace pawl::runs {
namespace {

using namespace std::chrono_literals;

constexpr occurrence due{1'000'000};

run_record stale_run(delivery mode) {
    run_record run;
    run.id = "r";
    run.key = "k";
    run.node = "node-a";
    run.token = fence_token{7};
    run.occurrence = due;
    run.delivery = mode;
    return run;
}

record key_of(fence_token holder, std::optional<occurrence> done = {}) {
    record seen;
    seen.holder = holder;
    seen.remaining = number(holder) == 0 ? 0ms : 5s;
    seen.last_done = done;
    return seen;
}

// Frozen or cut off, but its key is its own.
TEST(UnresponsiveRun, WhoHoldsItsKeyIsAlive) {
    const auto run = stale_run(delivery::at_most_once);
    EXPECT_EQ(resolve_stale_run(run, key_of(run.token, due)).what, stale_state::alive);
}

// No other node runs that occurrence, unless it was to be done at least once.
TEST(UnresponsiveRun, WithoutItsKeyItIsLostOrToBeResumed) {
    for (const auto& lease : {std::optional{key_of({})}, std::optional{key_of(fence_token{8})},
                              std::optional<record>{}}) {
        const auto lost = resolve_stale_run(stale_run(delivery::at_most_once), lease);
        EXPECT_EQ(lost.what, stale_state::over);
        EXPECT_EQ(lost.how.status, run_status::lost);
        EXPECT_EQ(lost.how.reason, "its node node-a became unresponsive");
        const auto left = resolve_stale_run(stale_run(delivery::at_least_once), lease);
        EXPECT_EQ(left.what, stale_state::over);
        EXPECT_EQ(left.how.status, run_status::abandoned);
        auto cancelled = stale_run(delivery::at_least_once);
        cancelled.cancel_requested = true;
        EXPECT_EQ(resolve_stale_run(cancelled, lease).how.status, run_status::cancelled);
    }
}

// The store knows better than the journal that it was done; of a later occurrence it cannot tell.
TEST(UnresponsiveRun, WhatTheStoreKnowsAsDoneIsInDoubt) {
    const auto run = stale_run(delivery::at_least_once);
    const auto done = resolve_stale_run(run, key_of({}, due));
    EXPECT_EQ(done.what, stale_state::in_doubt);
    EXPECT_EQ(done.how.status, run_status::lost);
    EXPECT_EQ(done.how.reason, "it ended, and its node node-a could not record how");
    const auto later = resolve_stale_run(run, key_of({}, occurrence{number(due) + 1}));
    EXPECT_EQ(later.what, stale_state::in_doubt);
    EXPECT_EQ(later.how.status, run_status::abandoned);
    EXPECT_EQ(resolve_stale_run(run, key_of({}, occurrence{number(due) - 1})).what,
              stale_state::over);
}

}  // namespace
}  // namespace pawl::runs
