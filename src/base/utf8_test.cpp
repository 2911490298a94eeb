#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::base {
namespace {

constexpr const char* unknown = "\xEF\xBF\xBD";

TEST(Utf8, WellFormedTextStaysAsItIs) {
    for (const std::string text : {"", "job/a", "a \"b\" \\ \n c", "caf\xC3\xA9", "\xE2\x82\xAC",
                                   "\xED\x9F\xBF", "\xF0\x9F\x90\x8A", "\xF4\x8F\xBF\xBF"}) {
        EXPECT_EQ(to_utf8(text), text);
        EXPECT_TRUE(is_utf8(text)) << text;
    }
}

// Overlong forms, surrogates, what is beyond U+10FFFF, lone and missing continuation bytes.
TEST(Utf8, EveryByteThatIsNoTextIsReplaced) {
    const std::string mark = unknown;
    EXPECT_EQ(to_utf8("a\xFF"), "a" + mark);
    EXPECT_EQ(to_utf8("\x80z"), mark + "z");
    EXPECT_EQ(to_utf8("\xC0\xAF"), mark + mark);
    EXPECT_EQ(to_utf8("\xE0\x80\xAF"), mark + mark + mark);
    EXPECT_EQ(to_utf8("\xED\xA0\x80"), mark + mark + mark);
    EXPECT_EQ(to_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);
    EXPECT_EQ(to_utf8("\xF0\x80\x80\x80"), mark + mark + mark + mark);
    EXPECT_EQ(to_utf8("end \xC3"), "end " + mark);
    EXPECT_EQ(to_utf8("\xE2\x82"), mark + mark);
    EXPECT_EQ(to_utf8("\xE2\x28\xA1"), mark + "(" + mark);
    for (const std::string text : {"a\xFF", "\x80z", "\xC0\xAF", "end \xC3", "\xED\xA0\x80"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

}  // namespace
}  // namespace pawl::base
