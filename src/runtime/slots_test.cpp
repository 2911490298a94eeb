// Semaphores, over a store in memory: what holds on every store is tested in src/assembly.
#include <pawl/pawl.hpp>

#include "test_support/conformance/expectations.hpp"
#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr lease_options plain{.ttl = 1min};

// Until so many wait for the slots in the store: for tests that need a waiter to have begun.
void wait_for_waiters(locks& where, const std::string& key, std::uint32_t count) {
    for (;;) {
        const auto seen = where.inspect(key);
        if (seen && seen->waiters.value_or(0) >= count) return;
        std::this_thread::yield();
    }
}

template <class Call>
std::string rejection(Call call) {
    try {
        call();
    } catch (const option_error& error) {
        return error.what();
    }
    return "";
}

// The bound holds over processes, each holder has a slot of its own, and a released one is free.
TEST(Slots, AsManyHoldersAsThereAreSlotsEachWithItsOwn) {
    world one;
    auto a = one.open(), b = one.open();
    std::vector<slot> held;
    std::set<std::uint32_t> indices;
    for (int i = 0; i < 3; ++i) {
        auto mine = (i % 2 == 0 ? a : b).try_acquire_slot("gpu", 3, plain);
        ASSERT_TRUE(mine);
        EXPECT_EQ(mine->key(), "gpu/" + std::to_string(mine->index()));
        EXPECT_EQ(mine->count(), 3U);
        indices.insert(mine->index());
        held.push_back(*std::move(mine));
    }
    EXPECT_EQ(indices, (std::set<std::uint32_t>{0, 1, 2}));
    EXPECT_TRUE(rejected(a.try_acquire_slot("gpu", 3, plain)));
    EXPECT_TRUE(rejected(b.try_acquire_slot("gpu", 3, plain)));
    const auto freed = held.back().index();
    const auto token = held.back().token();
    EXPECT_EQ(held.back().release(), release_outcome::released);
    held.pop_back();
    const auto next = b.try_acquire_slot("gpu", 3, plain);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->index(), freed);
    EXPECT_GT(number(next->token()), number(token));
}

// Whichever slot is released first ends the wait, by the store's push: the TTL is far away.
TEST(Slots, AWaiterTakesWhicheverSlotIsFreeFirst) {
    for (int which = 0; which < 3; ++which) {
        world one;
        auto a = one.open(), b = one.open();
        std::vector<slot> held;
        for (int i = 0; i < 3; ++i) held.push_back(a.try_acquire_slot("gpu", 3, plain).value());
        std::optional<slot> got;
        std::thread waiter{[&] { got = b.acquire_slot("gpu", 3, plain, 1min); }};
        for (const auto& one_slot : held) wait_for_waiters(a, one_slot.key(), 1);
        const auto freed = held[which].index();
        held[which].release();
        waiter.join();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), freed);
        // Nothing else was taken on the way.
        EXPECT_TRUE(rejected(b.try_acquire_slot("gpu", 3, plain)));
    }
}

TEST(Slots, AWaitEndsWithItsTimeAndWithItsStop) {
    world one;
    auto a = one.open(), b = one.open();
    const auto held = a.try_acquire_slot("gpu", 1, plain);
    ASSERT_TRUE(held);
    EXPECT_TRUE(rejected(b.acquire_slot("gpu", 1, plain, 50ms)));
    std::stop_source stop;
    std::thread waiter{
        [&] { EXPECT_TRUE(rejected(b.acquire_slot("gpu", 1, plain, 1h, stop.get_token()))); }};
    wait_for_waiters(a, "gpu/0", 1);
    stop.request_stop();
    waiter.join();
    EXPECT_TRUE(b.drain(10s));
    EXPECT_TRUE(held->valid());
}

// Two slots become free at once: the waiter keeps one, and the other is there for others.
TEST(Slots, WhatAWaiterWinsTooMuchIsGivenBack) {
    world one;
    auto a = one.open(), b = one.open(), c = one.open();
    for (int round = 0; round < 50; ++round) {
        std::vector<slot> held;
        for (int i = 0; i < 2; ++i) held.push_back(a.acquire_slot("gpu", 2, plain, 10s).value());
        std::optional<slot> got;
        std::thread waiter{[&] { got = b.acquire_slot("gpu", 2, plain, 1min); }};
        wait_for_waiters(a, "gpu/0", 1);
        wait_for_waiters(a, "gpu/1", 1);
        held.clear();
        waiter.join();
        ASSERT_TRUE(got);
        ASSERT_TRUE(c.acquire_slot("gpu", 2, plain, 10s));
    }
}

boost::asio::awaitable<std::size_t> count_line(runtime::core& where) {
    co_return where.slots()->waiting("gpu");
}

// Threads of one process that wait for a semaphore get it in their order, and cost the store one
// waiter for each slot.
TEST(Slots, OneProcessWaitsInLineAndAsksOnce) {
    world one;
    auto a = one.open();
    const auto make = [&](net::loop& loop) {
        return memory::make_memory_store(loop, one.settings);
    };
    auto made = std::make_unique<runtime::core>(make, one.settings, open_options{});
    auto& core = *made;
    locks b{std::move(made)};
    auto held = a.try_acquire_slot("gpu", 1, plain);
    ASSERT_TRUE(held);
    std::vector<int> order;
    std::mutex guard;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 8; ++i) {
        waiters.emplace_back([&, i] {
            const auto mine = b.acquire_slot("gpu", 1, plain, 1min);
            const std::lock_guard lock{guard};
            order.push_back(i);
        });
        // The first asks the store; the others stand behind it.
        if (i == 0) wait_for_waiters(a, "gpu/0", 1);
        while (core.loop().wait_for(count_line(core)) < static_cast<std::size_t>(i))
            std::this_thread::yield();
    }
    EXPECT_EQ(a.inspect("gpu/0")->waiters, 1U);
    held->release();
    for (auto& one_waiter : waiters) one_waiter.join();
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_EQ(order.size(), 8U);
}

// Many threads of several processes: never more holders than slots, and all get their turn.
TEST(Slots, ManyThreadsAreNeverMoreThanTheSlots) {
    world one;
    constexpr int slots = 3;
    std::atomic<int> inside{0}, most{0}, turns{0};
    std::array<std::atomic<int>, slots> in_slot{};
    std::atomic<bool> shared{false};
    std::vector<locks> processes;
    for (int i = 0; i < 3; ++i) processes.push_back(one.open());
    std::vector<std::thread> threads;
    for (int i = 0; i < 9; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 10; ++round) {
                auto mine = processes[i % 3].acquire_slot("gpu", slots, plain, 1min);
                if (!mine) return;
                if (++in_slot[mine->index()] > 1) shared = true;
                const int now = ++inside;
                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                }
                std::this_thread::yield();
                --inside;
                --in_slot[mine->index()];
                ++turns;
            }
        });
    for (auto& one_thread : threads) one_thread.join();
    EXPECT_LE(most, slots);
    EXPECT_FALSE(shared);
    EXPECT_EQ(turns, 90);
}

TEST(Slots, AStoreThatFailsIsSaidSo) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::denied;
    EXPECT_THROW((void)a.try_acquire_slot("gpu", 4, plain), store_error);
    EXPECT_THROW((void)a.acquire_slot("gpu", 4, plain, 10s), store_error);
}

// Goal: a slot whose key is out of reach leaves the others. Method: the shard of one key is away;
// who does not wait gets the other slot each time, from whichever it looks first, and who waits
// gets it when it is released.
TEST(Slots, AKeyOutOfReachLeavesTheOthers) {
    world one;
    auto own = std::make_shared<testing_faults::plan>();
    own->out_of_reach = "gpu/0";
    auto a = one.open_with(own), b = one.open();
    for (int i = 0; i < 20; ++i) {
        auto mine = a.try_acquire_slot("gpu", 2, plain);
        ASSERT_TRUE(mine);
        EXPECT_EQ(mine->index(), 1U);
        EXPECT_EQ(mine->release(), release_outcome::released);
    }
    std::vector<slot> held;
    for (int i = 0; i < 2; ++i) held.push_back(b.try_acquire_slot("gpu", 2, plain).value());
    EXPECT_TRUE(rejected(a.try_acquire_slot("gpu", 2, plain)));
    std::optional<slot> got;
    std::thread waiter{[&] { got = a.acquire_slot("gpu", 2, plain, 1min); }};
    wait_for_waiters(b, "gpu/1", 1);
    held.clear();
    waiter.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    EXPECT_TRUE(rejected(a.acquire_slot("gpu", 2, plain, 50ms)));
}

// Goal: the end of a wait is the store's trouble where no slot answers. Method: all keys fail.
TEST(Slots, AWaitEndsWhenNoSlotAnswers) {
    world one;
    auto own = std::make_shared<testing_faults::plan>();
    auto a = one.open(), b = one.open_with(own);
    std::vector<slot> held;
    for (int i = 0; i < 2; ++i) held.push_back(a.try_acquire_slot("gpu", 2, plain).value());
    std::atomic<bool> thrown{false};
    std::thread waiter{[&] {
        try {
            (void)b.acquire_slot("gpu", 2, plain, 1h);
        } catch (const store_error&) {
            thrown = true;
        }
    }};
    for (int i = 0; i < 2; ++i) wait_for_waiters(a, "gpu/" + std::to_string(i), 1);
    own->fail_all = errc::denied;
    held.clear();
    waiter.join();
    EXPECT_TRUE(thrown);
}

// Goal: a wait for a slot ends in time also where the store is away, as a wait for a key does.
// Method: the store does not answer; two looks with its timeout each, for two keys, took 11 s.
TEST(Slots, AWaitEndsInTimeWhileTheStoreIsAway) {
    world one;
    auto a = one.open();
    one.faults->silence = 2800ms;
    for (const auto when_down : {store_down::fail, store_down::retry}) {
        const lease_options how{.ttl = 1min, .on_store_down = when_down};
        EXPECT_TRUE(conformance::takes_less(
            7s, [&] { EXPECT_THROW((void)a.acquire_slot("gpu", 4, how, 3s), store_error); }));
    }
}

// The store goes away while one waits.
TEST(Slots, AWaiterHearsOfAStoreThatFails) {
    world one;
    auto own = std::make_shared<testing_faults::plan>();
    auto a = one.open(), b = one.open_with(own);
    auto held = a.try_acquire_slot("gpu", 1, plain);
    ASSERT_TRUE(held);
    std::atomic<bool> thrown{false};
    std::thread waiter{[&] {
        try {
            (void)b.acquire_slot("gpu", 1, plain, 1min);
        } catch (const store_error&) {
            thrown = true;
        }
    }};
    wait_for_waiters(a, "gpu/0", 1);
    own->fail_all = errc::denied;
    held->release();
    waiter.join();
    EXPECT_TRUE(thrown);
}

TEST(Slots, WhatMakesNoSenseIsRejected) {
    world one;
    auto a = one.open();
    const auto ask = [&](std::string_view name, std::uint32_t count, lease_options how) {
        return rejection([&] { (void)a.try_acquire_slot(name, count, how); });
    };
    EXPECT_EQ(ask("gpu", 0, plain), "invalid number of slots '0'; expected 1 to 256");
    EXPECT_THAT(ask("gpu", 257, plain), HasSubstr("'257'"));
    EXPECT_THAT(ask("gpu", 2, {.ttl = 1min, .occurrence = occurrence{1}}), HasSubstr("occurrence"));
    EXPECT_THAT(ask("gpu", 2, {.ttl = 1min, .reentrancy = reentrancy::instance}),
                HasSubstr("reentrancy"));
    EXPECT_NE(ask("", 2, plain), "");
    EXPECT_NE(ask(std::string(511, 'k'), 2, plain), "");
    EXPECT_EQ(ask(std::string(510, 'k'), 2, plain), "");
    EXPECT_NE(ask("gpu", 2, {}), "");
    EXPECT_NE(rejection([&] { (void)a.acquire_slot("gpu", 2, plain, -1ms); }), "");
}

boost::asio::awaitable<bool> take_two(locks& where) {
    auto first = co_await where.async_try_acquire_slot("gpu", 2, {.ttl = 30s});
    auto second = co_await where.async_acquire_slot("gpu", 2, {.ttl = 30s}, 1s);
    auto third = co_await where.async_try_acquire_slot("gpu", 2, {.ttl = 30s});
    co_return first&& second && !third && first->index() != second->index();
}

TEST(Slots, AreAwaitedByAsioPrograms) {
    world one;
    auto a = one.open();
    boost::asio::io_context context;
    auto done = boost::asio::co_spawn(context, take_two(a), boost::asio::use_future);
    context.run();
    EXPECT_TRUE(done.get());
}

boost::asio::awaitable<void> wait_in_vain(locks& where) {
    auto waiting = where.async_acquire_slot("gpu", 1, plain, 1h);
    const auto none = co_await std::move(waiting);
}

// A coroutine that is destroyed while it waits leaves nothing behind: the slot goes to the next.
TEST(Slots, AWaiterThatIsDestroyedLeavesNothingBehind) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire_slot("gpu", 1, plain);
    ASSERT_TRUE(held);
    {
        boost::asio::io_context context;
        boost::asio::co_spawn(context, wait_in_vain(b), boost::asio::detached);
        context.poll();
        wait_for_waiters(a, "gpu/0", 1);
    }
    EXPECT_TRUE(b.drain(10s));
    held->release();
    EXPECT_TRUE(a.acquire_slot("gpu", 1, plain, 10s));
}

}  // namespace
}  // namespace pawl
