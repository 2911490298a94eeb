// What becomes of a lease that is lost, and of handles that go in callbacks.
#include <pawl/pawl.hpp>

#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(LostLease, ARejectedRenewalEndsValidityBeforeItIsHeard) {
    world one;
    auto a = one.open(), b = one.open();
    for (int i = 0; i < 20; ++i) {
        auto lease = a.try_acquire("k", {.ttl = 1min});
        ASSERT_TRUE(lease);
        ASSERT_TRUE(b.force_release("k", lease->token(), 0ms));
        EXPECT_FALSE(lease->renew());
        EXPECT_FALSE(lease->valid());
        EXPECT_EQ(lease->lost(), loss_reason::taken);
        EXPECT_TRUE(lease->stop_token().stop_requested());
    }
}

// The clock alone ends validity, and the loop that would tell may be at work elsewhere.
TEST(LostLease, TheEndOfValidityIsTheReasonBeforeItIsTold) {
    world one;
    auto a = one.open();
    std::atomic<bool> over{false};
    // Long beside what a busy machine takes from here to the callback.
    auto ended = a.try_acquire("k", {.ttl = 6s, .renew = renewal_mode::manual});
    auto aged = a.try_acquire("l", {.ttl = 6s, .max_lifetime = 6s});
    ASSERT_TRUE(ended && aged);
    // Told to stop, before anything has ended; the loop stays in there. This thread, which is to
    // end that, would run it were the stop requested already.
    ASSERT_FALSE(ended->stop_token().stop_requested());
    const auto here = std::this_thread::get_id();
    const std::stop_callback busy{ended->stop_token(), [&] {
                                      if (std::this_thread::get_id() != here) over.wait(false);
                                  }};
    while (ended->valid() || aged->valid()) std::this_thread::yield();
    EXPECT_EQ(ended->lost(), loss_reason::validity_ended);
    EXPECT_EQ(aged->lost(), loss_reason::lifetime_ended);
    over = true;
    over.notify_all();
}

// A program that asks until it succeeds would keep the key from everybody for ever.
TEST(LostLease, WhatIsLostIsNotRenewed) {
    world one;
    auto a = one.open();
    auto lease = a.try_acquire("k", {.ttl = 200ms, .renew = renewal_mode::manual});
    ASSERT_TRUE(lease);
    while (lease->valid()) std::this_thread::yield();
    const auto before = one.faults->operations.load();
    EXPECT_FALSE(lease->renew());
    EXPECT_EQ(one.faults->operations, before);
}

// Goal: the store's word that the lease is lost is told also to a holder that was told to stop
// before, who would else go on until trust ends. Method: no renewal is answered until the stop;
// then the key is free for others, and the store answers again.
TEST(LostLease, ALossAfterTheStopIsToldToTheWatch) {
    world one;
    auto a = one.open();
    auto b = one.open_with(std::make_shared<testing_faults::plan>());
    auto lease = a.try_acquire("k", {.ttl = 15s, .grace = 5s});
    ASSERT_TRUE(lease);
    std::atomic<bool> told{false};
    lease->watch_deadline([&](instant stop_at, instant valid_until) {
        if (valid_until > lease_clock::now()) return;
        EXPECT_LE(stop_at, valid_until);
        told = true;
        told.notify_all();
    });
    one.faults->fail_all = errc::outcome_unknown;
    wait_for_stop(lease->stop_token());
    EXPECT_FALSE(lease->lost());
    ASSERT_TRUE(b.force_release("k", lease->token(), 0ms));
    one.faults->fail_all = std::nullopt;
    told.wait(false);
    EXPECT_EQ(lease->lost(), loss_reason::taken);
    EXPECT_LT(lease_clock::now(), lease->valid_until());
}

TEST(LostLease, AWatchOnALostLeaseIsToldSo) {
    world one;
    auto a = one.open(), b = one.open();
    auto lease = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(lease);
    ASSERT_TRUE(b.force_release("k", lease->token(), 0ms));
    EXPECT_FALSE(lease->renew());
    std::atomic<bool> told{false};
    lease->watch_deadline([&](instant, instant valid_until) {
        EXPECT_LE(valid_until, lease_clock::now());
        told = true;
        told.notify_all();
    });
    told.wait(false);
}

// A std::stop_callback's destructor waits so too.
TEST(LostLease, TheEndOfAWatchWaitsForItsCall) {
    world one;
    auto a = one.open();
    std::optional<lease> held = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    std::latch inside{1}, leave{1};
    std::atomic<bool> ended{false};
    held->watch_deadline([&](instant, instant) {
        inside.count_down();
        leave.wait();
        EXPECT_FALSE(ended);
    });
    inside.wait();
    std::thread ending{[&] {
        held.reset();
        ended = true;
    }};
    for (int i = 0; i < 10'000 && !ended; ++i) std::this_thread::yield();
    leave.count_down();
    ending.join();
}

TEST(LostLease, AWatchMayEndItself) {
    world one;
    auto a = one.open();
    std::optional<lease> held = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    std::promise<void> gone;
    held->watch_deadline([&](instant, instant) {
        held->watch_deadline({});
        held.reset();
        gone.set_value();
    });
    gone.get_future().wait();
    EXPECT_TRUE(a.acquire("k", {.ttl = 1min}, 30s));
}

// A guard outside the process has to hear of it, whatever has gone by then.
TEST(LostLease, AWatchThatComesAfterTheEndOfItsLocksIsToldSo) {
    world one;
    std::optional<locks> mine{one.open()};
    std::optional<lease> held = mine->try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    mine.reset();
    bool told = false;
    held->watch_deadline([&](instant stop_at, instant valid_until) {
        EXPECT_LE(stop_at, valid_until);
        EXPECT_LE(valid_until, lease_clock::now());
        told = true;
    });
    EXPECT_TRUE(told);
}

// Goal: a watch may end its lease wherever it is told. Method: on the caller's thread, of a lease
// whose locks have gone, and of one that was taken away, whose release is on its way meanwhile.
TEST(LostLease, AWatchOnALostLeaseMayEndIt) {
    world one;
    std::optional<locks> mine{one.open()};
    auto other = one.open();
    for (int i = 0; i < 200; ++i) {
        const bool with_its_locks = i == 199;
        std::optional<lease> held = mine->acquire("k", {.ttl = 1min}, 30s);
        ASSERT_TRUE(held);
        if (with_its_locks) {
            mine.reset();
        } else {
            ASSERT_TRUE(other.force_release("k", held->token(), 0ms));
            EXPECT_FALSE(held->renew());
        }
        held->watch_deadline([&](instant, instant) { held.reset(); });
        EXPECT_FALSE(held);
    }
}

// Goal: what a watch has captured is gone when its end returns, as with a std::stop_callback.
// Method: the end comes while the loop is in its call.
TEST(LostLease, WhatAWatchHasCapturedGoesWithItsEnd) {
    world one;
    auto a = one.open();
    auto held = a.try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    for (int i = 0; i < 2'000; ++i) {
        std::latch inside{1};
        bool is_gone = false;
        {
            const std::shared_ptr<void> captured{&is_gone, [&](void*) { is_gone = true; }};
            held->watch_deadline([&inside, once = std::make_shared<std::atomic<bool>>(false),
                                  captured](instant, instant) {
                if (!once->exchange(true)) inside.count_down();
            });
        }
        inside.wait();
        held->watch_deadline({});
        ASSERT_TRUE(is_gone);
    }
}

// It must not come out of a renewal, which would leave the lease without a heartbeat.
TEST(LostLeaseDeathTest, AWatchThatThrowsEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            world one;
            auto a = one.open();
            auto held = a.try_acquire("k", {.ttl = 1min});
            held->watch_deadline([](instant, instant) { throw std::runtime_error{"a mistake"}; });
            std::promise<void>{}.get_future().wait();
        },
        "");
}

// Goal: a handle that goes in its own stop callback is released, and nothing else becomes of it.
// Method: no renewal is answered, so that trust would end in the meantime.
TEST(LostLease, AHandleThatGoesWithItsStopIsReleasedAndNotLost) {
    struct counting : observer {
        std::atomic<int> lost{0}, released{0};
        void on_lost(std::string_view, fence_token, loss_reason) override { ++lost; }
        void on_release(std::string_view, fence_token, millis) override {
            ++released;
            released.notify_all();
        }
    };
    world one;
    const auto ears = std::make_shared<counting>();
    auto a = one.open({.observer = ears});
    one.faults->renewals_to_fail = 1'000'000;
    std::optional<lease> held = a.try_acquire("k", {.ttl = 12s, .grace = 4s});
    ASSERT_TRUE(held);
    const auto end = held->valid_until();
    const auto stop = held->stop_token();
    {
        const auto drop = [&] { held.reset(); };
        const std::stop_callback on_stop{stop, drop};
        ears->released.wait(0);
    }
    const auto operations = one.faults->operations.load();
    while (lease_clock::now() < end + 200ms) std::this_thread::yield();
    EXPECT_EQ(ears->lost, 0);
    EXPECT_EQ(one.faults->operations, operations);
}

// Goal: an observer may let go of handles. Method: on the loop, of one that is given back at once;
// the store in memory answers within the call.
TEST(LostLease, AnObserverMayLetGoOfAnotherHandle) {
    struct dropping : observer {
        std::optional<lease> other;
        void on_release(std::string_view key, fence_token, millis) override {
            if (key == "first") other.reset();
        }
    };
    world one;
    const auto ears = std::make_shared<dropping>();
    auto a = one.open({.observer = ears}), b = one.open();
    std::optional<lease> first = a.try_acquire("first", {.ttl = 1min});
    ears->other = a.try_acquire("second", {.ttl = 1min});
    auto third = a.try_acquire("third", {.ttl = 1min});
    ASSERT_TRUE(first && ears->other && third);
    first->mark_not_started();
    const auto drop = [&] { first.reset(); };
    const std::stop_callback on_stop{third->stop_token(), drop};
    ASSERT_TRUE(b.force_release("third", third->token(), 0ms));
    EXPECT_FALSE(third->renew());
    EXPECT_TRUE(b.acquire("second", {.ttl = 1min}, 30s));
}

// Goal: calls that are awaited never meet a loop that has gone. Method: a thread that renews while
// the locks are destroyed, many times.
TEST(LostLease, ARenewalBesideTheEndOfItsLocksIsOnlyFalse) {
    world one;
    for (int i = 0; i < 200; ++i) {
        std::optional<locks> mine{one.open()};
        std::optional<lease> held = mine->try_acquire("k" + std::to_string(i), {.ttl = 1min});
        ASSERT_TRUE(held);
        std::atomic<bool> begun{false};
        std::thread renewing{[&] {
            boost::asio::io_context here;
            for (bool is_kept = true; is_kept;) {
                auto answer =
                    boost::asio::co_spawn(here, held->async_renew(), boost::asio::use_future);
                here.run();
                here.restart();
                is_kept = answer.get();
                begun = true;
                begun.notify_all();
            }
        }};
        begun.wait(false);
        mine.reset();
        renewing.join();
        EXPECT_FALSE(held->valid());
    }
}

// Goal: a release throws nothing, whatever becomes of the loop. Method: one that the store takes
// long for, while the locks are destroyed.
TEST(LostLease, AReleaseThatOutlivesItsLocksIsUnknown) {
    world one;
    std::optional<locks> mine{one.open()};
    auto held = mine->try_acquire("k", {.ttl = 1min});
    ASSERT_TRUE(held);
    one.faults->release_delay = 1min;
    boost::asio::io_context here;
    auto answer = boost::asio::co_spawn(here, held->async_release(), boost::asio::use_future);
    here.poll();
    mine.reset();
    here.restart();
    here.run();
    EXPECT_EQ(answer.get(), release_outcome::unknown);
}

TEST(LostLease, AGrantShorterThanAskedKeepsItsShareOfTheMargin) {
    world one;
    one.faults->ttl_granted = 30s;
    auto a = one.open();
    const auto lease = a.try_acquire("k", {.ttl = 10min, .margin = 2min});
    ASSERT_TRUE(lease);
    EXPECT_TRUE(lease->valid());
    EXPECT_LT(lease->valid_until(), lease_clock::now() + 25s);
}

TEST(LostLease, TheJitterOfAClaimIsPartOfItsWait) {
    world one;
    auto a = one.open(), b = one.open();
    const auto held = a.try_acquire("k", {.ttl = 10min});
    ASSERT_TRUE(held);
    const auto began = lease_clock::now();
    EXPECT_TRUE(rejected(b.acquire("k", {.ttl = 10min, .acquire_jitter = 10min}, 500ms)));
    const auto slot = a.try_acquire_slot("gpu", 1, {.ttl = 10min});
    ASSERT_TRUE(slot);
    EXPECT_TRUE(rejected(b.acquire_slot("gpu", 1, {.ttl = 10min, .acquire_jitter = 10min}, 500ms)));
    EXPECT_LT(lease_clock::now() - began, 30s);
}

// Goal: what an observer throws is not thrown out of a claim, which has been granted. Method: a
// program that would catch it, and go on.
TEST(LostLeaseDeathTest, AnObserverThatThrowsEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    struct thrower : observer {
        void on_acquire(std::string_view, acquire_outcome, millis) override {
            throw std::runtime_error{"of an observer"};
        }
    };
    const auto claim = [] {
        world one;
        auto a = one.open({.observer = std::make_shared<thrower>()});
        try {
            static_cast<void>(a.try_acquire("k", {.ttl = 1min}));
        } catch (const std::runtime_error&) {
        }
    };
    EXPECT_DEATH(claim(), "of an observer");
}

TEST(LostLease, AFactoryThatMakesNoStoreIsAMistake) {
    const auto none = [](const boost::asio::any_io_executor&) {
        return std::shared_ptr<lease_store>{};
    };
    EXPECT_THROW(static_cast<void>(locks::open(none, store_settings{}, open_options{})),
                 option_error);
}

TEST(LostLease, DrainingForLessThanNothingReturns) {
    world one;
    auto a = one.open();
    EXPECT_TRUE(a.drain(millis::min()));
}

}  // namespace
}  // namespace pawl
