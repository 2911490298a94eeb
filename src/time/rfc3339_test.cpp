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

TEST(Rfc3339, RefusesWithTheColumn) {
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
