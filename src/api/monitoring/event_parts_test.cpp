#include "api/monitoring/event_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pawl::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EventParts, WhatIsLittleIsOnePart) {
    event_parts parts;
    EXPECT_THAT(parts.all(), IsEmpty());
    parts.add("{}");
    parts.add("[1]");
    EXPECT_THAT(parts.all(), ElementsAre("{},[1]"));
    EXPECT_FALSE(parts.is_too_much());
}

TEST(EventParts, APartEndsWithTheEntryThatFillsIt) {
    event_parts parts;
    const std::string half(event_bytes_max / 2, 'a');
    for (int i = 0; i < 5; ++i) parts.add(half);
    EXPECT_THAT(parts.all(), ElementsAre(half + "," + half, half + "," + half, half));
    for (const auto& one : parts.all()) EXPECT_LE(one.size(), event_bytes_max + 1);
}

// Nothing of it is kept either, whatever comes.
TEST(EventParts, BeyondTheBoundNoneIsTold) {
    event_parts parts;
    const std::string one(event_bytes_max, 'a');
    for (std::size_t bytes = 0; bytes < told_bytes_max; bytes += one.size()) parts.add(one);
    EXPECT_FALSE(parts.is_too_much());
    parts.add("1");
    EXPECT_TRUE(parts.is_too_much());
    parts.add("2");
    EXPECT_THAT(parts.all(), IsEmpty());
}

TEST(EventParts, WhatWasMissedIsTooMuch) {
    event_parts parts;
    parts.add("1");
    parts.miss();
    parts.add("2");
    EXPECT_TRUE(parts.is_too_much());
    EXPECT_THAT(parts.all(), IsEmpty());
}

}  // namespace
}  // namespace pawl::api
