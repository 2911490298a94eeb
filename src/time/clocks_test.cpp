#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <time.h>

namespace pawl::time {
namespace {

TEST(LeaseClock, NeverGoesBack) {
    auto last = lease_clock::now();
    for (int i = 0; i < 10'000; ++i) {
        const auto now = lease_clock::now();
        ASSERT_GE(now, last);
        last = now;
    }
}

// CLOCK_BOOTTIME is never behind CLOCK_MONOTONIC: it is the same clock plus the time asleep.
TEST(LeaseClock, CountsTheTimeAsleep) {
    timespec awake{};
    clock_gettime(CLOCK_MONOTONIC, &awake);
    const auto monotonic =
        std::chrono::seconds{awake.tv_sec} + std::chrono::nanoseconds{awake.tv_nsec};
    EXPECT_GE(lease_clock::now().time_since_epoch(), monotonic);
}

TEST(WallClock, AgreesWithTheSystemClock) {
    const auto mine = wall_now();
    const auto theirs = std::chrono::system_clock::now();
    EXPECT_LT(std::chrono::abs(theirs - mine), std::chrono::seconds{5});
}

TEST(BootId, IsAUuidThatStaysTheSame) {
    EXPECT_EQ(boot_id().size(), 36U);
    EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace
}  // namespace pawl::time
