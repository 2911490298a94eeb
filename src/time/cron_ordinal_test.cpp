// Occurrences are numbered one after the other, on every node alike: jobs with slots go by that.
#include "time/cron.hpp"
#include "time/rfc3339.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::time {
namespace {

using namespace std::chrono_literals;

wall_instant at(std::string_view text) { return parse_rfc3339_of_any_year(text).value(); }

zone in(std::string_view name) { return zone::find(name).value(); }

cron expression(std::string_view text) {
    const auto parsed = cron::parse(text);
    if (parsed.has_error())
        throw std::runtime_error{std::string{text} + ": " + parsed.error().what};
    return *parsed;
}

constexpr std::string_view lines[]{
    "* * * * *",     "* * * * * *",
    "*/7 * * * * *", "5,50 0-20/3,59 * * * *",
    "30 2 * * *",    "0,30 2,3,17 * * *",
    "15 6 * * 1-5",  "0 0 1 * *",
    "0 12 L * *",    "0 12 L-3 2,6 *",
    "0 9 15W * *",   "0 9 LW * *",
    "0 8 * * 1#2",   "0 8 * * 5L",
    "30 4 1,15 * 5", "0 0 29 2 *",
    "59 23 31 12 *", "@daily",
    "@hourly",       "@every 90s",
    "@every 1s",     "@every 7m",
};

// Goal: no occurrence shares its number with the next one, or leaves one out. Method: a walk along
// each schedule from several days, also before the one that is counted from and over centuries.
TEST(CronOrdinal, ConsecutiveOccurrencesHaveConsecutiveNumbers) {
    constexpr std::string_view from[]{"1969-12-20T11:11:11Z", "2019-12-31T23:50:00Z",
                                      "2026-02-27T21:00:00Z", "2419-11-30T00:00:00Z",
                                      "2820-02-28T23:59:30Z", "9980-03-01T05:06:07Z"};
    for (const auto where : {"UTC", "Etc/GMT+11", "Etc/GMT-14"})
        for (const auto line : lines)
            for (const auto begin : from) {
                const auto what = expression(line);
                const auto place = in(where);
                auto before = what.next(at(begin), place);
                for (int i = 0; before && i < 200; ++i) {
                    const auto next = what.next(*before, place);
                    if (!next) break;
                    ASSERT_EQ(what.ordinal(*next, place), what.ordinal(*before, place) + 1)
                        << line << " in " << where << " at " << format_rfc3339(*next, 0s);
                    before = next;
                }
            }
}

TEST(CronOrdinal, CountsWhatLiesFarApartWithoutWalkingThere) {
    const auto number_of = [](std::string_view line, std::string_view when) {
        return expression(line).ordinal(at(when), zone{});
    };
    EXPECT_EQ(number_of("* * * * * *", "2027-01-01T00:00:00Z") -
                  number_of("* * * * * *", "2026-01-01T00:00:00Z"),
              365 * 86'400);
    EXPECT_EQ(
        number_of("@daily", "6820-01-01T00:00:00Z") - number_of("@daily", "2020-01-01T00:00:00Z"),
        12 * 146'097);
    EXPECT_EQ(number_of("0 8 * * 1", "2020-01-06T08:00:00Z"), 1);
    EXPECT_EQ(number_of("0 8 * * 1", "2019-12-30T08:00:00Z"), 0);
    EXPECT_EQ(number_of("@every 1h", "1970-01-01T05:00:00Z"), 5);
    EXPECT_EQ(number_of("@every 1h", "1969-12-31T23:00:00Z"), -1);
}

// Where clocks change, numbers may jump; before and after they follow each other again.
TEST(CronOrdinal, OnlyAChangeOfClocksMakesItJump) {
    for (const auto where : {"America/New_York", "Europe/Paris", "Australia/Lord_Howe"})
        for (const auto line : {"*/15 * * * *", "30 2 * * *", "0,40 1-3 * * *"}) {
            const auto what = expression(line);
            const auto place = in(where);
            int jumps = 0;
            auto before = what.next(at("2024-01-01T00:00:00Z"), place);
            while (*before < at("2026-01-01T00:00:00Z")) {
                const auto next = what.next(*before, place);
                if (what.ordinal(*next, place) != what.ordinal(*before, place) + 1) {
                    EXPECT_NE(place.offset_at(*next), place.offset_at(*before - 24h))
                        << line << " in " << where << " at " << format_rfc3339(*next, 0s);
                    ++jumps;
                }
                before = next;
            }
            EXPECT_LE(jumps, 4) << line << " in " << where;
        }
}

// The hour that is passed twice: the same times of day, so the same numbers again.
TEST(CronOrdinal, ARepeatedHourHasItsNumbersAgain) {
    const auto what = expression("*/30 * * * *");
    const auto place = in("Europe/Paris");
    std::vector<std::int64_t> numbers;
    auto next = what.next(at("2026-10-24T23:45:00Z"), place);
    for (int i = 0; i < 6; ++i) {
        numbers.push_back(what.ordinal(*next, place) -
                          what.ordinal(at("2026-10-25T00:00:00Z"), place));
        next = what.next(*next, place);
    }
    EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 0, 1, 2, 3}));
}

// 02:30 is left out and the job runs at 03:00 instead, in the place of that day.
TEST(CronOrdinal, AGapTakesTheNumberOfWhatItLeavesOut) {
    const auto what = expression("30 2 * * *");
    const auto place = in("Europe/Paris");
    auto before = what.next(at("2026-03-26T12:00:00Z"), place);
    for (int i = 0; i < 5; ++i) {
        const auto next = what.next(*before, place);
        EXPECT_EQ(what.ordinal(*next, place), what.ordinal(*before, place) + 1);
        before = next;
    }
}

}  // namespace
}  // namespace pawl::time
