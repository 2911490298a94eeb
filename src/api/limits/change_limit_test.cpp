#include "api/limits/change_limit.hpp"

#include <gtest/gtest.h>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

// Goal: a user who changes things in a loop writes so many entries of the audit an hour, delays
// no other user, and goes on after the hour.
TEST(ChangeLimit, AUserHasSoManyAnHour) {
    change_limit all;
    const instant begin{1h};
    EXPECT_EQ(all.wait_of("anna", begin), std::nullopt);
    for (std::size_t i = 0; i < changes_per_hour_max; ++i) {
        EXPECT_EQ(all.wait_of("anna", begin + 1s), std::nullopt);
        all.count("anna", begin + 1s * (i == 0 ? 0 : 1));
    }
    EXPECT_EQ(all.wait_of("anna", begin + 1s), millis{3'599'000});
    EXPECT_EQ(all.wait_of("ben", begin + 1s), std::nullopt);
    EXPECT_EQ(all.wait_of("anna", begin + 1h), std::nullopt);
    all.count("anna", begin + 1h);
    EXPECT_EQ(all.wait_of("anna", begin + 1h), std::nullopt);
}

}  // namespace
}  // namespace pawl::api
