#include "api/limits/lru_cache.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1'000s};

TEST(LruCache, WhatIsUsedStaysAndWhatIsIdleGoes) {
    lru_cache<int> some{10, millis{60s}};
    some.put("used", 1, start);
    some.put("idle", 2, start);
    EXPECT_NE(some.use("used", start + 59s), nullptr);
    EXPECT_EQ(some.use("idle", start + 60s), nullptr);
    ASSERT_NE(some.use("used", start + 118s), nullptr);
    EXPECT_EQ(*some.use("used", start + 118s), 1);
    EXPECT_EQ(some.use("used", start + 178s), nullptr);
    EXPECT_EQ(some.size(), 0u);
}

TEST(LruCache, ToLookIsNoUse) {
    lru_cache<int> some{10, millis{60s}};
    some.put("a", 1, start);
    EXPECT_NE(some.find("a", start + 59s), nullptr);
    EXPECT_EQ(some.find("a", start + 60s), nullptr);
}

TEST(LruCache, TheLongestIdleMakesWay) {
    lru_cache<int> some{3, millis{60s}};
    for (const char* one : {"a", "b", "c"}) some.put(one, 1, start);
    EXPECT_NE(some.use("a", start + 1s), nullptr);
    some.put("d", 1, start + 2s);
    EXPECT_EQ(some.size(), 3u);
    EXPECT_EQ(some.find("b", start + 2s), nullptr);
    for (const char* one : {"a", "c", "d"}) EXPECT_NE(some.find(one, start + 2s), nullptr) << one;
}

TEST(LruCache, ANewOneTakesThePlaceOfItsKey) {
    lru_cache<std::string> some{2, millis{60s}};
    some.put("a", "old", start);
    some.put("b", "other", start);
    some.put("a", "new", start + 1s);
    EXPECT_EQ(some.size(), 2u);
    EXPECT_EQ(*some.use("a", start + 1s), "new");
    EXPECT_EQ(*some.use("b", start + 1s), "other");
}

TEST(LruCache, WhatIsErasedIsGoneAndTheRestIsNot) {
    lru_cache<int> some{10, millis{60s}};
    for (int i = 0; i < 10; ++i) some.put(std::to_string(i), i, start);
    EXPECT_TRUE(some.erase("3"));
    EXPECT_FALSE(some.erase("3"));
    some.erase_if([](int value) { return value % 2 == 0; });
    EXPECT_EQ(some.size(), 4u);
    for (const char* one : {"1", "5", "7", "9"}) EXPECT_NE(some.find(one, start), nullptr) << one;
    EXPECT_EQ(some.find("4", start), nullptr);
}

}  // namespace
}  // namespace pawl::api
