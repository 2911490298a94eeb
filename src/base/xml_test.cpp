#include "base/xml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::base {
namespace {

using ::testing::ElementsAre;

TEST(Xml, TheTextOfAnElementIsFound) {
    constexpr auto* xml =
        "<?xml version=\"1.0\"?><List xmlns=\"http://x\"><Contents><Key>a&amp;b</Key><ETag>"
        "&quot;1&quot;</ETag></Contents><Contents><Key>&#99;&#x64;&lt;</Key></Contents>"
        "<IsTruncated>false</IsTruncated></List>";
    EXPECT_EQ(text_in(xml, "Key"), "a&b");
    EXPECT_EQ(text_in(xml, "ETag"), "\"1\"");
    EXPECT_EQ(text_in(xml, "IsTruncated"), "false");
    EXPECT_EQ(text_in(xml, "Contents"), "<Key>a&b</Key><ETag>\"1\"</ETag>");
    EXPECT_EQ(text_in(xml, "Cont"), "");
    const auto each = elements_in(xml, "Contents");
    ASSERT_EQ(each.size(), 2U);
    EXPECT_EQ(text_in(each[1], "Key"), "cd<");
}

TEST(Xml, WhatIsNotWholeIsEmpty) {
    for (const auto* xml : {"", "<", "<Key", "<Key>", "<Key>text", "<Key>text</Ke", "text</Key>"}) {
        EXPECT_EQ(text_in(xml, "Key"), "") << xml;
        EXPECT_THAT(elements_in(xml, "Key"), ElementsAre()) << xml;
    }
    EXPECT_EQ(text_in("<Key>a & b &unknown; &</Key>", "Key"), "a & b &unknown; &");
}

}  // namespace
}  // namespace pawl::base
