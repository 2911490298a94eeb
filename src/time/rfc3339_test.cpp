#include "time/rfc3339.hpp"

#include <gtest/gtest.h>

namespace pawl::time {
namespace {

std::int64_t millis_of(std::string_view text) {
    return std::chrono::floor<std::chrono::milliseconds>(parse_rfc3339(text).value())
        .time_since_epoch()
        .count();
}

TEST(Rfc3339, ReadsOffsetsAndFractions) {
    EXPECT_EQ(millis_of("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(millis_of("2026-11-20T06:00:00Z"), 1795154400000);
    EXPECT_EQ(millis_of("2026-11-20T07:00:00+01:00"), 1795154400000);
    EXPECT_EQ(millis_of("2026-11-19T20:30:00.25-09:30"), 1795154400250);
    EXPECT_EQ(millis_of("2026-11-20t06:00:00.123456789z"), 1795154400123);
    EXPECT_EQ(millis_of("2016-12-31T23:59:60Z"), millis_of("2017-01-01T00:00:00Z"));
}

TEST(Rfc3339, PrintsWhatItReads) {
    for (const auto* text :
         {"1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "9999-12-31T00:00:00.001Z"})
        EXPECT_EQ(format_rfc3339(parse_rfc3339(text).value()), text);
}

TEST(Rfc3339, PrintsTheOffsetOfAPlace) {
    const auto printed = [](const char* text, std::chrono::seconds offset) {
        return format_rfc3339(parse_rfc3339_of_any_year(text).value(), offset);
    };
    using std::chrono::hours;
    using std::chrono::minutes;
    EXPECT_EQ(printed("2026-11-20T06:00:00Z", hours{0}), "2026-11-20T06:00:00Z");
    EXPECT_EQ(printed("2026-11-20T06:00:00Z", hours{1}), "2026-11-20T07:00:00+01:00");
    EXPECT_EQ(printed("2026-11-20T06:00:00.25Z", -minutes{210}), "2026-11-20T02:30:00.250-03:30");
    EXPECT_EQ(printed("2026-12-31T23:30:00Z", minutes{345}), "2027-01-01T05:15:00+05:45");
    // Paris before 1911: 9 minutes and 21 seconds.
    EXPECT_EQ(printed("1900-01-01T00:00:00Z", std::chrono::seconds{561}),
              "1900-01-01T00:09:00+00:09");
}

TEST(Rfc3339, OfAnyYearReadsThePast) {
    EXPECT_TRUE(parse_rfc3339("1900-02-20T16:45:59-05:00").has_error());
    const auto past = parse_rfc3339_of_any_year("1900-02-20T16:45:59-05:00");
    ASSERT_TRUE(past.has_value());
    EXPECT_EQ(format_rfc3339(*past), "1900-02-20T21:45:59.000Z");
    EXPECT_TRUE(parse_rfc3339_of_any_year("0000-01-01T00:00:00Z").has_error());
}

TEST(Rfc3339, RejectsWithTheColumn) {
    const struct {
        const char* text;
        std::size_t column;
    } cases[] = {{"", 0},
                 {"tomorrow", 0},
                 {"2026-11-20", 10},
                 {"2026-11-20T06:00:00", 19},
                 {"2026-11-20T06:00Z", 16},
                 {"2026-02-30T00:00:00Z", 0},
                 {"2026-11-20T24:00:00Z", 11},
                 {"1969-12-31T23:59:59Z", 0},
                 {"2026-11-20T06:00:00Zulu", 20},
                 {"2026-11-20T06:00:00.Z", 20},
                 {"2026-11-20T06:00:00+25:00", 25}};
    for (const auto& [text, column] : cases) {
        const auto parsed = parse_rfc3339(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_EQ(parsed.error().column, column) << text;
    }
}

}  // namespace
}  // namespace pawl::time
