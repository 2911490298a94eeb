// The facade over a store in memory: what a C++ engineer meets. Time here is real but short; every
// decision about time is tested on virtual time in src/lease and test_support/simulation.
#include <pawl/pawl.hpp>

#include "test_support/conformance/expectations.hpp"
#include "test_support/faults/world.hpp"
#include "time/clocks.hpp"
#include "time/pause.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(Locks, OneHolderAtATimeAndTokensRise) {
    world one;
    auto a = one.open(), b = one.open();
    auto first = a.try_acquire("k", {.ttl = 10s});
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->valid());
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 10s})));
    const auto token = first->token();
    EXPECT_EQ(first->release(), release_outcome::released);
    auto second = b.try_acquire("k", {.ttl = 10s});
    ASSERT_TRUE(second);
    EXPECT_GT(number(second->token()), number(token));
}

TEST(Locks, TheDestructorReleasesInTheBackground) {
    world one;
    auto a = one.open(), b = one.open();
    {
        auto lease = a.try_acquire("k", {.ttl = 1min});
    }
    EXPECT_TRUE(b.acquire("k", {.ttl = 1min}, 10s));
}

// ~locks gives releases that have begun time to reach the store: the end of main() is no crash.
TEST(Locks, ReleasesThatHaveBegunSurviveTheEndOfTheProcess) {
    world one;
    {
        auto a = one.open();
        auto lease = a.try_acquire("k", {.ttl = 1min});
        ASSERT_TRUE(lease);
    }
    auto b = one.open();
    EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
}

TEST(Locks, ALeaseMayOutliveItsLocks) {
    world one;
    std::optional<lease> orphan;
    {
        auto a = one.open();
        orphan = a.try_acquire("k", {.ttl = 1min});
    }
    EXPECT_EQ(orphan->release(), release_outcome::unknown);
}

// Goal: the end of a scope is the end of its lease for the same program too. Method: releases that
// take their time, and claims that do not wait for a busy key.
TEST(Locks, AKeyThatThisProcessIsReleasingIsWaitedFor) {
    world one;
    one.faults->release_delay = 5ms;
    auto a = one.open();
    for (int i = 0; i < 50; ++i) {
        auto lease = a.try_acquire("k", {.ttl = 1min});
        ASSERT_TRUE(lease) << i;
    }
}

// The same on a bare store in memory, whose release takes a turn of the loop as others' do.
TEST(Locks, ScopeAfterScopeTheKeyIsAcquired) {
    world one;
    auto a = one.open();
    int won = 0;
    for (int i = 0; i < 500; ++i)
        if (auto lease = a.try_acquire("k", {.ttl = 1min})) ++won;
    EXPECT_EQ(won, 500);
}

// Of two that do not wait the second is told that the key is busy: the first one gets it.
TEST(Locks, OneClaimWaitsForAReleaseThatIsUnderWay) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(lease);
    one.faults->release_delay = 300ms;
    boost::asio::io_context context;
    lease.reset();
    const lease_options plain{.ttl = 1min};
    auto first =
        boost::asio::co_spawn(context, a.async_try_acquire("k", plain), boost::asio::use_future);
    auto second =
        boost::asio::co_spawn(context, a.async_try_acquire("k", plain), boost::asio::use_future);
    context.run();
    const auto one_of_them = first.get(), other = second.get();
    EXPECT_NE(one_of_them.has_value(), other.has_value());
}

// Goal: what is no grant is taken for none. Method: answers that a child of a fork() once stole, or
// that a faulty engine makes; the claim is withdrawn, and the key free for others.
TEST(Locks, AGrantThatIsNoneIsRejectedAndWithdrawn) {
    using testing_faults::spoilt;
    for (const auto how : {spoilt::token_0, spoilt::other_key, spoilt::longer_ttl}) {
        world one;
        auto a = one.open(), b = one.open_with(std::make_shared<testing_faults::plan>());
        one.faults->grants = how;
        try {
            const auto none = a.try_acquire("k", {.ttl = 1min});
            FAIL() << static_cast<int>(how);
        } catch (const store_error& error) {
            EXPECT_EQ(error.code(), errc::protocol);
        }
        EXPECT_TRUE(a.drain(10s));
        EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
    }
}

// A program that gave little more than one silence of the store: two of them are too long.
TEST(Locks, AWaitEndsInTimeWhileTheStoreIsAway) {
    world one;
    auto a = one.open();
    one.faults->silence = 3900ms;
    for (const auto when_down : {store_down::fail, store_down::retry}) {
        // A second request that was waited for would have been over after 7.8 s.
        EXPECT_TRUE(conformance::takes_less(7500ms, [&] {
            EXPECT_THROW(
                static_cast<void>(a.acquire("k", {.ttl = 1min, .on_store_down = when_down}, 4s)),
                store_error);
        }));
    }
}

TEST(Locks, TheHeartbeatKeepsALeaseFarBeyondItsTtl) {
    world one;
    auto a = one.open(), b = one.open();
    // A machine that stands still for two thirds of it ends it.
    auto lease = a.try_acquire("k", {.ttl = 9s});
    ASSERT_TRUE(lease);
    EXPECT_TRUE(rejected(b.acquire("k", {.ttl = 9s}, 20s)));
    EXPECT_TRUE(lease->valid());
    EXPECT_FALSE(lease->lost());
}

TEST(Locks, AForceReleasedHolderIsToldToStop) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", {.ttl = 6s, .grace = 0ms});
    ASSERT_TRUE(lease);
    ASSERT_TRUE(b.force_release("k", lease->token(), 0ms));
    wait_for_stop(lease->stop_token());
    EXPECT_FALSE(lease->valid());
    EXPECT_EQ(lease->lost(), loss_reason::taken);
    EXPECT_EQ(lease->release(), release_outcome::lost);
}

// The store goes silent: the job must be told to stop before the store could grant the key again.
TEST(Locks, AnUnresponsiveStoreStopsTheJobInTime) {
    world one;
    auto a = one.open();
    const auto before = lease_clock::now();
    // Five seconds between the two, as a busy machine may run this thread that late.
    auto lease = a.try_acquire("k", {.ttl = 15s, .grace = 5s});
    ASSERT_TRUE(lease);
    one.faults->fail_all = errc::outcome_unknown;
    wait_for_stop(lease->stop_token());
    EXPECT_LT(lease_clock::now(), before + 15s);
}

TEST(Locks, ARenewalThatFailsTwiceIsMadeUpFor) {
    world one;
    auto a = one.open();
    // Five seconds are left of it then.
    auto lease = a.try_acquire("k", {.ttl = 12s, .grace = 0ms});
    ASSERT_TRUE(lease);
    const auto first_end = lease->valid_until();
    one.faults->renewals_to_fail = 2;
    while (lease->valid_until() == first_end && lease->valid()) std::this_thread::yield();
    EXPECT_TRUE(lease->valid());
    EXPECT_EQ(one.faults->renewals_to_fail, 0);
}

// Rule 2: the grant was made, its answer was lost; asking again returns the same grant.
TEST(Locks, AClaimWhoseAnswerWasLostIsRepeatedSafely) {
    world one;
    auto a = one.open();
    one.faults->answers_to_lose = 1;
    auto lease = a.try_acquire("k", {.ttl = 10s});
    ASSERT_TRUE(lease);
    const auto seen = a.inspect("k");
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->holder, lease->token());
}

// Goal: store_down::fail is heard at once also by the next caller, while the claim before it, whose
// outcome is unknown, is still being withdrawn. Method: a server that takes one claim to its grave.
TEST(Locks, ThatTheStoreIsGoneIsHeardWhileAClaimIsStillWithdrawn) {
    world one;
    auto a = one.open();
    one.faults->is_gone = true;
    one.faults->answers_to_lose = 1;
    const auto heard = [&] {
        try {
            const auto none = a.try_acquire("k", {.ttl = 1min, .on_store_down = store_down::fail});
        } catch (const store_error& error) {
            return error.code();
        }
        return errc::closed;
    };
    EXPECT_EQ(heard(), errc::outcome_unknown);
    EXPECT_EQ(heard(), errc::unreachable);
    one.faults->is_gone = false;
    EXPECT_TRUE(a.acquire("k", {.ttl = 1min}, 10s));
}

// Goal: a store that grants less than was asked is believed for no longer. Method: the lease is
// renewed for longer than one of the short leases, then the store goes silent.
TEST(Locks, AGrantShorterThanRequestedIsRenewedAndValidAsGranted) {
    world one;
    // Five of its seconds are left when it is renewed.
    constexpr millis granted = 7500ms;
    one.faults->ttl_granted = granted;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 1min, .grace = 0ms});
    ASSERT_TRUE(lease);
    const auto first_end = lease->valid_until();
    EXPECT_LE(first_end, lease_clock::now() + granted);
    while (lease->valid_until() <= first_end + granted && lease->valid())
        time::pause_until(lease_clock::now() + 2ms);
    EXPECT_TRUE(lease->valid());
    one.faults->fail_all = errc::unreachable;
    wait_for_stop(lease->stop_token());
    EXPECT_FALSE(lease->valid_until() > lease_clock::now() + granted);
}

// And who gives up leaves nothing behind: the next one need not wait for the TTL.
TEST(Locks, AClaimThatIsGivenUpIsWithdrawn) {
    world one;
    one.settings.timeout = 20ms;
    auto a = one.open(), b = one.open();
    one.faults->answers_to_lose = 1000;
    EXPECT_THROW(static_cast<void>(a.try_acquire("k", {.ttl = 1min})), store_error);
    one.faults->answers_to_lose = 0;
    EXPECT_TRUE(b.acquire("k", {.ttl = 1min}, 10s));
}

occurrence due_now() {
    return occurrence{std::chrono::floor<millis>(time::wall_now()).time_since_epoch().count()};
}

// Goal: a slow store uses no occurrence up. Method: grants whose answers are all lost, and a
// withdrawal that has no answer at first; another node is granted the very same occurrence.
TEST(Locks, AClaimThatIsGivenUpGivesItsOccurrenceBack) {
    world one;
    one.settings.timeout = 20ms;
    auto a = one.open(), b = one.open();
    const lease_options wanted{.ttl = 1min, .occurrence = due_now()};
    one.faults->answers_to_lose = 1000;
    one.faults->withdrawals_to_fail = 3;
    EXPECT_THROW(static_cast<void>(a.try_acquire("k", wanted)), store_error);
    one.faults->answers_to_lose = 0;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_EQ(one.faults->withdrawals_to_fail, 0);
    EXPECT_TRUE(b.try_acquire("k", wanted));
}

// Goal: a lease under which nothing was done uses no occurrence up. Method: one is granted, and its
// holder says so, with a store that answers, and with one that does not at first.
TEST(Locks, AReleaseOfWhatWasNotStartedGivesTheOccurrenceBack) {
    for (const int failures : {0, 3}) {
        world one;
        auto a = one.open(), b = one.open();
        lease_options wanted{.ttl = 1min, .occurrence = due_now()};
        wanted.hold_until_expiry = true;
        auto held = a.try_acquire("k", wanted);
        ASSERT_TRUE(held);
        one.faults->withdrawals_to_fail = failures;
        held->mark_not_started();
        EXPECT_EQ(held->release(),
                  failures == 0 ? release_outcome::released : release_outcome::unknown);
        EXPECT_TRUE(a.drain(10s));
        EXPECT_TRUE(b.try_acquire("k", wanted));
    }
}

TEST(Locks, DrainingEndsWhenItIsToldTo) {
    world one;
    one.settings.timeout = 20ms;
    auto a = one.open();
    one.faults->answers_to_lose = 1000;
    one.faults->withdrawals_to_fail = 1'000'000;
    EXPECT_THROW(static_cast<void>(a.try_acquire("k", {.ttl = 1min})), store_error);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(a.drain(1min, stop.get_token()));
    EXPECT_FALSE(a.drain(10ms));
}

// Goal: a copy of a claim that arrives late holds the key for no caller. Method: a claim that was
// sent twice is released; its id is given up at the store, and its occurrence stays done.
TEST(Locks, AClaimThatWasSentTwiceIsWithdrawnAfterItsRelease) {
    world one;
    auto a = one.open(), b = one.open();
    const lease_options wanted{.ttl = 1min, .occurrence = due_now()};
    one.faults->answers_to_lose = 1;
    auto lease = a.try_acquire("k", wanted);
    ASSERT_TRUE(lease);
    const auto before = one.faults->operations.load();
    EXPECT_EQ(lease->release(), release_outcome::released);
    EXPECT_TRUE(a.drain(10s));
    EXPECT_EQ(one.faults->operations - before, 2);
    EXPECT_TRUE(std::holds_alternative<already_done>(b.acquire_with_reason("k", wanted)));
}

// Goal: waiters poll a store without push once a second, and it is told once. Method: a wait of two
// seconds for a key that stays held.
TEST(Locks, AWaiterWithoutTheRightToListenAsksOnceASecond) {
    struct listening : observer {
        std::atomic<int> failures{0};
        void on_store_failure(std::string_view operation, const failure&) override {
            if (operation == "wait_change") ++failures;
        }
    };
    world one;
    one.faults->pushes_denied = true;
    auto a = one.open();
    const auto ears = std::make_shared<listening>();
    auto b = one.open({.observer = ears});
    const auto held = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    const auto before = one.faults->operations.load();
    EXPECT_TRUE(rejected(b.acquire("k", {.ttl = 1min}, 2s)));
    EXPECT_LE(one.faults->operations - before, 5);
    EXPECT_EQ(ears->failures, 1);
}

TEST(Locks, AStoreThatIsDownThrowsWhatItSaid) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::unreachable;
    try {
        const auto none = a.try_acquire("k", {.ttl = 1s});
        FAIL();
    } catch (const store_error& error) {
        EXPECT_EQ(error.code(), errc::unreachable);
    }
}

TEST(Locks, BadOptionsAreRejectedBeforeTheStoreIsAsked) {
    world one;
    auto a = one.open();
    EXPECT_THROW(static_cast<void>(a.try_acquire("k", {})), option_error);
    EXPECT_THROW(static_cast<void>(a.try_acquire("", {.ttl = 1s})), option_error);
    EXPECT_THROW(static_cast<void>(a.try_acquire(std::string(513, 'k'), {.ttl = 1s})),
                 option_error);
    EXPECT_THROW(static_cast<void>(a.try_acquire("a\nb", {.ttl = 1s})), option_error);
    EXPECT_THROW(static_cast<void>(a.try_acquire("caf\xe9", {.ttl = 1s})), option_error);
    EXPECT_THROW(one.open({.owner = "caf\xe9"}), option_error);
    EXPECT_THROW(one.open({.owner = std::string(257, 'o')}), option_error);
    EXPECT_THROW(static_cast<void>(a.list("", "", 0)), option_error);
}

TEST(Locks, AStopRequestEndsAWait) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", {.ttl = 1min});
    std::stop_source stop;
    std::thread waiter{
        [&] { EXPECT_TRUE(rejected(b.acquire("k", {.ttl = 1min}, 1h, stop.get_token()))); }};
    while (a.inspect("k")->waiters.value_or(0) == 0) std::this_thread::yield();
    stop.request_stop();
    waiter.join();
}

TEST(Locks, AWaiterIsWokenByTheRelease) {
    // The longest is for ever, and no number that wraps.
    for (const auto wait : {millis{1h}, millis::max()}) {
        world one;
        auto a = one.open(), b = one.open();
        auto lease = a.try_acquire("k", {.ttl = 1h});
        std::thread waiter{[&] { EXPECT_TRUE(b.acquire("k", {.ttl = 1h}, wait)); }};
        while (a.inspect("k")->waiters.value_or(0) == 0) std::this_thread::yield();
        lease->release();
        waiter.join();
        EXPECT_TRUE(b.drain(wait));
    }
}

// P12, R29: the local queue. A thousand local waiters cost the store a number of operations for
// each hand-over that does not grow with them.
TEST(Locks, ManyLocalWaitersCostTheStoreOne) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 1min});
    constexpr int waiters = 1000;
    boost::asio::io_context context;
    std::atomic<int> won{0};
    auto wait = [&]() -> boost::asio::awaitable<void> {
        const lease_options options{.ttl = millis{60'000}};
        auto asking = a.async_acquire("k", options, millis{60'000});
        auto mine = co_await std::move(asking);
        won += mine ? 1 : 0;
        auto ending = mine->async_release();
        co_await std::move(ending);
    };
    for (int i = 0; i < waiters; ++i) boost::asio::co_spawn(context, wait(), boost::asio::detached);
    const auto before = one.faults->operations.load();
    lease->release();
    context.run();
    EXPECT_EQ(won, waiters);
    // An acquire and a release for each, and for the first one what it did while it waited.
    EXPECT_LE(one.faults->operations - before, waiters * 2 + 10);
}

TEST(Locks, ReentrancyByInstanceSharesTheTokenUntilTheLastHandle) {
    world one;
    auto a = one.open(), b = one.open();
    const lease_options again{.ttl = 1min, .reentrancy = reentrancy::instance};
    auto outer = a.try_acquire("k", again);
    auto inner = a.try_acquire("k", again);
    ASSERT_TRUE(outer && inner);
    EXPECT_EQ(outer->token(), inner->token());
    EXPECT_EQ(inner->release(), release_outcome::still_shared);
    EXPECT_TRUE(rejected(b.try_acquire("k", again)));
    EXPECT_EQ(outer->release(), release_outcome::released);
    EXPECT_TRUE(b.try_acquire("k", again));
}

// Goal: who comes while the first claim is under way shares its lease as well, and does not wait
// until it is released. Method: the store keeps its answer back until both have asked.
TEST(Locks, ReentrancyByInstanceSharesAlsoWhatIsStillBeingClaimed) {
    world one;
    auto a = one.open();
    const lease_options again{.ttl = 1min, .reentrancy = reentrancy::instance};
    one.faults->answers_held = true;
    const auto claim = [&] {
        return boost::asio::co_spawn(a.get_executor(), a.async_acquire("k", again, 1min),
                                     boost::asio::use_future);
    };
    auto first = claim(), second = claim(), third = claim();
    // Behind all of them on the loop.
    boost::asio::post(a.get_executor(), boost::asio::use_future).get();
    one.faults->answers_held = false;
    const auto outer = first.get(), inner = second.get(), other = third.get();
    ASSERT_TRUE(outer && inner && other);
    EXPECT_EQ(inner->token(), outer->token());
    EXPECT_EQ(other->token(), outer->token());
}

// The same for what is granted while a claim pauses for its jitter.
TEST(Locks, ReentrancyByInstanceSharesAlsoWhatIsGrantedDuringTheJitter) {
    world one;
    auto a = one.open();
    const lease_options again{.ttl = 1min, .reentrancy = reentrancy::instance};
    auto late = again;
    late.acquire_jitter = 1s;
    auto pausing = boost::asio::co_spawn(a.get_executor(), a.async_acquire("k", late, 1min),
                                         boost::asio::use_future);
    // Behind it on the loop.
    boost::asio::post(a.get_executor(), boost::asio::use_future).get();
    const auto outer = a.acquire("k", again, 1min);
    ASSERT_TRUE(outer);
    ASSERT_EQ(pausing.wait_for(30s), std::future_status::ready);
    const auto inner = pausing.get();
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->token(), outer->token());
}

// Goal: no caller gets a handle on a lease that is being given back. Method: the loop stands still
// while a claim of the same process and then the release of the last handle come to it; the claim
// waits for the release, and is granted a lease of its own.
TEST(Locks, ALeaseWhoseLastHandleHasGoneIsNotShared) {
    world one;
    auto a = one.open();
    const lease_options again{.ttl = 1min, .reentrancy = reentrancy::instance};
    auto outer = a.try_acquire("k", again);
    ASSERT_TRUE(outer);
    std::latch both_came{1};
    boost::asio::post(a.get_executor(), [&] { both_came.wait(); });
    auto claiming = boost::asio::co_spawn(a.get_executor(), a.async_try_acquire("k", again),
                                          boost::asio::use_future);
    const auto token = outer->token();
    outer.reset();
    both_came.count_down();
    const auto own = claiming.get();
    ASSERT_TRUE(own);
    EXPECT_GT(number(own->token()), number(token));
}

TEST(Locks, AHandleCanBeSharedAndTheLastOneReleases) {
    world one;
    auto a = one.open(), b = one.open();
    auto outer = a.try_acquire("k", {.ttl = 1min});
    {
        const auto inner = outer->share();
        EXPECT_EQ(inner.token(), outer->token());
    }
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 1min})));
    outer->release();
    EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
}

TEST(Locks, WithoutReentrancyTheSameProcessIsRejected) {
    world one;
    auto a = one.open();
    auto outer = a.try_acquire("k", {.ttl = 1min});
    auto inner = a.acquire_with_reason("k", {.ttl = 1min});
    ASSERT_TRUE(std::holds_alternative<busy>(inner));
    EXPECT_EQ(std::get<busy>(inner).holder, outer->token());
}

TEST(Locks, AtLeastKeepsTheKeyAfterARelease) {
    world one;
    auto a = one.open(), b = one.open();
    a.try_acquire("k", {.ttl = 1min, .min_hold = 1min}).value().release();
    const auto tried = b.acquire_with_reason("k", {.ttl = 1min});
    ASSERT_TRUE(std::holds_alternative<busy>(tried));
    EXPECT_EQ(std::get<busy>(tried).reason, busy_reason::cooldown);
}

TEST(Locks, AManualLeaseIsRenewedWhenAskedTo) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 10s, .renew = renewal_mode::manual});
    const auto before = lease->valid_until();
    EXPECT_TRUE(lease->renew());
    EXPECT_GT(lease->valid_until(), before);
}

// Goal: good news that comes too late is no news. Method: the store carries on with a lease that
// expired, and its holder, who has stopped trusting it, asks for that.
TEST(Locks, ARenewalAfterTheEndOfValidityIsNotTold) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 100ms,
                                     .renew = renewal_mode::manual,
                                     .if_expired = expired_renewal::extend_if_unclaimed});
    ASSERT_TRUE(lease);
    while (a.inspect("k")->remaining.count() > 0) std::this_thread::yield();
    EXPECT_FALSE(lease->renew());
    EXPECT_FALSE(lease->valid());
}

TEST(Locks, AFenceRejectsAnOlderToken) {
    world one;
    auto a = one.open();
    EXPECT_TRUE(a.check_fence("account/7", fence_token{10}).accepted);
    EXPECT_TRUE(a.check_fence("account/7", fence_token{10}).accepted);
    EXPECT_FALSE(
        a.check_fence("account/7", fence_token{10}, fence_rule::reject_not_newer).accepted);
    const auto stale = a.check_fence("account/7", fence_token{9});
    EXPECT_FALSE(stale.accepted);
    EXPECT_EQ(stale.highest, fence_token{10});
}

TEST(Run, SkipsWhatIsBusyOrDone) {
    world one;
    auto a = one.open(), b = one.open();
    int runs = 0;
    const job nightly{
        .name = "nightly",
        .lease = {.ttl = 10s, .occurrence = occurrence{1000}},
        .body = [&](const run& now) {
            ++runs;
            EXPECT_FALSE(now.id.empty());
            EXPECT_EQ(b.run({.name = "nightly", .lease = {.ttl = 10s}, .body = [](const run&) {}}),
                      run_outcome::skipped_busy);
        }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    EXPECT_EQ(b.run(nightly), run_outcome::skipped_done);
    EXPECT_EQ(runs, 1);
}

TEST(Run, ABodyThatThrowsIsReleasedAndMayRunAgainUnderAtLeastOnce) {
    world one;
    auto a = one.open();
    const lease_options options{
        .ttl = 10s, .occurrence = occurrence{1000}, .delivery = delivery::at_least_once};
    const job broken{.name = "j", .lease = options, .body = [](const run&) {
                         throw std::runtime_error{"disk full"};
                     }};
    EXPECT_THROW(a.run(broken), std::runtime_error);
    int runs = 0;
    const job mended{.name = "j", .lease = options, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(a.run(mended), run_outcome::ran);
    EXPECT_EQ(a.run(mended), run_outcome::skipped_done);
    EXPECT_EQ(runs, 1);
}

TEST(Run, LossStopsTheBodyAndIsReported) {
    world one;
    auto a = one.open(), b = one.open();
    const job victim{.name = "j", .lease = {.ttl = 6s, .grace = 0ms}, .body = [&](const run& now) {
                         b.force_release("j", now.token, 0ms);
                         wait_for_stop(now.stop);
                     }};
    EXPECT_EQ(a.run(victim), run_outcome::lost);
}

TEST(Run, ShutdownStopsTheBody) {
    world one;
    auto a = one.open();
    std::stop_source shutdown;
    const job patient{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                          shutdown.request_stop();
                          wait_for_stop(now.stop);
                      }};
    EXPECT_EQ(a.run(patient, shutdown.get_token()), run_outcome::ran);
}

TEST(AsyncRun, RunsTheBodyAwayFromTheCallersThread) {
    world one;
    auto a = one.open();
    boost::asio::io_context context;
    std::thread::id body_thread;
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run&) {
                          body_thread = std::this_thread::get_id();
                      }};
    auto outcome = boost::asio::co_spawn(context, a.async_run(nightly), boost::asio::use_future);
    context.run();
    EXPECT_EQ(outcome.get(), run_outcome::ran);
    EXPECT_NE(body_thread, std::this_thread::get_id());
}

struct counting : observer {
    std::atomic<int> granted{0}, rejected{0}, lost{0}, released{0}, trouble{0}, denied{0};
    void on_renew(std::string_view, bool renewed, int failures) override {
        if (!renewed && failures == 0) ++denied;
    }
    void on_renewal_failures(std::string_view, int failures, millis) override {
        trouble = failures;
    }
    void on_acquire(std::string_view, acquire_outcome outcome, millis) override {
        ++(outcome == acquire_outcome::granted ? granted : rejected);
    }
    void on_lost(std::string_view, fence_token, loss_reason) override { ++lost; }
    void on_release(std::string_view, fence_token, millis) override { ++released; }
};

// P3: the count is for people, the deadline for the job.
TEST(Observer, HearsOfRenewalFailuresWhileTheLeaseIsStillValid) {
    world one;
    auto ears = std::make_shared<counting>();
    auto a = one.open({.observer = ears});
    // Five seconds are left of it then.
    auto lease = a.try_acquire("k", {.ttl = 12s, .max_renew_failures = 2, .grace = 0ms});
    one.faults->renewals_to_fail = 2;
    while (ears->trouble == 0 && lease->valid()) std::this_thread::yield();
    EXPECT_EQ(ears->trouble, 2);
    EXPECT_TRUE(lease->valid());
}

TEST(Observer, HearsOfEveryGrantRejectionLossAndRelease) {
    world one;
    auto ears = std::make_shared<counting>();
    auto a = one.open({.observer = ears}), b = one.open({.observer = ears});
    auto lease = a.try_acquire("k", {.ttl = 6s, .grace = 0ms});
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 6s, .grace = 0ms})));
    b.force_release("k", lease->token(), 0ms);
    wait_for_stop(lease->stop_token());
    lease->release();
    EXPECT_EQ(ears->granted, 1);
    EXPECT_EQ(ears->rejected, 1);
    EXPECT_EQ(ears->denied, 1);
    EXPECT_EQ(ears->lost, 1);
    EXPECT_EQ(ears->released, 1);
}

}  // namespace
}  // namespace pawl
