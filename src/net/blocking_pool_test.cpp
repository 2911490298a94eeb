#include "net/blocking_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace pawl::net {
namespace {

TEST(BlockingPool, RunsJobsAtOnceUpToItsThreads) {
    blocking_pool pool{2};
    std::latch both{2};
    // Neither job ends unless both run at the same time.
    for (int i = 0; i < 2; ++i) pool.submit([&] { both.arrive_and_wait(); });
    both.wait();
}

TEST(BlockingPool, StopWaitsForTheRunningJobAndDropsTheRest) {
    std::atomic<int> ran{0};
    std::latch begun{1};
    blocking_pool pool{1};
    pool.submit([&] {
        begun.count_down();
        ++ran;
    });
    begun.wait();
    pool.stop();
    pool.submit([&] { ++ran; });
    EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace pawl::net
