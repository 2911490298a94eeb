#include "api/limits/audit_meter.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1'000s};

TEST(AuditMeter, TheFirstOfAMinuteAreWrittenAndTheOthersCounted) {
    audit_meter meter;
    int written = 0;
    for (int i = 0; i < 1'000; ++i)
        written +=
            meter.admit("vera", "session.open", start + std::chrono::milliseconds{i}) ? 1 : 0;
    EXPECT_EQ(written, 10);
    EXPECT_EQ(meter.next_end(), start + 60s);
    EXPECT_TRUE(meter.take_over(start + 60s - 1ns).empty());
    const auto over = meter.take_over(start + 60s);
    ASSERT_EQ(over.size(), 1u);
    EXPECT_EQ(over[0].actor, "vera");
    EXPECT_EQ(over[0].action, "session.open");
    EXPECT_EQ(over[0].count, 990u);
    EXPECT_EQ(meter.next_end(), std::nullopt);
    EXPECT_TRUE(meter.take_over(start + 1h).empty());
    EXPECT_TRUE(meter.admit("vera", "session.open", start + 61s));
}

TEST(AuditMeter, EachUserAndEachActionHasItsOwn) {
    audit_meter meter{{.told_max = 1}};
    EXPECT_TRUE(meter.admit("vera", "lease.acquire", start));
    EXPECT_FALSE(meter.admit("vera", "lease.acquire", start));
    EXPECT_TRUE(meter.admit("vera", "lease.release", start));
    EXPECT_TRUE(meter.admit("otto", "lease.acquire", start));
}

TEST(AuditMeter, SeldomIsWrittenEachTime) {
    audit_meter meter{{.told_max = 1}};
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(meter.admit("a", "b", start + i * 60s));
    EXPECT_TRUE(meter.take_over(start + 2h).empty());
}

// What was counted is never forgotten, however late a caller asks.
TEST(AuditMeter, WhatWasCountedStaysUntilItIsTaken) {
    audit_meter meter{{.told_max = 1}};
    for (int i = 0; i < 5; ++i) meter.admit("a", "b", start);
    EXPECT_FALSE(meter.admit("a", "b", start + 2min));
    const auto over = meter.take_over(start + 2min);
    ASSERT_EQ(over.size(), 1u);
    EXPECT_EQ(over[0].count, 5u);
}

}  // namespace
}  // namespace pawl::api
