#include "net/backoff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pawl::net {
namespace {

// Many clients fail a hundred times each. Each pause is in the upper half of its step, the steps
// double up to the longest, and a success begins anew.
TEST(Backoff, PausesDoubleUpToASecondAndBeginAnewAfterASuccess) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        backoff retries{seed};
        for (int round = 0; round < 2; ++round) {
            millis step{10};
            for (int failures = 0; failures < 100; ++failures) {
                const auto pause = retries.failed();
                EXPECT_GE(pause, step / 2) << failures;
                EXPECT_LE(pause, step) << failures;
                step = std::min<millis>(step * 2, millis{1000});
            }
            retries.succeeded();
        }
    }
}

// Nodes that fail in step do not come back in step.
TEST(Backoff, PausesOfDifferentNodesDiffer) {
    std::set<millis> pauses;
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        backoff retries{seed * 7919};
        for (int failures = 0; failures < 8; ++failures) retries.failed();
        pauses.insert(retries.failed());
    }
    EXPECT_GT(pauses.size(), 50U);
}

}  // namespace
}  // namespace pawl::net
