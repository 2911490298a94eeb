// What a redlock URL says, and what is wrong with one.
#include "assembly/engines.hpp"

#include <pawl/errors.hpp>

#include <gtest/gtest.h>

#include <string>

namespace pawl::assembly {
namespace {

using namespace std::chrono_literals;

std::string rejection_of(const std::string& url) {
    try {
        plan_store(url);
    } catch (const option_error& why) {
        return why.what();
    }
    return {};
}

TEST(PlanRedlock, TakesTwoToFifteenDifferentNodes) {
    EXPECT_EQ(rejection_of("redlock://a,b,c:7000/3?tls=on"), "");
    EXPECT_EQ(rejection_of("redlock://user:secret@a,a:7000"), "");
    EXPECT_NE(rejection_of("redlock://a").find("for one there is redis"), std::string::npos);
    EXPECT_NE(rejection_of("redlock://a,b,a").find("a:6379 is named twice"), std::string::npos);
    EXPECT_NE(rejection_of("redlock://a,b,a:6379").find("named twice"), std::string::npos);
    std::string sixteen = "redlock://h0";
    for (int i = 1; i < 16; ++i) sixteen += ",h" + std::to_string(i);
    EXPECT_NE(rejection_of(sixteen).find("2 to 15"), std::string::npos);
}

TEST(PlanRedlock, NamesWhatItDoesNotKnow) {
    EXPECT_NE(rejection_of("redlock://a,b,c/x").find("integer from 0"), std::string::npos);
    EXPECT_NE(rejection_of("redlock://a,b,c?tls=maybe").find("off, on"), std::string::npos);
    EXPECT_NE(rejection_of("redlock://a,b,c?ca=x").find("'ca' is unknown"), std::string::npos);
    EXPECT_NE(rejection_of("redlock://a,b,c?tls=on&cert=x").find("go together"), std::string::npos);
}

// A node that lost its data is the one thing that Redlock cannot survive without it (rule 19).
TEST(PlanRedlock, QuarantineIsOnUnlessItIsTurnedOff) {
    EXPECT_EQ(plan_store("redlock://a,b,c").settings.quarantine, millis{60s});
    EXPECT_EQ(plan_store("redlock://a,b,c?quarantine=auto").settings.quarantine, millis{60s});
    EXPECT_EQ(plan_store("redlock://a,b,c?quarantine=5m").settings.quarantine, millis{5min});
    EXPECT_FALSE(plan_store("redlock://a,b,c?quarantine=off").settings.quarantine);
    EXPECT_FALSE(plan_store("memory:").settings.quarantine);
}

}  // namespace
}  // namespace pawl::assembly
