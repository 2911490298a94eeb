// Schedules over decades of virtual time, in zones whose clocks are set in odd ways. Goal: no loop,
// no miss, no double, under every policy. Method: an oracle walks the clock on the wall tick by
// tick (test_support/cron/oracle.hpp), and what next() finds must be the same, occurrence by
// occurrence.
#include "test_support/cron/oracle.hpp"
#include "time/cron.hpp"
#include "time/rfc3339.hpp"

#include <gtest/gtest.h>

#include <random>

namespace pawl::time {
namespace {

using namespace std::chrono;

constexpr sys_seconds begin_of_test = sys_days{year{1975} / 1 / 1};
constexpr sys_seconds end_of_test = sys_days{year{2037} / 1 / 1};

const std::vector<std::string> zones{
    "Australia/Lord_Howe", "Pacific/Apia",  "Antarctica/Troll", "Africa/Cairo",
    "Africa/Casablanca",   "Europe/London", "America/New_York", "Asia/Tehran",
    "America/Sao_Paulo",   "Europe/Dublin", "Asia/Pyongyang",   "Pacific/Kwajalein"};

struct policy_pair {
    transitions ours;
    testing::oracle_policy theirs;
};

const std::vector<policy_pair> policies{{{gap_time::end, repeated_time::once}, {true, false}},
                                        {{gap_time::skip, repeated_time::twice}, {false, true}},
                                        {{gap_time::end, repeated_time::twice}, {true, true}},
                                        {{gap_time::skip, repeated_time::once}, {false, false}}};
// Each answer of both policies once: enough where decades are walked.
const std::vector<policy_pair> opposite_policies{policies[0], policies[1]};

// All occurrences after the one instant and up to the other; ends when they do not rise.
std::vector<sys_seconds> occurrences(const cron& what, const zone& where, sys_seconds from,
                                     sys_seconds to, transitions policy) {
    std::vector<sys_seconds> found;
    wall_instant after{from};
    while (const auto next = what.next(after, where, policy)) {
        EXPECT_GT(*next, after) << what.text() << " in " << where.name();
        if (*next <= after || *next > to) break;
        found.push_back(floor<seconds>(*next));
        after = *next;
    }
    return found;
}

std::string shown(sys_seconds when) { return format_rfc3339(wall_instant{when}); }

void compare(const std::string& expression, const std::string& place, sys_seconds from,
             sys_seconds to, const std::vector<policy_pair>& under = policies) {
    const auto parsed = cron::parse(expression);
    ASSERT_TRUE(parsed.has_value()) << expression << ": " << parsed.error().what;
    const auto where = zone::find(place).value();
    const testing::cron_oracle oracle{expression, place};
    for (const auto& [ours, theirs] : under) {
        const auto found = occurrences(*parsed, where, from, to, ours);
        const auto expected = oracle.occurrences(from, to, theirs);
        if (found == expected) continue;
        const auto [one, other] =
            std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
        FAIL() << expression << " in " << place << " from " << shown(from)
               << (ours.gap == gap_time::end ? " end " : " skip ")
               << (ours.repeat == repeated_time::once ? "once" : "twice") << ": found "
               << (one == found.end() ? "nothing more" : shown(*one)) << ", expected "
               << (other == expected.end() ? "nothing more" : shown(*other));
    }
}

TEST(CronYears, SparseSchedulesMissNothingInSixtyYears) {
    for (const auto& place : zones)
        for (const auto* expression :
             {"30 2 * * *", "0 0 * * *", "59 23 * * 1-5", "0 3 1,15 * *", "30 1 L * *",
              "15 2 LW * *", "0 2 * * 0#-1", "0 1 29 2 *", "45 0 13 * 5", "0 2 15W 3,10 *",
              "0 4 */7 * 1-5", "30 1 L-3W * *", "0 12 28-L * *", "0 0 30 12 *"})
            compare(expression, place, begin_of_test, end_of_test, opposite_policies);
}

TEST(CronYears, MinutesAroundEveryChangeOfTheClockAreRight) {
    for (const auto& place : zones)
        for (const auto change : testing::clock_changes(place, begin_of_test, end_of_test))
            for (const auto* expression :
                 {"* * * * *", "*/5 * * * *", "7/10 * * * *", "0 * * * *", "30 */2 * * *",
                  "10,40 0-3 * * *", "0,30 0,1,2,3,23 * * *", "15 1-2 ? * 0,6", "59 23,0,1 * * *"})
                compare(expression, place, change - hours{30}, change + hours{30});
}

TEST(CronYears, SecondsAroundEveryChangeOfTheClockAreRight) {
    for (const auto& place : zones)
        for (const auto change : testing::clock_changes(place, begin_of_test, end_of_test))
            for (const auto* expression : {"*/20 * * * * *", "13 */7 * * * *",
                                           "0,59 59,0 0,1,2,3 * * *", "5 0-30/10 2 * * *"})
                compare(expression, place, change - minutes{100}, change + minutes{100});
}

TEST(CronYears, EveryInstantOfAChangeIsAGoodPlaceToStart) {
    for (const auto& place : zones) {
        const auto changes = testing::clock_changes(place, begin_of_test, end_of_test);
        for (std::size_t i = 0; i < changes.size(); i += 7)
            for (int minute = -130; minute <= 130; minute += 13)
                for (const auto* expression : {"30 0,1,2 * * *", "*/30 * * * *"})
                    compare(expression, place, changes[i] + minutes{minute},
                            changes[i] + hours{26});
    }
}

// Writes a field of numbers, lists, ranges (also round the end) and steps.
class writer {
public:
    explicit writer(std::uint32_t seed) : random_{seed} {}

    int between(int low, int high) {
        return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
    }
    bool one_in(int n) { return between(1, n) == 1; }

    std::string item(int low, int high) {
        const auto value = [&] { return std::to_string(between(low, high)); };
        const auto step = [&] { return "/" + std::to_string(between(1, high > 7 ? 7 : high)); };
        switch (between(0, 5)) {
            case 0:
                return value() + "-" + value();
            case 1:
                return value() + "-" + value() + step();
            case 2:
                return value() + step();
            default:
                return value();
        }
    }
    std::string field(int low, int high) {
        if (one_in(3)) return one_in(3) ? "*/" + std::to_string(between(1, 7)) : "*";
        std::string list = item(low, high);
        while (one_in(2)) list += "," + item(low, high);
        return list;
    }
    std::string month_day() {
        switch (between(0, 6)) {
            case 0:
                return "L-" + std::to_string(between(0, 30));
            case 1:
                return std::to_string(between(1, 31)) + "W";
            case 2:
                return "L-" + std::to_string(between(0, 30)) + "W";
            case 3:
                return "?";
            default:
                return field(1, 31);
        }
    }
    std::string week_day() {
        switch (between(0, 5)) {
            case 0:
                return std::to_string(between(0, 7)) + "L";
            case 1:
                return std::to_string(between(0, 7)) + "#" + std::to_string(between(1, 5));
            case 2:
                return std::to_string(between(0, 7)) + "#-" + std::to_string(between(1, 5));
            default:
                return field(0, 6);
        }
    }
    std::string expression() {
        return field(0, 59) + " " + field(0, 23) + " " + month_day() + " " + field(1, 12) + " " +
               week_day();
    }

private:
    std::mt19937 random_;
};

TEST(CronYears, WhateverIsWrittenFiresAsTheOracleSays) {
    writer write{20261121};
    int rejected = 0;
    for (int i = 0; i < 3000; ++i) {
        const auto expression = write.expression();
        const auto& place = zones[static_cast<std::size_t>(i) % zones.size()];
        const sys_seconds from =
            begin_of_test + days{write.between(0, 20'000)} + minutes{write.between(0, 1439)};
        const auto parsed = cron::parse(expression);
        if (parsed.has_error()) {
            // Only a day that there never is may be wrong with it.
            ASSERT_NE(parsed.error().what.find("never fires"), std::string::npos)
                << expression << ": " << parsed.error().what;
            EXPECT_TRUE(testing::cron_oracle(expression, "UTC")
                            .occurrences(from, from + years{28}, {})
                            .empty())
                << expression;
            ++rejected;
            continue;
        }
        compare(expression, place, from, from + days{40});
    }
    EXPECT_LT(rejected, 100);
}

}  // namespace
}  // namespace pawl::time
