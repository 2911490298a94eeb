#include "time/http_date.hpp"

#include <gtest/gtest.h>

namespace pawl::time {
namespace {

TEST(HttpDate, IsReadAsSecondsSinceTheEpoch) {
    EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), std::chrono::seconds{784111777});
    EXPECT_EQ(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), std::chrono::seconds{0});
    EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 23:59:60 GMT"), std::chrono::seconds{1709251200});
}

TEST(HttpDate, IsWrittenAsItIsRead) {
    const auto at = [](std::int64_t seconds) {
        return format_http_date(wall_instant{std::chrono::seconds{seconds}});
    };
    EXPECT_EQ(at(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(at(1'709'164'800), "Thu, 29 Feb 2024 00:00:00 GMT");
}

TEST(HttpDate, AnyOtherTextIsNone) {
    for (const auto* text : {"", "now", "Sunday, 06-Nov-94 08:49:37 GMT",
                             "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 CET",
                             "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
                             "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 ovD 1994 08:49:37 GMT"})
        EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pawl::time
