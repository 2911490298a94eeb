#include "health/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::health {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Doctor, AgentsThatGoByDifferentZonesAreNamed) {
    EXPECT_EQ(judge_zones({{"a", "2026a"}, {"b", "2026a"}}).level, severity::ok);
    EXPECT_EQ(judge_zones({{"a", "2026a"}, {"b", ""}}).level, severity::ok);
    const auto differ = judge_zones({{"a", "2026a"}, {"b", "2025b"}, {"c", "2026a"}});
    EXPECT_EQ(differ.level, severity::warn);
    EXPECT_NE(differ.text.find("2025b (b); 2026a (a, c)"), std::string::npos) << differ.text;
}

TEST(Doctor, RoundTripsAreJudgedByTheTimeout) {
    EXPECT_EQ(judge_round_trips({1ms, 2ms, 3ms}, 2000ms).level, severity::ok);
    EXPECT_EQ(judge_round_trips({1ms, 1ms, 201ms}, 2000ms).level, severity::ok);
    EXPECT_EQ(judge_round_trips(std::vector<micros>(100, 201ms), 2000ms).level, severity::warn);
    EXPECT_EQ(judge_round_trips({1ms, 1001ms}, 2000ms).level, severity::warn);
    EXPECT_EQ(judge_round_trips(std::vector<micros>(100, 1001ms), 2000ms).level, severity::fail);
    EXPECT_THAT(judge_round_trips({1500us}, 2000ms).text,
                HasSubstr("p50 1.50 ms, p99 1.50 ms, max 1.50 ms, of 1"));
}

TEST(Doctor, ClocksAreJudgedBySkewToBothSides) {
    for (const int side : {-1, 1}) {
        EXPECT_EQ(check_clock(side * 900ms, 1ms, 60s).level, severity::ok);
        EXPECT_EQ(check_clock(side * 1100ms, 1ms, 60s).level, severity::warn);
        EXPECT_EQ(check_clock(side * 61s, 1ms, 60s).level, severity::fail);
        // Known to a second and a half only.
        EXPECT_EQ(check_clock(side * 2400ms, 3s, 60s).level, severity::ok);
        EXPECT_EQ(check_clock(side * 2600ms, 3s, 60s).level, severity::warn);
        EXPECT_EQ(check_clock(side * 61s, 3s, 60s).level, severity::warn);
        EXPECT_EQ(check_clock(side * 62s, 3s, 60s).level, severity::fail);
    }
    EXPECT_THAT(check_clock(-2s, 1ms, 60s).text, HasSubstr("behind"));
    EXPECT_THAT(check_clock(2s, 1ms, 60s).text, HasSubstr("ahead"));
}

TEST(Doctor, AStoreThatCanForgetIsWarnedAboutWithoutAQuarantine) {
    store_settings settings;
    EXPECT_EQ(judge_quarantine(settings, {.strict_fencing = false}).level, severity::warn);
    EXPECT_EQ(judge_quarantine(settings, {.strict_fencing = true}).level, severity::ok);
    settings.quarantine = 30s;
    EXPECT_EQ(judge_quarantine(settings, {.strict_fencing = false}).level, severity::ok);
}

// Goal: the whole examination of a store at work. Method: a lease that a process holds, and a bound
// that it exceeds.
TEST(Doctor, DiagnosesAStoreAtWork) {
    auto store = locks::open("memory:");
    auto held = store.try_acquire("job/report", {.ttl = 30s});
    doctor_bounds bounds;
    bounds.watched = 10ms;
    const auto calm = diagnose(store, {}, bounds);
    EXPECT_TRUE(std::any_of(calm.findings.begin(), calm.findings.end(), [](const finding& one) {
        return one.check == "lock-debt" && one.text.find("'job/report'") != std::string::npos;
    }));
    for (const auto* check : {"reachability", "round-trip", "quarantine", "lock-debt"})
        EXPECT_TRUE(std::any_of(calm.findings.begin(), calm.findings.end(),
                                [&](const finding& one) { return one.check == check; }))
            << check;
    bounds.debt.held_warned = millis{-1};
    EXPECT_EQ(diagnose(store, {}, bounds).worst(), severity::warn);
}

TEST(Doctor, TheWorstFindingIsTheResult) {
    diagnosis made;
    EXPECT_EQ(made.worst(), severity::ok);
    made.findings.push_back({severity::warn, "disk", ""});
    made.findings.push_back({severity::ok, "tls", ""});
    EXPECT_EQ(made.worst(), severity::warn);
    made.findings.push_back({severity::fail, "tls", ""});
    EXPECT_EQ(made.worst(), severity::fail);
}

}  // namespace
}  // namespace pawl::health
