// A key as a standard mutex, over a store in memory.
#include <pawl/pawl.hpp>

#include "test_support/faults/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr lease_options plain{.ttl = 1min};

template <class Call>
std::error_code code_of(Call call) {
    try {
        call();
    } catch (const std::system_error& error) {
        return error.code();
    }
    return {};
}

bool is_held(locks& where, const std::string& key) {
    const auto seen = where.inspect(key);
    return seen && number(seen->holder) != 0;
}

// valid_until() of an empty lease is instant::min().
TEST(Mutex, ADeadlineMayBeTheFirstOrTheLastOfItsClock) {
    world one;
    auto a = one.open(), b = one.open();
    mutex mine{a, "door", plain}, theirs{b, "door", plain};
    EXPECT_TRUE(theirs.try_lock_until(std::chrono::system_clock::time_point::max()));
    EXPECT_FALSE(mine.try_lock_until(std::chrono::steady_clock::time_point::min()));
    EXPECT_FALSE(mine.try_lock_until(instant::min()));
    EXPECT_FALSE(mine.try_lock_until(std::chrono::system_clock::now() - 1h));
    theirs.unlock();
}

TEST(Mutex, GuardsOfTheStandardLibraryHoldTheKey) {
    world one;
    auto a = one.open(), b = one.open();
    mutex door{a, "door", plain};
    EXPECT_EQ(door.key(), "door");
    {
        const std::lock_guard hold{door};
        EXPECT_TRUE(is_held(b, "door"));
        EXPECT_EQ(door.lease().token(), b.inspect("door")->holder);
        EXPECT_TRUE(rejected(b.try_acquire("door", plain)));
    }
    EXPECT_TRUE(a.drain(10s));
    EXPECT_FALSE(is_held(b, "door"));
    {
        std::unique_lock hold{door, 5s};
        ASSERT_TRUE(hold);
        hold.unlock();
        EXPECT_FALSE(hold);
        hold.lock();
        EXPECT_TRUE(is_held(b, "door"));
    }
    mutex other{a, "window", plain};
    const std::scoped_lock both{door, other};
    EXPECT_TRUE(is_held(b, "door"));
    EXPECT_TRUE(is_held(b, "window"));
}

TEST(Mutex, WhatAnotherProcessHoldsIsNotLocked) {
    world one;
    auto a = one.open(), b = one.open();
    mutex here{a, "door", plain}, there{b, "door", plain};
    const std::lock_guard hold{here};
    EXPECT_FALSE(there.try_lock());
    EXPECT_FALSE(there.try_lock_for(20ms));
    EXPECT_FALSE(there.try_lock_for(-1h));
    EXPECT_FALSE(there.try_lock_until(std::chrono::system_clock::time_point{}));
    EXPECT_FALSE((std::unique_lock{there, std::try_to_lock}));
}

// Two objects for one key exclude each other as one does, in one process too; and a wait ends with
// the release.
TEST(Mutex, AWaitEndsWithTheRelease) {
    world one;
    auto a = one.open();
    mutex first{a, "door", plain}, second{a, "door", plain};
    std::unique_lock hold{first};
    std::atomic<bool> locked{false};
    std::thread waiter{[&] {
        const std::unique_lock mine{second, std::chrono::hours::max()};
        locked = mine.owns_lock();
    }};
    EXPECT_FALSE(locked);
    hold.unlock();
    waiter.join();
    EXPECT_TRUE(locked);
}

TEST(Mutex, ManyThreadsOfSeveralProcessesExcludeEachOther) {
    world one;
    std::vector<locks> processes;
    std::vector<std::unique_ptr<mutex>> doors;
    for (int i = 0; i < 3; ++i) processes.push_back(one.open());
    for (auto& process : processes)
        doors.push_back(std::make_unique<mutex>(process, "door", plain));
    int counter = 0;  // guarded by nothing else
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 20; ++round) {
                const std::lock_guard hold{*doors[i % 3]};
                ++counter;
            }
        });
    for (auto& one_thread : threads) one_thread.join();
    EXPECT_EQ(counter, 120);
}

// A lease that is lost: check() says so, unlock() does not throw, and others can lock.
TEST(Mutex, ALostLeaseIsADefinedError) {
    world one;
    auto a = one.open(), b = one.open();
    mutex here{a, "door", {.ttl = 6s, .grace = 0ms}}, there{b, "door", plain};
    std::unique_lock hold{here};
    EXPECT_NO_THROW(here.check());
    ASSERT_TRUE(b.force_release("door", here.lease().token(), 0ms));
    ASSERT_TRUE(there.try_lock());
    wait_for_stop(here.lease().stop_token());
    try {
        here.check();
        FAIL() << "the lease was lost";
    } catch (const lease_lost& error) {
        EXPECT_EQ(error.reason(), loss_reason::taken);
        EXPECT_STREQ(error.what(), "the lease of 'door' was lost: taken");
    }
    hold.release();
    EXPECT_EQ(here.unlock_and_wait(), release_outcome::lost);
    EXPECT_NO_THROW(there.check());
    there.unlock();
}

// While one thread has not noticed yet that its lease is lost, another of the same process may
// lock: each has its own lease.
TEST(Mutex, TwoThreadsOfOneObjectKeepTheirLeasesApart) {
    world one;
    auto a = one.open(), b = one.open();
    mutex door{a, "door", {.ttl = 6s, .grace = 0ms}};
    const std::lock_guard hold{door};
    const auto first = door.lease().token();
    ASSERT_TRUE(b.force_release("door", first, 0ms));
    wait_for_stop(door.lease().stop_token());
    std::thread other{[&] {
        const std::lock_guard mine{door};
        EXPECT_GT(number(door.lease().token()), number(first));
        EXPECT_NO_THROW(door.check());
    }};
    other.join();
    EXPECT_EQ(door.lease().token(), first);
    EXPECT_THROW(door.check(), lease_lost);
}

TEST(Mutex, MistakesThrowWhatTheStandardNames) {
    world one;
    auto a = one.open();
    mutex door{a, "door", plain};
    EXPECT_EQ(code_of([&] { door.unlock(); }), std::errc::operation_not_permitted);
    EXPECT_EQ(code_of([&] { door.check(); }), std::errc::operation_not_permitted);
    EXPECT_EQ(code_of([&] { (void)door.lease(); }), std::errc::operation_not_permitted);
    EXPECT_EQ(code_of([&] { (void)door.unlock_and_wait(); }), std::errc::operation_not_permitted);
    const std::lock_guard hold{door};
    EXPECT_EQ(code_of([&] { door.lock(); }), std::errc::resource_deadlock_would_occur);
    EXPECT_EQ(code_of([&] { (void)door.try_lock(); }), std::errc::resource_deadlock_would_occur);
    std::thread other{
        [&] { EXPECT_EQ(code_of([&] { door.unlock(); }), std::errc::operation_not_permitted); }};
    other.join();
    EXPECT_NO_THROW(door.check());
}

TEST(Mutex, AStoreThatFailsIsSaidSoAndNothingIsLocked) {
    world one;
    auto a = one.open();
    mutex door{a, "door", plain};
    one.faults->fail_all = errc::denied;
    EXPECT_THROW(door.lock(), store_error);
    EXPECT_THROW((void)door.try_lock(), store_error);
    EXPECT_EQ(code_of([&] { door.unlock(); }), std::errc::operation_not_permitted);
    one.faults->fail_all = std::nullopt;
    EXPECT_TRUE(door.try_lock());
    one.faults->fail_all = errc::denied;
    EXPECT_NO_THROW(door.unlock());
}

TEST(Mutex, WhatMakesNoSenseIsRejectedWhenItIsMade) {
    world one;
    auto a = one.open();
    const auto make = [&](std::string key, lease_options how) {
        const mutex door{a, std::move(key), how};
    };
    EXPECT_THROW(make("", plain), option_error);
    EXPECT_THROW(make("door", {}), option_error);
    EXPECT_THROW(make("door", {.ttl = 1min, .occurrence = occurrence{1}}), option_error);
    EXPECT_THROW(make("door", {.ttl = 1min, .reentrancy = reentrancy::instance}), option_error);
}

// After the end of its `locks` a mutex locks no more, and what was locked is lost.
TEST(Mutex, TheEndOfLocksIsADefinedError) {
    world one;
    std::optional<locks> a{one.open()};
    mutex door{*a, "door", plain};
    const std::lock_guard hold{door};
    a.reset();
    try {
        door.check();
        FAIL() << "the lease was closed";
    } catch (const lease_lost& error) {
        EXPECT_EQ(error.reason(), loss_reason::closed);
    }
    std::thread other{[&] {
        try {
            door.lock();
            ADD_FAILURE() << "there is no store";
        } catch (const store_error& error) {
            EXPECT_EQ(error.code(), errc::closed);
        }
    }};
    other.join();
}

// A caller in the middle of lock() hears of it as well.
TEST(Mutex, AWaitThatTheEndOfLocksMeetsIsADefinedError) {
    world one;
    auto b = one.open();
    std::optional<locks> a{one.open()};
    const auto held = b.try_acquire("door", plain);
    mutex door{*a, "door", plain};
    std::atomic<bool> closed{false};
    std::thread waiter{[&] {
        try {
            door.lock();
        } catch (const store_error& error) {
            closed = error.code() == errc::closed;
        }
    }};
    while (b.inspect("door")->waiters.value_or(0) == 0) std::this_thread::yield();
    a.reset();
    waiter.join();
    EXPECT_TRUE(closed);
}

// Goal: a child of a fork() waits for no mutex that a thread of its parent had. Method: many forks
// beside a thread that always looks at what it holds.
TEST(Mutex, InTheChildOfAForkItIsDead) {
    world one;
    auto a = one.open();
    mutex door{a, "door", plain};
    std::atomic<bool> over{false};
    std::latch locked{1};
    std::thread holder{[&] {
        const std::lock_guard hold{door};
        locked.count_down();
        while (!over) door.check();
    }};
    locked.wait();
    const auto in_child = [&] {
        int failed = 0;
        const auto check = [&](bool right) { failed += right ? 0 : 1; };
        const auto is_rejected = [](auto call) {
            try {
                call();
            } catch (const std::logic_error&) {
                return true;
            }
            return false;
        };
        door.unlock();
        check(door.unlock_and_wait() == release_outcome::lost);
        check(is_rejected([&] { static_cast<void>(door.lease()); }));
        check(is_rejected([&] { static_cast<void>(door.try_lock()); }));
        try {
            door.check();
            ++failed;
        } catch (const lease_lost& error) {
            check(error.reason() == loss_reason::closed);
        }
        return failed;
    };
    int failed = 0;
    for (int i = 0; i < 50 && failed == 0; ++i) {
        const auto child = fork();
        if (child == 0) {
            // Whatever hangs is a failure too.
            alarm(30);
            _exit(in_child());
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failed;
    }
    over = true;
    holder.join();
    EXPECT_EQ(failed, 0);
}

// The object goes while it is locked, as when a scope ends by an exception: the key is released.
TEST(Mutex, OneThatGoesReleasesWhatItHolds) {
    world one;
    auto a = one.open(), b = one.open();
    {
        mutex door{a, "door", plain};
        door.lock();
    }
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("door", plain));
}

// Who asked for a lease of its own is not made to share it by one that asks to share.
TEST(Mutex, AClaimByInstanceDoesNotShareIt) {
    world one;
    auto a = one.open();
    mutex door{a, "door", plain};
    const std::lock_guard hold{door};
    EXPECT_TRUE(rejected(a.try_acquire("door", {.ttl = 1min, .reentrancy = reentrancy::instance})));
}

TEST(Mutex, AWaitEndsWithItsStopToken) {
    world one;
    auto a = one.open(), b = one.open();
    mutex mine{a, "door", plain}, theirs{b, "door", plain};
    const std::lock_guard hold{mine};
    std::stop_source stop;
    std::optional<bool> locked;
    std::thread waiter{[&] { locked = theirs.lock(stop.get_token()); }};
    while (a.inspect("door")->waiters.value_or(0) == 0) std::this_thread::yield();
    stop.request_stop();
    waiter.join();
    EXPECT_EQ(locked, false);
    EXPECT_EQ(code_of([&] { theirs.unlock(); }), std::errc::operation_not_permitted);
    EXPECT_FALSE(theirs.lock(stop.get_token()));
}

TEST(Mutex, ItsHolderRenewsIt) {
    world one;
    auto a = one.open(), b = one.open();
    mutex door{a, "door", {.ttl = 1min, .renew = renewal_mode::manual}};
    EXPECT_EQ(code_of([&] { static_cast<void>(door.renew()); }),
              std::errc::operation_not_permitted);
    const std::lock_guard hold{door};
    const auto before = door.lease().valid_until();
    EXPECT_TRUE(door.renew());
    EXPECT_GT(door.lease().valid_until(), before);
    ASSERT_TRUE(b.force_release("door", door.lease().token(), 0ms));
    EXPECT_FALSE(door.renew());
}

}  // namespace
}  // namespace pawl
