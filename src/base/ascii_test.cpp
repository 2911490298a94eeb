#include "base/ascii.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

TEST(Ascii, OnlyItsLettersAndDigitsAreThem) {
    for (const char letter : {'0', '9', 'a', 'z', 'A', 'Z'})
        EXPECT_TRUE(is_alphanumeric(letter)) << letter;
    for (const char other : {'/', ':', '@', '[', '`', '{', '\0', '\xe4', '\xff'})
        EXPECT_FALSE(is_alphanumeric(other)) << other;
    EXPECT_TRUE(is_digit('0') && !is_digit('a') && is_letter('a') && !is_letter('0'));
}

TEST(Ascii, OtherBytesHaveNoCase) {
    EXPECT_EQ(lower("AZaz09@[\xc3\x84"), "azaz09@[\xc3\x84");
    EXPECT_TRUE(equals_ignoring_case("Bearer ", "bEARER "));
    EXPECT_TRUE(equals_ignoring_case("", ""));
    EXPECT_FALSE(equals_ignoring_case("a", "aa"));
    EXPECT_FALSE(equals_ignoring_case("@", "`"));
    EXPECT_FALSE(equals_ignoring_case("\xc4", "\xe4"));
}

TEST(Ascii, BlanksGoFromBothEnds) {
    EXPECT_EQ(trimmed(" \ta b\t "), "a b");
    EXPECT_EQ(trimmed("a"), "a");
    EXPECT_EQ(trimmed(" \t"), "");
    EXPECT_EQ(trimmed("a\n"), "a\n");
}

}  // namespace
}  // namespace pawl::base
