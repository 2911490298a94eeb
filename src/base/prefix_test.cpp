#include "base/prefix.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

TEST(Prefix, EndsWhereNoStringStartsWithItAnyMore) {
    EXPECT_EQ(end_of_prefix("lock/a"), "lock/b");
    EXPECT_EQ(end_of_prefix("lock/"), "lock0");
    EXPECT_EQ(end_of_prefix("lock/\xff\xff"), "lock0");
    EXPECT_EQ(end_of_prefix("\x7f"), "\x80");
}

TEST(Prefix, OfTheHighestBytesHasNoEnd) {
    EXPECT_EQ(end_of_prefix(""), std::nullopt);
    EXPECT_EQ(end_of_prefix("\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace pawl::base
