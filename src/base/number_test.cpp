#include "base/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace pawl::base {
namespace {

TEST(Number, OnlyAWholeTextOfDigitsIsParsed) {
    EXPECT_EQ(parse_number<int>("0"), 0);
    EXPECT_EQ(parse_number<int>("007"), 7);
    EXPECT_EQ(parse_number<int>("-12"), -12);
    for (const auto* text : {"", "-", "+1", " 1", "1 ", "1x", "x1", "0x1", "1.0", "--1"})
        EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
    EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
    EXPECT_EQ(parse_number<unsigned>("-0"), std::nullopt);
}

TEST(Number, WhatDoesNotFitIsNone) {
    EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
    EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
    EXPECT_EQ(parse_number<std::int64_t>("-9223372036854775808"), INT64_MIN);
    EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
    EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(Number, OfRadix16TheLettersAreOfEitherCase) {
    EXPECT_EQ(parse_number<std::uint64_t>("fFfF", 16), 0xffffU);
    EXPECT_EQ(parse_number<std::int64_t>("-10", 16), -16);
    EXPECT_EQ(parse_number<std::int64_t>("0x10", 16), std::nullopt);
}

TEST(Number, BothEndsOfARangeAreWithinIt) {
    for (const auto* text : {"1", "5"}) EXPECT_TRUE(parse_number_within(text, 1, 5)) << text;
    for (const auto* text : {"0", "6", "-1", "", "5 "})
        EXPECT_FALSE(parse_number_within(text, 1, 5)) << text;
}

TEST(Number, TheFrontOfATextMayBeOne) {
    EXPECT_EQ(leading_number<int>("7.2.4"), 7);
    EXPECT_EQ(leading_number<int>("-7"), -7);
    for (const auto* text : {"", "-", "v7", " 7", "99999999999 "})
        EXPECT_EQ(leading_number<int>(text), std::nullopt) << text;
}

TEST(Number, TooLargeANumberIsToldFromNone) {
    const auto read = read_number<int>("12ab");
    EXPECT_EQ(read.value, 12);
    EXPECT_EQ(read.size, 2U);
    EXPECT_FALSE(read.out_of_range);
    const auto large = read_number<int>("99999999999ab");
    EXPECT_EQ(large.value, 0);
    EXPECT_EQ(large.size, 11U);
    EXPECT_TRUE(large.out_of_range);
    const auto none = read_number<int>("ab");
    EXPECT_EQ(none.size, 0U);
    EXPECT_FALSE(none.out_of_range);
}

TEST(Number, ZerosInFrontMakeNumbersSortAsText) {
    EXPECT_EQ(padded(0, 4), "0000");
    EXPECT_EQ(padded(42, 4), "0042");
    EXPECT_EQ(padded((std::uint64_t{1} << 53) - 1, 16), "9007199254740991");
    EXPECT_EQ(padded(UINT64_MAX, 20), "18446744073709551615");
}

}  // namespace
}  // namespace pawl::base
