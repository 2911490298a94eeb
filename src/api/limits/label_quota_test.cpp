#include "api/limits/label_quota.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

// Goal: a user who invents names takes a part of the labels only, keeps those that they have, and
// has new ones after a day.
TEST(LabelQuota, AUserHasSoManyNamesADay) {
    label_quota all;
    const instant begin{1h};
    for (std::size_t i = 0; i < labels_of_user_max; ++i)
        EXPECT_TRUE(all.admit("ann", "name-" + std::to_string(i), begin));
    EXPECT_FALSE(all.admit("ann", "one more", begin));
    EXPECT_TRUE(all.admit("ann", "name-0", begin + 23h));
    EXPECT_TRUE(all.admit("ben", "one more", begin));
    EXPECT_FALSE(all.admit("ann", "one more", begin + 24h - 1ns));
    EXPECT_TRUE(all.admit("ann", "one more", begin + 24h));
}

}  // namespace
}  // namespace pawl::api
