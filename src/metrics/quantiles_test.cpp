#include "metrics/quantiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace pawl::metrics {
namespace {

bucket_counts of(std::vector<std::uint64_t> counts) { return {{1, 2, 4}, std::move(counts)}; }

TEST(Quantiles, NothingCountedIsZero) {
    EXPECT_EQ(quantile({}, 0.5), 0);
    EXPECT_EQ(quantile(of({0, 0, 0, 0}), 0.99), 0);
}

TEST(Quantiles, AreInterpolatedWithinTheirBucket) {
    EXPECT_DOUBLE_EQ(quantile(of({10, 0, 0, 0}), 0.5), 0.5);
    EXPECT_DOUBLE_EQ(quantile(of({5, 5, 0, 0}), 0.5), 1);
    EXPECT_DOUBLE_EQ(quantile(of({5, 5, 0, 0}), 0.6), 1.2);
    EXPECT_DOUBLE_EQ(quantile(of({0, 0, 4, 0}), 0.25), 2.5);
    EXPECT_DOUBLE_EQ(quantile(of({98, 0, 2, 0}), 0.99), 3);
}

TEST(Quantiles, WhatLiesAboveIsToldAsTheHighestBound) {
    EXPECT_DOUBLE_EQ(quantile(of({1, 0, 0, 99}), 0.99), 4);
}

TEST(Quantiles, OnlyWhatCameSinceCounts) {
    const auto before = of({100, 0, 0, 0});
    const auto now = of({100, 0, 2, 1});
    EXPECT_EQ(now.since(before).sum(), 3u);
    EXPECT_DOUBLE_EQ(quantile(now.since(before), 0.5), 3.5);
    EXPECT_EQ(now.since({}).sum(), 103u);
}

TEST(Quantiles, SumsOfSeveralHistogramsAreOne) {
    bucket_counts sum;
    sum.add(of({1, 2, 3, 4}));
    sum.add(of({10, 20, 30, 40}));
    EXPECT_EQ(sum.counts, (std::vector<std::uint64_t>{11, 22, 33, 44}));
}

// Each is readable from a millisecond to an hour: no bucket is wider than five times its lower end.
TEST(Quantiles, TheBoundsAscendWithoutGreatGaps) {
    for (const auto* bounds : {&lease_bounds(), &run_bounds(), &store_bounds()}) {
        EXPECT_TRUE(std::is_sorted(bounds->begin(), bounds->end(), std::less_equal<>{}));
        for (std::size_t i = 1; i < bounds->size(); ++i)
            EXPECT_LE((*bounds)[i] / (*bounds)[i - 1], 5.001);
    }
    EXPECT_EQ(lease_bounds().front(), 0.001);
    EXPECT_EQ(lease_bounds().back(), 3600);
    EXPECT_EQ(run_bounds().front(), 0.001);
    EXPECT_GE(run_bounds().back(), 3600);
}

}  // namespace
}  // namespace pawl::metrics
