#include "time/cron.hpp"

#include "time/rfc3339.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::time {
namespace {

wall_instant at(std::string_view text) { return parse_rfc3339_of_any_year(text).value(); }

zone in(std::string_view name) { return zone::find(name).value(); }

cron expression(std::string_view text) {
    const auto parsed = cron::parse(text);
    if (parsed.has_error())
        throw std::runtime_error{std::string{text} + ": " + parsed.error().what};
    return *parsed;
}

// So many occurrences after an instant, with the offset of the zone.
std::vector<std::string> occurrences(std::string_view text, std::string_view where,
                                     std::string_view from, int count, transitions policy = {}) {
    const auto what = expression(text);
    const auto place = in(where);
    std::vector<std::string> found;
    auto after = at(from);
    for (int i = 0; i < count; ++i) {
        const auto next = what.next(after, place, policy);
        if (!next) break;
        found.push_back(format_rfc3339(*next, place.offset_at(*next)));
        after = *next;
    }
    return found;
}

using list = std::vector<std::string>;

TEST(Cron, FiresAtTheEndOfAGap) {
    // 02:00 to 03:00 is left out in New York on 10 March 2024.
    EXPECT_EQ(occurrences("30 2 * * *", "America/New_York", "2024-03-09T12:00:00Z", 3),
              (list{"2024-03-10T03:00:00-04:00", "2024-03-11T02:30:00-04:00",
                    "2024-03-12T02:30:00-04:00"}));
}

TEST(Cron, FiresOnceForAllThatAGapLeavesOut) {
    EXPECT_EQ(occurrences("10,20,30 2 * * *", "America/New_York", "2024-03-09T12:00:00Z", 2),
              (list{"2024-03-10T03:00:00-04:00", "2024-03-11T02:10:00-04:00"}));
}

TEST(Cron, SkipsAGapWhenTold) {
    EXPECT_EQ(occurrences("30 2 * * *", "America/New_York", "2024-03-09T12:00:00Z", 1,
                          {gap_time::skip, repeated_time::once}),
              (list{"2024-03-11T02:30:00-04:00"}));
}

TEST(Cron, AnswersFromWithinAGapThatHasBeenFired) {
    EXPECT_EQ(occurrences("30 2 * * *", "America/New_York", "2024-03-10T07:00:00Z", 1),
              (list{"2024-03-11T02:30:00-04:00"}));
}

TEST(Cron, FiresForADayThatDidNotExist) {
    // Samoa left out 30 December 2011.
    EXPECT_EQ(occurrences("0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", 2),
              (list{"2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}));
}

TEST(Cron, FiresFixedTimesInTheFirstPassOfARepeatedHour) {
    EXPECT_EQ(occurrences("30 1 * * *", "America/New_York", "2024-11-03T04:00:00Z", 2),
              (list{"2024-11-03T01:30:00-04:00", "2024-11-04T01:30:00-05:00"}));
}

TEST(Cron, FiresFixedTimesTwiceWhenTold) {
    EXPECT_EQ(occurrences("30 1 * * *", "America/New_York", "2024-11-03T04:00:00Z", 3,
                          {gap_time::end, repeated_time::twice}),
              (list{"2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00",
                    "2024-11-04T01:30:00-05:00"}));
}

TEST(Cron, FiresIntervalsInBothPassesOfARepeatedHour) {
    EXPECT_EQ(
        occurrences("*/30 * * * *", "America/New_York", "2024-11-03T04:45:00Z", 5),
        (list{"2024-11-03T01:00:00-04:00", "2024-11-03T01:30:00-04:00", "2024-11-03T01:00:00-05:00",
              "2024-11-03T01:30:00-05:00", "2024-11-03T02:00:00-05:00"}));
}

TEST(Cron, ContinuesAcrossARepeatedMidnight) {
    // Sao Paulo went from 24:00 back to 23:00 on 17 February 2018.
    EXPECT_EQ(occurrences("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", 2),
              (list{"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}));
}

TEST(Cron, CountsIntervalsFromTheEpoch) {
    EXPECT_EQ(occurrences("@every 90s", "Europe/Paris", "2026-11-20T06:00:10Z", 2),
              (list{"2026-11-20T07:01:30+01:00", "2026-11-20T07:03:00+01:00"}));
    EXPECT_EQ(occurrences("@every 250ms", "UTC", "2026-11-20T06:00:00.25Z", 2),
              (list{"2026-11-20T06:00:00.500Z", "2026-11-20T06:00:00.750Z"}));
    EXPECT_EQ(occurrences("@every 7s", "UTC", "1969-12-31T23:59:52Z", 2),
              (list{"1969-12-31T23:59:53Z", "1970-01-01T00:00:00Z"}));
}

TEST(Cron, IsStrictlyAfterAlsoBetweenSeconds) {
    EXPECT_EQ(occurrences("* * * * * *", "UTC", "2026-11-20T06:00:00.999999Z", 1),
              (list{"2026-11-20T06:00:01Z"}));
    EXPECT_EQ(occurrences("* * * * * *", "UTC", "2026-11-20T06:00:00Z", 1),
              (list{"2026-11-20T06:00:01Z"}));
}

TEST(Cron, JoinsTheDayFieldsByVixiesRule) {
    // The 13th, or any Friday.
    EXPECT_EQ(occurrences("0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z", 3),
              (list{"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}));
    // A star in front: Fridays with an odd date.
    EXPECT_EQ(occurrences("0 0 */2 * 5", "UTC", "2026-11-01T00:00:00Z", 2),
              (list{"2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z"}));
    EXPECT_EQ(occurrences("0 0 ? * 5", "UTC", "2026-11-01T00:00:00Z", 1),
              (list{"2026-11-06T00:00:00Z"}));
}

TEST(Cron, KeepsTheNearestWeekdayInItsMonth) {
    EXPECT_EQ(occurrences("0 0 1W * *", "UTC", "2026-07-31T00:00:00Z", 1),
              (list{"2026-08-03T00:00:00Z"}));  // the 1st is a Saturday
    EXPECT_EQ(occurrences("0 0 LW * *", "UTC", "2026-05-01T00:00:00Z", 1),
              (list{"2026-05-29T00:00:00Z"}));  // the 31st is a Sunday
    EXPECT_EQ(occurrences("0 0 31W * *", "UTC", "2026-05-31T00:00:00Z", 1),
              (list{"2026-07-31T00:00:00Z"}));  // June has no 31st
}

TEST(Cron, FindsDaysThatAreDecadesApart) {
    // 29 February on a Sunday, over the year 2100, which is no leap year.
    EXPECT_EQ(occurrences("0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z", 4),
              (list{"2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z", "2088-02-29T00:00:00Z",
                    "2128-02-29T00:00:00Z"}));
}

TEST(Cron, GivesUpWhereAllFallsIntoSkippedGaps) {
    // The second Sunday of March, at a time that the change of this very day leaves out.
    EXPECT_TRUE(occurrences("30 2 ? 3 0#2", "America/New_York", "2026-01-01T00:00:00Z", 1,
                            {gap_time::skip, repeated_time::once})
                    .empty());
    EXPECT_EQ(occurrences("30 2 ? 3 0#2", "America/New_York", "2049-06-01T00:00:00Z", 1),
              (list{"2050-03-13T03:00:00-04:00"}));
}

TEST(Cron, EndsWithTheYear9999) {
    EXPECT_EQ(occurrences("@yearly", "UTC", "9998-06-01T00:00:00Z", 2),
              (list{"9999-01-01T00:00:00Z"}));
    EXPECT_TRUE(occurrences("@every 1d", "UTC", "9999-12-31T12:00:00Z", 1).empty());
}

TEST(Cron, TakesEveryInstantThatThereIs) {
    for (const auto* text : {"* * * * * *", "0 0 29 2 *", "@every 3s"}) {
        EXPECT_FALSE(expression(text).next(wall_instant::max(), {}).has_value());
        EXPECT_TRUE(expression(text).next(wall_instant::min(), in("Europe/Paris")).has_value());
    }
}

TEST(Cron, ReadsWrappedRangesAndSteps) {
    EXPECT_EQ(occurrences("0 22-2/2 * * *", "UTC", "2026-11-20T12:00:00Z", 4),
              (list{"2026-11-20T22:00:00Z", "2026-11-21T00:00:00Z", "2026-11-21T02:00:00Z",
                    "2026-11-21T22:00:00Z"}));
    EXPECT_EQ(occurrences("0 0 * * fri-mon", "UTC", "2026-11-18T00:00:00Z", 5),
              (list{"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z",
                    "2026-11-23T00:00:00Z", "2026-11-27T00:00:00Z"}));
    EXPECT_EQ(occurrences("0 0 * * 7/3", "UTC", "2026-11-18T00:00:00Z", 3),
              (list{"2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "2026-11-25T00:00:00Z"}));
}

TEST(Cron, RejectsWhatNeverFires) {
    for (const auto* text : {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 4 *", "0 0 L-30 2 *",
                             "0 0 30-31 2 ?", "0 0 1 * */7#5"}) {
        const auto parsed = cron::parse(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_NE(parsed.error().column, 0u) << text;
    }
    EXPECT_EQ(cron::parse("0 0 30 2 *").error().column, 4u);
    EXPECT_NE(cron::parse("0 0 30 2 *").error().what.find("never fires"), std::string::npos);
    // Either field is enough here, and there are Mondays in February.
    EXPECT_TRUE(cron::parse("0 0 30 2 1").has_value());
}

TEST(Cron, RejectsWithTheColumnAndWhatWouldBeRight) {
    const struct {
        const char* text;
        std::size_t column;
        const char* says;
    } cases[] = {{"", 0, "5 fields"},
                 {"   ", 0, "5 fields"},
                 {"* * *", 5, "found 3"},
                 {"0 0 0 1 1 * 2026", 12, "none for the year"},
                 {"61 * * * *", 0, "0 to 59"},
                 {"* * * JANU *", 6, "JAN to DEC"},
                 {"* * * * 5L#2", 10, "','"},
                 {"* * 1,2W * *", 6, "alone"},
                 {"* * ?,1 * *", 4, "alone"},
                 {"? * * * *", 0, "write *"},
                 {"0 0 29-L/2 * *", 8, "nothing follows"},
                 {"0 0 1 1 1#1,2#2", 13, "only one #"},
                 {"@every", 6, "@every 90s"},
                 {"@every 5x", 8, ""},
                 {"@every 99ms", 7, "at least 100ms"},
                 {"@every 1\x12s", 8, "'?s'"},
                 {"@every 1h 30m", 10, "one duration"},
                 {"@daily 5", 7, "nothing follows"},
                 {"@dayly", 0, "@daily"},
                 {"@reboot", 0, "no start"},
                 {"* * * * \x01", 8, "not this character"}};
    for (const auto& [text, column, says] : cases) {
        const auto parsed = cron::parse(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_EQ(parsed.error().column, column) << text << ": " << parsed.error().what;
        EXPECT_NE(parsed.error().what.find(says), std::string::npos)
            << text << ": " << parsed.error().what;
    }
    EXPECT_EQ(cron::parse(std::string(5000, '*')).error().column, 1000u);
}

TEST(Cron, KeepsItsTextAndSaysItInWords) {
    EXPECT_EQ(expression("@daily").text(), "@daily");
    const struct {
        const char* text;
        const char* words;
    } cases[] = {
        {"0 6 * * *", "at 06:00 every day"},
        {"@every 90s", "every 90 seconds"},
        {"@every 1h", "every hour"},
        {"@every 250ms", "every 250 milliseconds"},
        {"* * * * *", "every minute"},
        {"*/15 9-17 * * MON-FRI", "every 15 minutes in hours 9 to 17 on Monday to Friday"},
        {"@hourly", "every hour"},
        {"5 * * * *", "at minute 5 of every hour every day"},
        {"0 9,17 1,15 * *", "at 09:00 and 17:00 on the 1st and 15th"},
        {"30 0 0 L * ?", "at 00:00:30 on the last day of the month"},
        {"0 0 LW 1,7 *",
         "at 00:00 on the weekday nearest to the last day of the month in January and July"},
        {"0 12 * * FRIL", "at 12:00 on the last Friday of the month"},
        {"0 12 * * 1#2", "at 12:00 on the 2nd Monday of the month"},
        {"0 0 13 * 5", "at 00:00 on the 13th or on Friday"},
        {"0 0 */2 * 5",
         "at 00:00 on the 1st, 3rd, 5th, 7th, 9th, 11th, 13th, 15th, 17th, 19th, "
         "21st, 23rd, 25th, 27th, 29th and 31st if that is Friday"},
        {"*/10 * * * * *", "every 10 seconds"}};
    for (const auto& [text, words] : cases) EXPECT_EQ(expression(text).describe(), words) << text;
}

}  // namespace
}  // namespace pawl::time
