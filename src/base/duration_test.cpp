#include "base/duration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::base {
namespace {

TEST(Duration, ReadsEveryUnitAndTheirCombinations) {
    const struct {
        const char* text;
        std::int64_t milliseconds;
    } cases[] = {{"0", 0},
                 {"0s", 0},
                 {"250ms", 250},
                 {"30s", 30'000},
                 {"5m", 300'000},
                 {"2h", 7'200'000},
                 {"1d", 86'400'000},
                 {"1h30m", 5'400'000},
                 {"1m5ms", 60'005},
                 {"2d3h4m5s6ms", 183'845'006},
                 {"3653d", 3653LL * 86'400'000}};
    for (const auto& [text, milliseconds] : cases)
        EXPECT_EQ(parse_duration(text).value().count(), milliseconds) << text;
}

TEST(Duration, RejectsWithTheColumnAndTheReason) {
    const struct {
        const char* text;
        std::size_t column;
        const char* says;
    } cases[] = {{"", 0, "expected a duration"},
                 {"s", 0, "expected a duration"},
                 {"30", 2, "unit is missing"},
                 {"5x", 1, "unknown unit 'x'"},
                 {"-5s", 0, "negative"},
                 {"1s1m", 3, "largest to the smallest"},
                 {"1s1s", 3, "each once"},
                 {"1.5s", 1, "unknown unit"},
                 {" 5s", 0, "expected a duration"},
                 {"5s ", 1, "unknown unit"},
                 {"3654d", 0, "10 years"},
                 {"3653d1ms", 5, "10 years"},
                 {"99999999999999999999s", 0, "10 years"},
                 {"5S", 1, "unknown unit 'S'"}};
    for (const auto& [text, column, says] : cases) {
        const auto parsed = parse_duration(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_EQ(parsed.error().column, column) << text;
        EXPECT_THAT(parsed.error().what, testing::HasSubstr(says)) << text;
    }
}

// Whatever is printed reads back as the same duration, in the fewest units.
TEST(Duration, PrintsWhatReadsBack) {
    for (std::int64_t count : {1LL, 999LL, 1000LL, 59'999LL, 60'000LL, 90'000LL, 3'600'001LL,
                               86'399'999LL, 183'845'006LL})
        EXPECT_EQ(parse_duration(format_duration(millis{count})).value().count(), count);
    EXPECT_EQ(format_duration(millis{90'000}), "1m30s");
    EXPECT_EQ(format_duration(millis{0}), "0s");
    EXPECT_EQ(format_duration(millis{-5}), "-5ms");
    EXPECT_EQ(format_duration(millis{-61'000}), "-1m1s");
    EXPECT_EQ(format_duration(millis::min()), "-" + format_duration(millis::max()));
}

}  // namespace
}  // namespace pawl::base
