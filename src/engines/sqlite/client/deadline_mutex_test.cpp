#include "engines/sqlite/client/deadline_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

TEST(DeadlineMutex, IsGivenUpAtTheDeadline) {
    deadline_mutex mutex;
    ASSERT_TRUE(mutex.try_lock_until(instant{}));
    const auto deadline = lease_clock::now() + 5ms;
    std::thread{[&] {
        EXPECT_FALSE(mutex.try_lock_until(deadline));
        EXPECT_GE(lease_clock::now(), deadline);
    }}.join();
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_until(instant{}));
    mutex.unlock();
}

// Goal: a thread that asks again and again does not keep out one who waits. Method: a thread that
// takes the lock anew as soon as it has freed it, until another has had its turn.
TEST(DeadlineMutex, AThreadThatWaitsGetsItsTurn) {
    deadline_mutex mutex;
    std::atomic<bool> served{false};
    ASSERT_TRUE(mutex.try_lock_until(instant{}));
    std::thread waiting{[&] {
        EXPECT_TRUE(mutex.try_lock_until(lease_clock::now() + 10s));
        served = true;
        mutex.unlock();
    }};
    const auto give_up = lease_clock::now() + 10s;
    while (!served && lease_clock::now() < give_up) {
        mutex.unlock();
        ASSERT_TRUE(mutex.try_lock_until(give_up));
    }
    EXPECT_TRUE(served);
    mutex.unlock();
    waiting.join();
}

// Goal: one at a time. Method: a counter that only the lock guards.
TEST(DeadlineMutex, LetsOneInAtATime) {
    deadline_mutex mutex;
    int counter = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i)
        all.emplace_back([&] {
            for (int round = 0; round < 2000; ++round) {
                if (!mutex.try_lock_until(lease_clock::now() + 10s)) continue;
                ++counter;
                mutex.unlock();
            }
        });
    for (auto& one : all) one.join();
    EXPECT_EQ(counter, 8000);
}

}  // namespace
}  // namespace pawl::sqlite
