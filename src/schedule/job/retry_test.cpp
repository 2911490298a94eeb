#include "schedule/job/retry.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <set>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;

constexpr double even = 0.5;  // in the middle: no jitter at all

TEST(Retry, WaitsGrowByTheFactorUpToTheBound) {
    const retry_rule rule{.max = 6, .backoff = 10s, .factor = 2, .max_backoff = 100s, .jitter = 0};
    EXPECT_EQ(wait_before_retry(rule, 1, even), 10s);
    EXPECT_EQ(wait_before_retry(rule, 2, even), 20s);
    EXPECT_EQ(wait_before_retry(rule, 4, even), 80s);
    EXPECT_EQ(wait_before_retry(rule, 5, even), 100s);
    EXPECT_EQ(wait_before_retry(rule, 6, even), 100s);
}

TEST(Retry, NoneIsLeftAfterTheLast) {
    EXPECT_EQ(wait_before_retry({}, 1, even), std::nullopt);
    EXPECT_TRUE(wait_before_retry({.max = 2}, 2, even));
    EXPECT_EQ(wait_before_retry({.max = 2}, 3, even), std::nullopt);
}

TEST(Retry, JitterGoesToBothSides) {
    const retry_rule rule{.max = 1, .backoff = 10s, .jitter = 0.2};
    EXPECT_EQ(wait_before_retry(rule, 1, 0.0), 8s);
    EXPECT_EQ(wait_before_retry(rule, 1, 0.5), 10s);
    EXPECT_GT(*wait_before_retry(rule, 1, 0.999), 11900ms);
}

// Goal: runs that failed together do not come back together. Method: at the bound, where waits that
// are merely cut off would all be equal.
TEST(Retry, WaitsAtTheBoundAreStillSpreadAndNeverBeyondIt) {
    const retry_rule rule{.max = 100, .backoff = 10s, .max_backoff = 60s, .jitter = 0.2};
    std::set<millis> waits;
    for (int i = 0; i < 100; ++i) waits.insert(*wait_before_retry(rule, 50, i / 100.0));
    EXPECT_EQ(waits.size(), 100U);
    EXPECT_EQ(*waits.begin(), 48s);
    EXPECT_LE(*waits.rbegin(), 60s);
}

TEST(Retry, AThousandAttemptsDoNotOverflow) {
    for (const double factor : {1.0, 2.0, 100.0, std::numeric_limits<double>::infinity()}) {
        const retry_rule rule{.max = 1000, .factor = factor, .max_backoff = 24h};
        for (int attempt = 1; attempt <= 1000; ++attempt) {
            const auto wait = wait_before_retry(rule, attempt, even);
            ASSERT_TRUE(wait);
            EXPECT_GE(*wait, 8s);
            EXPECT_LE(*wait, 24h);
        }
    }
}

TEST(Retry, NoBackoffIsNoWait) {
    EXPECT_EQ(wait_before_retry({.max = 999, .backoff = 0ms, .factor = 100}, 999, even), 0ms);
}

}  // namespace
}  // namespace pawl::schedule
