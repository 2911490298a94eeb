#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include "test_support/faults/eventually.hpp"

#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

constexpr lease_options plain{.ttl = 30s};

bool rejected(const acquired<lease>& what) { return !what; }

// Hours of renewals take no time, and no other is granted the key meanwhile.
TEST(World, TheHeartbeatGoesByTheTimeThatIsTurned) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", plain);
    ASSERT_TRUE(lease);
    const auto token = lease->token();
    const auto before = one.now();
    for (int i = 0; i < 12; ++i) {
        one.advance(5min);
        EXPECT_TRUE(lease->valid());
        EXPECT_TRUE(rejected(b.try_acquire("k", plain)));
    }
    EXPECT_EQ(one.now(), before + 1h);
    EXPECT_GT(lease->valid_until(), one.now());
    EXPECT_EQ(lease->token(), token);
}

// A turn of the time waits for its loops, and a callback on one of them would wait for itself.
TEST(World, TimeIsNotTurnedInACallback) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 30s, .renew = renewal_mode::manual});
    ASSERT_TRUE(lease);
    int rejections = 0;
    const std::stop_callback told{lease->stop_token(), [&] {
                                      EXPECT_THROW(one.advance(1s), std::logic_error);
                                      EXPECT_THROW(one.lose("k"), std::logic_error);
                                      ++rejections;
                                  }};
    one.advance(31s);
    EXPECT_EQ(rejections, 1);
}

TEST(World, AProcessOfAnotherWorldIsNotFrozen) {
    world one, other;
    auto a = one.open();
    EXPECT_THROW(other.freeze(a), option_error);
    EXPECT_THROW(other.thaw(a), option_error);
}

// As in a process that stands still: the lease is over for its holder, and then at the store.
TEST(World, AFrozenProcessLosesItsLeaseAndAnotherTakesOver) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", plain);
    ASSERT_TRUE(lease);
    one.freeze(a);
    one.advance(29s);
    EXPECT_TRUE(lease->valid());
    EXPECT_TRUE(rejected(b.try_acquire("k", plain)));
    one.advance(1s);
    EXPECT_FALSE(lease->valid());
    EXPECT_FALSE(lease->stop_token().stop_requested());
    const auto next = b.try_acquire("k", plain);
    ASSERT_TRUE(next);
    EXPECT_GT(number(next->token()), number(lease->token()));
    one.thaw(a);
    EXPECT_TRUE(lease->stop_token().stop_requested());
    EXPECT_TRUE(lease->lost());
    EXPECT_TRUE(next->valid());
}

// The one that renews by hand loses it when it does not.
TEST(World, ALeaseThatIsNotRenewedEndsWithItsTtl) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", {.ttl = 30s, .renew = renewal_mode::manual});
    ASSERT_TRUE(lease);
    one.advance(20s);
    EXPECT_TRUE(lease->renew());
    one.advance(20s);
    EXPECT_TRUE(lease->valid());
    one.advance(10s);
    EXPECT_EQ(lease->lost(), loss_reason::validity_ended);
    EXPECT_TRUE(b.try_acquire("k", plain));
}

TEST(World, WhatIsTakenIsToldAtOnce) {
    world one;
    auto a = one.open(), b = one.open();
    EXPECT_FALSE(one.lose("k"));
    auto lease = a.try_acquire("k", plain);
    ASSERT_TRUE(lease);
    EXPECT_TRUE(one.lose("k"));
    EXPECT_FALSE(one.lose("k"));
    EXPECT_TRUE(lease->stop_token().stop_requested());
    EXPECT_EQ(lease->lost(), loss_reason::taken);
    EXPECT_TRUE(b.try_acquire("k", plain));
}

// Its holder is told by the world, whatever the store answers, and no failure is used up by it.
TEST(World, WhatIsTakenIsToldAlsoWhileTheStoreFails) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", plain);
    ASSERT_TRUE(lease);
    one.fail_next(errc::unreachable);
    EXPECT_TRUE(one.lose("k"));
    EXPECT_EQ(lease->lost(), loss_reason::taken);
    EXPECT_THROW(static_cast<void>(b.try_acquire("k", plain)), store_error);
    EXPECT_TRUE(b.try_acquire("k", plain));
}

// A frozen process does not hear of it, and believes in its lease until that ends by itself.
TEST(World, AFrozenProcessDoesNotHearThatItsLeaseWasTaken) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", plain);
    one.freeze(a);
    EXPECT_TRUE(one.lose("k"));
    EXPECT_TRUE(lease->valid());
    EXPECT_TRUE(b.try_acquire("k", plain));
    one.thaw(a);
    one.advance(30s);
    EXPECT_EQ(lease->lost(), loss_reason::taken);
}

errc code_of(locks& where, lease_options how = plain) {
    try {
        (void)where.try_acquire("k", how);
    } catch (const store_error& error) {
        return error.code();
    }
    return errc::protocol;
}

TEST(World, TheStoreFailsWhenItIsToldTo) {
    world one;
    auto a = one.open();
    one.fail_next(errc::unreachable);
    EXPECT_EQ(code_of(a), errc::unreachable);
    EXPECT_FALSE(a.inspect("k"));
    one.fail_next(errc::denied, 2);
    EXPECT_EQ(code_of(a), errc::denied);
    EXPECT_EQ(code_of(a), errc::denied);
    EXPECT_TRUE(a.try_acquire("k", plain));
    EXPECT_THROW(one.fail_next(errc::denied, 0), option_error);
}

// An answer that was lost is asked for again: the claim took effect, and the lease is there.
TEST(World, AnAnswerThatIsLostTookEffect) {
    world one;
    auto a = one.open();
    one.fail_next(errc::outcome_unknown);
    std::optional<lease> got;
    std::atomic<bool> done{false};
    std::thread asking{[&] {
        got = a.try_acquire("k", plain);
        done = true;
    }};
    // Its pause before it asks again ends with the time.
    EXPECT_TRUE(eventually([&] {
        one.advance(10ms);
        return done.load();
    }));
    asking.join();
    EXPECT_TRUE(got && got->valid());
}

// A store that is away: the holder is told to stop before another could be granted the key.
TEST(World, AStoreThatIsAwayStopsTheWorkInTime) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 30s, .grace = 5s});
    ASSERT_TRUE(lease);
    one.fail_all(errc::unreachable);
    one.advance(20s);
    EXPECT_FALSE(lease->stop_token().stop_requested());
    one.advance(8s);
    EXPECT_TRUE(lease->stop_token().stop_requested());
    EXPECT_TRUE(lease->valid());
    one.advance(10s);
    EXPECT_EQ(lease->lost(), loss_reason::validity_ended);
    one.recover();
    EXPECT_TRUE(a.acquire("k", plain, 1s));
}

// A thread that waits for the key gets it when the time of its holder is over.
TEST(World, AWaiterIsWokenByTheTime) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire("k", plain);
    one.freeze(a);
    std::optional<lease> got;
    std::jthread waiter{[&] { got = b.acquire("k", plain, 1h); }};
    auto looking = one.open();
    EXPECT_TRUE(eventually([&] { return looking.inspect("k")->waiters.value_or(0) > 0; }));
    one.advance(31s);
    waiter.join();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->valid());
}

TEST(World, AWaitEndsWhenItsTimeIsOver) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire("k", plain);
    bool got = true;
    std::jthread waiter{[&] {
        const auto mine = b.acquire("k", plain, 1h);
        got = mine.has_value();
    }};
    EXPECT_TRUE(eventually([&] { return a.inspect("k")->waiters.value_or(0) > 0; }));
    one.advance(2h);
    waiter.join();
    EXPECT_FALSE(got);
    EXPECT_TRUE(held->valid());
}

// Worlds are apart, and a process that has ended is none of one any more.
TEST(World, WorldsAndTheirProcessesAreApart) {
    world one, other;
    auto a = one.open(), b = other.open();
    const auto first = a.try_acquire("k", plain);
    EXPECT_TRUE(b.try_acquire("k", plain));
    other.advance(1h);
    EXPECT_TRUE(first->valid());
    {
        auto c = one.open();
        auto lease = c.try_acquire("gone", plain);
        EXPECT_TRUE(lease);
    }
    EXPECT_TRUE(a.try_acquire("gone", plain));
    one.advance(1h);
    EXPECT_THROW(one.advance(-1ms), option_error);
    EXPECT_THROW(one.advance(millis::max()), option_error);
    EXPECT_THROW((void)one.open({.journal = "memory:"}), option_error);
    boost::asio::io_context others;
    EXPECT_THROW((void)one.open({.executor = others.get_executor()}), option_error);
    EXPECT_THROW((void)one.open({.connections = {.redis = [] { return -1; }}}), option_error);
    EXPECT_THROW(world{std::chrono::sys_days{std::chrono::year{1969} / 12 / 31}}, option_error);
}

// Occurrences are due by the wall time of the world, whatever the machine's is.
TEST(World, OccurrencesAreDueByItsWallTime) {
    const auto begins = std::chrono::sys_days{std::chrono::year{2031} / 5 / 4};
    world one{begins};
    EXPECT_EQ(one.wall(), begins);
    auto a = one.open();
    lease_options daily = plain;
    daily.occurrence = occurrence_at(begins + 24h);
    EXPECT_TRUE(rejected(a.try_acquire("report", daily)));
    one.advance(24h);
    EXPECT_EQ(one.wall(), begins + 24h);
    EXPECT_TRUE(a.try_acquire("report", daily));
}

TEST(World, TheNextRunIsToldByItsWallTime) {
    const auto begins = std::chrono::sys_days{std::chrono::year{2031} / 5 / 4};
    world one{begins};
    auto a = one.open();
    scheduler nightly{a};
    nightly.add({.name = "report", .lease = plain, .body = [](const run&) {}},
                {.cron = "30 2 * * *", .zone = "UTC"});
    EXPECT_EQ(nightly.next("report"), begins + 2h + 30min);
    one.advance(3h);
    EXPECT_EQ(nightly.next("report"), begins + 26h + 30min);
}

// Goal: whether a lease lasts for its job is asked of the time of the world. Method: that is where
// it begins, which is behind the machine's on most, and then far ahead; no renewal is needed.
TEST(World, AJobBeginsWithoutARenewalWhateverTheTimeOfTheMachine) {
    struct counter : observer {
        void on_renew(std::string_view, bool, int) override { ++renewals; }
        std::atomic<int> renewals{0};
    };
    for (const millis later : {millis{0}, millis{24h * 365 * 5}}) {
        world one;
        const auto heard = std::make_shared<counter>();
        auto a = one.open({.observer = heard});
        one.advance(later);
        int before = -1;
        const job work{.name = "report", .lease = plain, .body = [&](const run&) {
                           before = heard->renewals;
                       }};
        EXPECT_EQ(a.run(work), run_outcome::ran);
        EXPECT_EQ(before, 0);
    }
}

// An attempt that was cut off leaves its checkpoint to the next one, on whatever process.
TEST(World, KeepsRunsAndCheckpoints) {
    world one;
    auto a = one.open(), b = one.open();
    job work{.name = "import", .lease = plain, .body = [](const run& now) {
                 EXPECT_TRUE(now.checkpoint("row 17"));
                 throw std::runtime_error{"cut off"};
             }};
    work.lease.occurrence = occurrence_at(std::chrono::floor<std::chrono::minutes>(one.wall()));
    work.lease.delivery = delivery::at_least_once;
    EXPECT_THROW((void)a.run(work), std::runtime_error);
    std::string found;
    work.body = [&](const run& now) { found = now.last_checkpoint; };
    EXPECT_EQ(b.run(work), run_outcome::ran);
    EXPECT_EQ(found, "row 17");
    EXPECT_EQ(one.open({.journal = "none"}).run_journal(), nullptr);
}

// What the library builds of keys goes by this time too.
TEST(World, SlotsAndSeveralKeysGoByTheTimeToo) {
    world one;
    auto a = one.open(), b = one.open();
    auto slot = a.try_acquire_slot("gpu", 1, plain);
    auto both = a.acquire_all({"x", "y"}, plain);
    one.freeze(a);
    one.advance(31s);
    EXPECT_FALSE(both->valid());
    EXPECT_TRUE(b.try_acquire_slot("gpu", 1, plain));
    EXPECT_TRUE(b.acquire_all({"x", "y"}, plain));
}

// No caller has what the call holds while it waits, who could renew it.
TEST(World, WhatASetHoldsIsRenewedWhileItWaitsAlsoUnderManualRenewal) {
    world one;
    auto a = one.open(), b = one.open();
    auto theirs = a.try_acquire("b", plain);
    ASSERT_TRUE(theirs);
    std::optional<lease_set> all;
    std::thread waiter{[&] {
        all = b.acquire_all({"a", "b"}, {.ttl = 10s, .renew = renewal_mode::manual}, 1min);
    }};
    EXPECT_TRUE(eventually([&] { return a.inspect("b")->waiters.value_or(0) > 0; }));
    const auto first = a.inspect("a")->holder;
    for (int i = 0; i < 30; ++i) one.advance(1s);
    EXPECT_EQ(a.inspect("a")->holder, first);
    theirs->release();
    waiter.join();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->token("a"), first);
    // From now on its caller alone renews it.
    for (int i = 0; i < 5; ++i) {
        one.advance(4s);
        EXPECT_TRUE(all->renew());
    }
    EXPECT_TRUE(all->valid());
    one.advance(11s);
    EXPECT_FALSE(all->valid());
    EXPECT_FALSE(all->renew());
}

// The same test does the same each time: what chance decides is drawn from the world.
TEST(World, ChanceIsTheSameEachTime) {
    const auto history = [] {
        world one;
        auto a = one.open();
        auto lease = a.try_acquire("k", plain);
        std::vector<instant::rep> ends;
        for (int i = 0; i < 50; ++i) {
            one.advance(1s);
            ends.push_back(lease->valid_until().time_since_epoch().count());
        }
        return ends;
    };
    EXPECT_EQ(history(), history());
}

}  // namespace
}  // namespace pawl::testing
