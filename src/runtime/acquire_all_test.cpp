// Several keys at once, over a store in memory.
#include <pawl/pawl.hpp>

#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr lease_options plain{.ttl = 1min};

void wait_for_waiter(locks& where, const std::string& key) {
    for (;;) {
        const auto seen = where.inspect(key);
        if (seen && seen->waiters.value_or(0) > 0) return;
        std::this_thread::yield();
    }
}

bool is_held(locks& where, const std::string& key) {
    const auto seen = where.inspect(key);
    return seen && number(seen->holder) != 0;
}

TEST(AcquireAll, HoldsAllKeysUnderTokensOfTheirOwn) {
    world one;
    auto a = one.open(), b = one.open();
    auto all = a.acquire_all({"b", "c", "a"}, plain);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3U);
    EXPECT_EQ(all->leases().front().key(), "a");
    EXPECT_TRUE(all->valid());
    EXPECT_EQ(all->token("b"), b.inspect("b")->holder);
    EXPECT_THROW((void)all->token("d"), std::out_of_range);
    for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(rejected(b.try_acquire(key, plain))) << key;
    EXPECT_EQ(all->release(), release_outcome::released);
    EXPECT_FALSE(*all);
    EXPECT_FALSE(all->valid());
    EXPECT_TRUE(all->stop_token().stop_requested());
    EXPECT_THROW(all->release(), std::logic_error);
    EXPECT_TRUE(b.acquire_all({"a", "b", "c"}, plain));
}

// One of them is busy: nothing is held, and nothing is in cooldown although the options ask for it.
TEST(AcquireAll, NothingIsHeldWhereOneIsBusy) {
    world one;
    auto a = one.open(), b = one.open();
    const auto held = a.try_acquire("b", plain);
    ASSERT_TRUE(held);
    EXPECT_TRUE(rejected(b.acquire_all({"a", "b", "c"}, {.ttl = 1min, .min_hold = 50s})));
    EXPECT_TRUE(rejected(b.acquire_all({"a", "b", "c"}, {.ttl = 1min, .min_hold = 50s}, 20ms)));
    EXPECT_TRUE(b.drain(10s));
    EXPECT_TRUE(a.try_acquire("a", plain));
    EXPECT_TRUE(a.try_acquire("c", plain));
}

// While it waits for one key it holds those before it, and it is woken by the release.
TEST(AcquireAll, WaitsForWhatIsBusyAndHoldsWhatItHas) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire("b", plain);
    ASSERT_TRUE(held);
    std::optional<lease_set> all;
    std::thread waiter{[&] { all = b.acquire_all({"c", "b", "a"}, plain, 1min); }};
    wait_for_waiter(a, "b");
    EXPECT_TRUE(is_held(a, "a"));
    EXPECT_FALSE(is_held(a, "c"));
    held->release();
    waiter.join();
    ASSERT_TRUE(all);
    EXPECT_TRUE(all->valid());
}

TEST(AcquireAll, AWaitThatIsStoppedGivesBackWhatItHas) {
    world one;
    auto a = one.open(), b = one.open();
    const auto held = a.try_acquire("b", plain);
    std::stop_source stop;
    std::thread waiter{
        [&] { EXPECT_TRUE(rejected(b.acquire_all({"a", "b"}, plain, 1h, stop.get_token()))); }};
    wait_for_waiter(a, "b");
    stop.request_stop();
    waiter.join();
    EXPECT_TRUE(b.drain(10s));
    EXPECT_FALSE(is_held(a, "a"));
}

struct loss_latch : observer {
    void on_lost(std::string_view, fence_token, loss_reason) override { lost.count_down(); }
    std::latch lost{1};
};

// A lease that is lost while its owner waits for the next key does not count: all begins anew.
TEST(AcquireAll, WhatIsLostOnTheWayIsAcquiredAgain) {
    world one;
    const auto watcher = std::make_shared<loss_latch>();
    auto a = one.open(), b = one.open({.observer = watcher});
    auto held = a.try_acquire("b", plain);
    ASSERT_TRUE(held);
    std::optional<lease_set> all;
    std::thread waiter{[&] { all = b.acquire_all({"a", "b"}, {.ttl = 6s, .grace = 0ms}, 1min); }};
    wait_for_waiter(a, "b");
    const auto first = a.inspect("a")->holder;
    EXPECT_TRUE(a.force_release("a", first, 0ms));
    watcher->lost.wait();
    held->release();
    waiter.join();
    ASSERT_TRUE(all);
    EXPECT_TRUE(all->valid());
    EXPECT_GT(number(all->token("a")), number(first));
}

// In opposite orders, by many threads: no thread waits for one that waits for it.
TEST(AcquireAll, OppositeOrdersDoNotDeadlock) {
    world one;
    std::vector<locks> processes;
    for (int i = 0; i < 2; ++i) processes.push_back(one.open());
    std::atomic<int> inside{0}, most{0}, done{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            const std::vector<std::string> there{"x", "y", "z"}, back{"z", "y", "x"};
            for (int round = 0; round < 10; ++round) {
                auto all = processes[i % 2].acquire_all(i < 3 ? there : back, plain, 1min);
                if (!all) return;
                if (++inside > 1) most = 2;
                --inside;
                ++done;
            }
        });
    for (auto& one_thread : threads) one_thread.join();
    EXPECT_EQ(done, 60);
    EXPECT_EQ(most, 0);
}

// One lost lease is enough: the set is not trusted, says why, and its stop token fires.
TEST(AcquireAll, OneThatIsLostEndsTheSet) {
    world one;
    auto a = one.open(), b = one.open();
    auto all = a.acquire_all({"a", "b"}, {.ttl = 6s, .grace = 0ms});
    ASSERT_TRUE(all);
    auto moved = std::move(all);
    ASSERT_TRUE(b.force_release("b", moved->token("b"), 0ms));
    wait_for_stop(moved->stop_token());
    EXPECT_FALSE(moved->valid());
    EXPECT_EQ(moved->lost(), loss_reason::taken);
    EXPECT_EQ(moved->release(), release_outcome::lost);
}

// Goal: a slow store delays the release of many keys no longer than that of a few. Method: each of
// 32 releases takes half a second.
TEST(AcquireAll, AllAreReleasedAtOnce) {
    world one;
    auto a = one.open(), b = one.open();
    std::vector<std::string> keys;
    for (int i = 0; i < 32; ++i) keys.push_back("k" + std::to_string(i));
    auto all = a.acquire_all(keys, plain);
    ASSERT_TRUE(all);
    one.faults->release_delay = 500ms;
    const auto begun = lease_clock::now();
    EXPECT_EQ(all->release(), release_outcome::released);
    EXPECT_LT(lease_clock::now() - begun, 8s);
    for (const auto& key : keys) EXPECT_FALSE(is_held(b, key)) << key;
}

TEST(AcquireAll, ASetWithoutLeasesIsAnEmptyHandle) {
    lease_set none{std::vector<lease>{}};
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.valid());
    EXPECT_TRUE(none.stop_token().stop_requested());
    EXPECT_THROW(none.release(), std::logic_error);
    EXPECT_THROW(none.mark_not_started(), std::logic_error);
}

TEST(AcquireAll, AStoreThatFailsIsSaidSoAndNothingStaysHeld) {
    world one;
    auto own = std::make_shared<testing_faults::plan>();
    auto a = one.open(), b = one.open_with(own);
    auto held = a.try_acquire("b", plain);
    std::atomic<bool> thrown{false};
    std::thread waiter{[&] {
        try {
            (void)b.acquire_all({"a", "b"}, plain, 1min);
        } catch (const store_error&) {
            thrown = true;
        }
    }};
    wait_for_waiter(a, "b");
    own->fail_all = errc::denied;
    held->release();
    waiter.join();
    EXPECT_TRUE(thrown);
    own->fail_all = std::nullopt;
}

TEST(AcquireAll, WhatMakesNoSenseIsRejected) {
    world one;
    auto a = one.open();
    const auto ask = [&](const std::vector<std::string>& keys, lease_options how,
                         millis wait = 0ms) -> std::string {
        try {
            (void)a.acquire_all(keys, how, wait);
        } catch (const option_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(ask({}, plain), "invalid number of keys '0'; expected 1 to 64");
    EXPECT_EQ(ask({"a", "b", "a"}, plain), "duplicate key 'a'; expected different keys");
    EXPECT_THAT(ask({"a"}, {.ttl = 1min, .occurrence = occurrence{1}}), HasSubstr("occurrence"));
    EXPECT_THAT(ask({"a"}, {.ttl = 1min, .reentrancy = reentrancy::instance}),
                HasSubstr("reentrancy"));
    EXPECT_NE(ask({"a", ""}, plain), "");
    EXPECT_NE(ask({"a"}, {}), "");
    EXPECT_NE(ask({"a"}, plain, -1ms), "");
    std::vector<std::string> many;
    for (int i = 0; i < 65; ++i) many.push_back("k" + std::to_string(i));
    EXPECT_THAT(ask(many, plain), HasSubstr("'65'"));
    many.pop_back();
    EXPECT_EQ(ask(many, plain), "");
}

boost::asio::awaitable<bool> take_both(locks& where) {
    const lease_options how{.ttl = 30s};
    auto acquiring = where.async_acquire_all({"a", "b"}, how, 1s);
    auto all = co_await std::move(acquiring);
    auto again = where.async_acquire_all({"b", "c"}, how);
    auto none = co_await std::move(again);
    co_return all && all->size() == 2 && !none;
}

TEST(AcquireAll, IsAwaitedByAsioPrograms) {
    world one;
    auto a = one.open();
    boost::asio::io_context context;
    auto done = boost::asio::co_spawn(context, take_both(a), boost::asio::use_future);
    context.run();
    EXPECT_TRUE(done.get());
}

// Goal: the state of its stop outlasts what its callbacks end. Method: the first of two ends all.
TEST(AcquireAll, ASetMayGoInItsOwnStopCallback) {
    world one;
    auto a = one.open(), b = one.open();
    struct owned {
        explicit owned(lease_set what) : held{std::move(what)} {}
        lease_set held;
        std::optional<std::stop_callback<std::function<void()>>> first, second;
    };
    auto all = a.acquire_all({"a", "b"}, {.ttl = 6s, .grace = 0ms});
    ASSERT_TRUE(all);
    const auto token = all->token("a");
    auto mine = std::make_unique<owned>(std::move(*all));
    std::promise<void> gone;
    const auto end = [&] {
        if (!mine) return;
        auto& told = gone;  // what is captured goes as well
        mine.reset();
        told.set_value();
    };
    mine->first.emplace(mine->held.stop_token(), end);
    mine->second.emplace(mine->held.stop_token(), end);
    ASSERT_TRUE(b.force_release("a", token, 0ms));
    gone.get_future().wait();
    EXPECT_TRUE(b.acquire("b", plain, 30s));
}

}  // namespace
}  // namespace pawl
