#include "net/blocking_pool.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <system_error>

namespace pawl::net {
namespace {

TEST(BlockingPool, RunsJobsAtOnceUpToItsThreads) {
    // Outlives the pool, whose threads may still be on their way out of it.
    std::latch both{2};
    blocking_pool pool{2};
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

// In a process that may have no second thread: the caller is told, and nothing stays behind.
TEST(BlockingPool, WhereNoThreadCanStartTheJobIsRejected) {
    const auto try_it = [] {
        const rlimit none{0, 0};
        if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(3);
        // The limit is not root's.
        if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(4);
        blocking_pool pool{2};
        try {
            pool.submit([] { _exit(5); });
        } catch (const std::system_error&) {
            _exit(0);
        }
        _exit(6);
    };
    EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pawl::net
