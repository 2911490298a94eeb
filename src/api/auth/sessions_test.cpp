#include "api/auth/sessions.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1'000s};

session of(const std::string& name) {
    session one;
    one.who.name = name;
    one.csrf = "csrf of " + name;
    return one;
}

TEST(Sessions, AreKnownByTheirIdOnly) {
    sessions all;
    all.open("id", of("alice"), start);
    ASSERT_NE(all.use("id", start), nullptr);
    EXPECT_EQ(all.use("id", start)->who.name, "alice");
    EXPECT_EQ(all.use("id", start)->csrf, "csrf of alice");
    EXPECT_EQ(all.use("i", start), nullptr);
    EXPECT_EQ(all.use("", start), nullptr);
}

TEST(Sessions, EndWhenTheyAreIdle) {
    sessions all;
    all.open("used", of("a"), start);
    all.open("idle", of("b"), start);
    EXPECT_NE(all.use("used", start + 29min), nullptr);
    EXPECT_EQ(all.use("idle", start + 30min), nullptr);
    EXPECT_NE(all.use("used", start + 58min), nullptr);
    EXPECT_EQ(all.use("used", start + 88min), nullptr);
}

TEST(Sessions, EndAfterHalfADayHoweverOftenTheyAreUsed) {
    sessions all;
    all.open("id", of("a"), start);
    auto now = start;
    for (; now < start + 12h - 10min; now += 10min) ASSERT_NE(all.use("id", now), nullptr);
    ASSERT_NE(all.use("id", start + 12h - 1ns), nullptr);
    EXPECT_EQ(all.use("id", start + 12h), nullptr);
    EXPECT_EQ(all.size(), 0u);
}

TEST(Sessions, TellTheSoonerOfTheirEnds) {
    sessions all;
    const auto& one = all.open("id", of("a"), start);
    EXPECT_EQ(all.end_of(one, start), start + 30min);
    EXPECT_EQ(all.end_of(one, start + 11h), start + 11h + 30min);
    EXPECT_EQ(all.end_of(one, start + 11h + 40min), start + 12h);
}

std::string user_of(int i) { return "user " + std::to_string(i); }

TEST(Sessions, TheLongestIdleOfAThousandMakesWay) {
    sessions all;
    for (int i = 0; i < 1'000; ++i)
        all.open(std::to_string(i), of(user_of(i)), start + std::chrono::milliseconds{i});
    EXPECT_NE(all.use("0", start + 2s), nullptr);
    all.open("new", of("b"), start + 3s);
    EXPECT_EQ(all.size(), 1'000u);
    EXPECT_EQ(all.use("1", start + 3s), nullptr);
    EXPECT_NE(all.use("0", start + 3s), nullptr);
    EXPECT_NE(all.use("2", start + 3s), nullptr);
    EXPECT_NE(all.use("new", start + 3s), nullptr);
}

// Goal: a viewer who logs in for ever ends no session but their own. At 7a8108b the 1,001st
// ended the admin's.
TEST(Sessions, AUserThatLogsInTooOftenEndsTheirOwn) {
    sessions all;
    all.open("admin", of("root"), start);
    for (int i = 0; i < 1'500; ++i)
        all.open(std::to_string(i), of("vera"), start + 1s + std::chrono::milliseconds{i});
    EXPECT_EQ(all.size(), 21u);
    EXPECT_NE(all.use("admin", start + 3s), nullptr);
    EXPECT_EQ(all.use("1479", start + 3s), nullptr);
    EXPECT_NE(all.use("1480", start + 3s), nullptr);
    EXPECT_NE(all.use("1499", start + 3s), nullptr);
}

// Many users with many sessions each do not push out one with one.
TEST(Sessions, WhereThereAreTooManyOneOfTheUserWithTheMostMakesWay) {
    sessions all;
    all.open("admin", of("root"), start);
    for (int i = 0; i < 2'000; ++i)
        all.open(std::to_string(i), of(user_of(i % 100)), start + std::chrono::milliseconds{i});
    EXPECT_EQ(all.size(), 1'000u);
    EXPECT_NE(all.use("admin", start + 3s), nullptr);
    EXPECT_NE(all.use("1999", start + 3s), nullptr);
}

TEST(Sessions, EndWhenTheyAreClosed) {
    sessions all;
    all.open("1", of("a"), start);
    all.open("2", of("b"), start);
    all.open("3", of("a"), start);
    EXPECT_TRUE(all.close("1"));
    EXPECT_FALSE(all.close("1"));
    EXPECT_EQ(all.use("1", start), nullptr);
    all.close_if([](const session& one) { return one.who.name == "a"; });
    EXPECT_EQ(all.use("3", start), nullptr);
    EXPECT_NE(all.use("2", start), nullptr);
}

}  // namespace
}  // namespace pawl::api
