// Rule 12: waiters are woken by what frees a key, miss nothing, and leave nothing behind.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include <future>
#include <vector>

namespace pawl::conformance {

// Long enough that only a wake-up that was lost lets it pass.
constexpr millis wake_bound = 10s;

// A store that notifies wakes its waiters; from one that does not they only come back unharmed.
inline wait_end woken(const client& waiter) {
    return waiter.traits().notifies ? wait_end::changed : wait_end::timed_out;
}

inline millis bound_for(const client& waiter) {
    return waiter.traits().notifies ? wake_bound : millis{100};
}

TYPED_TEST_P(StoreLaws, AWaiterIsWokenByTheReleaseOfAnotherClient) {
    auto mine = this->open();
    auto waiter = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = waiter.start_waiting("key", token, bound_for(waiter));
    waiter.until_waiters("key", 1);
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_EQ(woke.get(), woken(waiter));
}

TYPED_TEST_P(StoreLaws, AWaiterIsWokenByAForcedReleaseAndByAWithdrawal) {
    auto mine = this->open();
    auto waiter = this->open();
    const auto force_released = mine.granted(fresh_claim("force-released", 60s));
    auto woke = waiter.start_waiting("force-released", force_released, bound_for(waiter));
    waiter.until_waiters("force-released", 1);
    EXPECT_TRUE(yes(mine.force_release("force-released", force_released, 30s)));
    EXPECT_EQ(woke.get(), woken(waiter));

    const auto wanted = fresh_claim("withdrawn", 60s);
    const auto withdrawn = mine.granted(wanted);
    woke = waiter.start_waiting("withdrawn", withdrawn, bound_for(waiter));
    waiter.until_waiters("withdrawn", 1);
    EXPECT_TRUE(yes(mine.withdraw({"withdrawn", wanted.id})));
    EXPECT_EQ(woke.get(), woken(waiter));
}

// Goal: a waiter learns that the key has no holder, so that it can count its cooldown.
TYPED_TEST_P(StoreLaws, AWaiterIsWokenWhenACooldownBegins) {
    auto mine = this->open();
    auto waiter = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = waiter.start_waiting("key", token, bound_for(waiter));
    waiter.until_waiters("key", 1);
    release_options cooldown;
    cooldown.min_hold = 30s;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    EXPECT_EQ(woke.get(), woken(waiter));
}

TYPED_TEST_P(StoreLaws, AWaitForWhatHasChangedAlreadyEndsAtOnce) {
    auto mine = this->open();
    EXPECT_EQ(mine.wait_change("unknown", fence_token{1}, wake_bound), wait_end::changed);
    const auto first = mine.granted(fresh_claim("key"));
    EXPECT_TRUE(yes(mine.release("key", first)));
    EXPECT_EQ(mine.wait_change("key", first, wake_bound), wait_end::changed);
    mine.granted(fresh_claim("key"));
    EXPECT_EQ(mine.wait_change("key", first, wake_bound), wait_end::changed);
    const auto expired = mine.granted(fresh_claim("expired", 20ms));
    mine.let_expire("expired", 20ms);
    EXPECT_EQ(mine.wait_change("expired", expired, wake_bound), wait_end::changed);
}

// Goal: no wake-up falls between the rejection and the wait. Method: hand-overs in a row, each
// released while its waiter is on the way.
TYPED_TEST_P(StoreLaws, NoWakeUpIsLostOverManyHandOvers) {
    auto mine = this->open();
    auto waiter = this->open();
    if (!waiter.traits().notifies) return;
    for (int i = 0; i < 200; ++i) {
        const auto token = mine.granted(fresh_claim("key", 60s));
        auto woke = waiter.start_waiting("key", token, wake_bound);
        EXPECT_TRUE(yes(mine.release("key", token)));
        ASSERT_EQ(woke.get(), wait_end::changed) << "hand-over " << i;
    }
}

TYPED_TEST_P(StoreLaws, AWaitCanBeCancelledAndTheStoreContinues) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(mine.wait_change("key", token, 20ms), wait_end::timed_out);
    EXPECT_EQ(mine.wait_change("key", token, 0ms), wait_end::timed_out);
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::renewed);
    EXPECT_TRUE(yes(mine.release("key", token)));
}

TYPED_TEST_P(StoreLaws, ManyWaitersAreAllWokenByOneRelease) {
    auto mine = this->open();
    auto waiter = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    std::vector<std::future<wait_end>> waits;
    for (int i = 0; i < 100; ++i)
        waits.push_back(waiter.start_waiting("key", token, bound_for(waiter)));
    EXPECT_TRUE(yes(mine.release("key", token)));
    for (auto& woke : waits) EXPECT_EQ(woke.get(), woken(waiter));
    mine.until_waiters("key", 0);
}

TYPED_TEST_P(StoreLaws, CancelledWaitersLeaveNothingBehind) {
    auto mine = this->open();
    auto waiter = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    std::vector<std::future<wait_end>> waits;
    for (int i = 0; i < 100; ++i) waits.push_back(waiter.start_waiting("key", token, 50ms));
    for (auto& ended : waits) EXPECT_EQ(ended.get(), wait_end::timed_out);
    mine.until_waiters("key", 0);
}

// Goal: a process may drop a store in the middle of its waits. Method: the client and its loop go
// while five wait; the key is released into the void.
TYPED_TEST_P(StoreLaws, AClientMayGoAwayWhileItWaits) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    {
        auto waiter = this->open();
        std::vector<std::future<wait_end>> waits;
        for (int i = 0; i < 5; ++i) waits.push_back(waiter.start_waiting("key", token, wake_bound));
        waiter.until_waiters("key", 5);
    }
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_GT(mine.granted(fresh_claim("key")), token);
}

}  // namespace pawl::conformance
