#include "cli/exec/exec_options.hpp"

#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <CLI/CLI.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

std::string rejection_of(const exec_options& what) {
    try {
        (void)plan_of(what);
    } catch (const CLI::ValidationError& bad) {
        return bad.what();
    }
    return "nothing is wrong";
}

TEST(ExecOptions, WhatIsLeftOutHasItsDefault) {
    const auto plan = plan_of({.key = "k"});
    EXPECT_EQ(plan.lease.ttl, 30s);
    EXPECT_EQ(plan.lease.grace, 10s);
    EXPECT_EQ(plan.lease.min_hold, 0ms);
    EXPECT_EQ(plan.waiting.wait, 0ms);
    EXPECT_EQ(plan.lease.occurrence, std::nullopt);
    EXPECT_EQ(plan.timeout, std::nullopt);
}

TEST(ExecOptions, EachIsTaken) {
    exec_options what{.key = "k", .ttl = "1m", .min_hold = "5s", .grace = "2s"};
    what.occurrence = "2026-01-02T03:04:05Z";
    what.wait = "1h";
    what.timeout = "90s";
    what.at_least_once = true;
    const auto plan = plan_of(what);
    EXPECT_EQ(plan.lease.ttl, 1min);
    EXPECT_EQ(plan.lease.min_hold, 5s);
    EXPECT_EQ(plan.lease.grace, 2s);
    EXPECT_EQ(plan.lease.occurrence, occurrence{1'767'323'045'000});
    EXPECT_EQ(plan.lease.delivery, delivery::at_least_once);
    EXPECT_EQ(plan.waiting.wait, 1h);
    EXPECT_EQ(plan.timeout, 90s);
}

TEST(ExecOptions, WhatMakesNoSenseIsRejectedByItsName) {
    exec_options bad{.key = "k", .ttl = "soon"};
    EXPECT_THAT(rejection_of(bad), StartsWith("--ttl"));
    bad = {.key = "k", .min_hold = "1m", .hold_until_expiry = true};
    EXPECT_THAT(rejection_of(bad), HasSubstr("longer than --ttl"));
    bad = {.key = "k", .occurrence = "2026-01-02 3pm"};
    EXPECT_THAT(rejection_of(bad), HasSubstr("expected such a time, or minute, hour or day"));
    bad = {.key = "k", .at_least_once = true};
    EXPECT_THAT(rejection_of(bad), HasSubstr("goes with --occurrence"));
    bad = {.key = "k", .occurrence = "2026-01-02T03:04:05Z", .slots = 4};
    EXPECT_THAT(rejection_of(bad), HasSubstr("each slot would run it"));
    bad = {.key = "k", .timeout = "0s"};
    EXPECT_THAT(rejection_of(bad), HasSubstr("leave it out for no limit"));
}

TEST(ExecOptions, AnOccurrenceByNameIsTheStartOfTheUnitOfTime) {
    // The unit may end between the two looks at the clock, but not twice.
    const auto names = [](const char* name, auto unit) {
        using units = decltype(unit);
        const auto before = std::chrono::floor<units>(time::wall_now());
        const auto told = named_occurrence(name);
        const auto after = std::chrono::floor<units>(time::wall_now());
        return told == time::format_rfc3339(before) || told == time::format_rfc3339(after);
    };
    EXPECT_TRUE(names("minute", std::chrono::minutes{}));
    EXPECT_TRUE(names("hour", std::chrono::hours{}));
    EXPECT_TRUE(names("day", std::chrono::days{}));
    EXPECT_EQ(named_occurrence("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05Z");
}

}  // namespace
}  // namespace pawl::cli
