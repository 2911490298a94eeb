#include "metrics/label_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::metrics {
namespace {

constexpr const char* unknown = "\xEF\xBF\xBD";

TEST(LabelText, WellFormedTextStaysAsItIs) {
    for (const std::string text : {"", "job/a", "a \"b\" \\ \n c", "caf\xC3\xA9", "\xE2\x82\xAC",
                                   "\xED\x9F\xBF", "\xF0\x9F\x90\x8A", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(label_text(text), text);
}

// Overlong forms, surrogates, what is beyond U+10FFFF, lone and missing continuation bytes.
TEST(LabelText, EveryByteThatIsNoTextIsReplaced) {
    const std::string mark = unknown;
    EXPECT_EQ(label_text("a\xFF"), "a" + mark);
    EXPECT_EQ(label_text("\x80z"), mark + "z");
    EXPECT_EQ(label_text("\xC0\xAF"), mark + mark);
    EXPECT_EQ(label_text("\xE0\x80\xAF"), mark + mark + mark);
    EXPECT_EQ(label_text("\xED\xA0\x80"), mark + mark + mark);
    EXPECT_EQ(label_text("\xF4\x90\x80\x80"), mark + mark + mark + mark);
    EXPECT_EQ(label_text("\xF0\x80\x80\x80"), mark + mark + mark + mark);
    EXPECT_EQ(label_text("end \xC3"), "end " + mark);
    EXPECT_EQ(label_text("\xE2\x82"), mark + mark);
    EXPECT_EQ(label_text("\xE2\x28\xA1"), mark + "(" + mark);
}

}  // namespace
}  // namespace pawl::metrics
