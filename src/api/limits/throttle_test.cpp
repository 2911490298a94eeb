#include "api/limits/throttle.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1'000s};
constexpr throttle_rules rules{
    .free_tries = 3, .first_wait = 1s, .wait_max = 60s, .half_life = 10min, .subjects_max = 100};

void fail(throttle& one, const std::string& who, int times, instant now) {
    for (int i = 0; i < times; ++i) one.add_failure(who, now);
}

TEST(Throttle, TheFirstTriesAreFree) {
    throttle one{rules};
    EXPECT_EQ(one.wait_of("a", start), 0ms);
    fail(one, "a", 3, start);
    EXPECT_EQ(one.wait_of("a", start), 0ms);
    fail(one, "a", 1, start);
    EXPECT_EQ(one.wait_of("a", start), 1s);
    EXPECT_EQ(one.wait_of("b", start), 0ms);
}

TEST(Throttle, EachFurtherFailureDoublesTheWaitUpToItsBound) {
    throttle one{rules};
    fail(one, "a", 3, start);
    for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s}) {
        fail(one, "a", 1, start);
        EXPECT_EQ(one.wait_of("a", start), wait);
    }
    fail(one, "a", 10'000, start);
    EXPECT_EQ(one.wait_of("a", start), 60s);
}

TEST(Throttle, TheWaitPasses) {
    throttle one{rules};
    fail(one, "a", 5, start);
    EXPECT_EQ(one.wait_of("a", start), 2s);
    EXPECT_EQ(one.wait_of("a", start + 500ms), 1500ms);
    EXPECT_EQ(one.wait_of("a", start + 2s - 1ns), 1ms);
    EXPECT_EQ(one.wait_of("a", start + 2s), 0ms);
    // To have waited is not to be forgiven.
    fail(one, "a", 1, start + 2s);
    EXPECT_EQ(one.wait_of("a", start + 2s), 4s);
}

TEST(Throttle, SilenceMakesForgottenByHalves) {
    throttle one{rules};
    fail(one, "a", 8, start);
    fail(one, "a", 1, start + 10min);  // 4 and this
    EXPECT_EQ(one.wait_of("a", start + 10min), 2s);
    fail(one, "a", 1, start + 29min);  // 2 and this
    EXPECT_EQ(one.wait_of("a", start + 29min), 0ms);
    fail(one, "a", 3, start + 29min + 24h);
    EXPECT_EQ(one.wait_of("a", start + 29min + 24h), 0ms);
}

// A user who tries whenever they may is not forgotten: at most one try in each longest wait.
TEST(Throttle, SteadyGuessingGetsOneTryInEachLongestWait) {
    throttle one{rules};
    int tries = 0;
    for (auto now = start; now < start + 24h; now += 1s) {
        if (one.wait_of("a", now) > 0ms) continue;
        one.add_failure("a", now);
        ++tries;
    }
    EXPECT_LE(tries, 24 * 60 + 10);
    EXPECT_GE(tries, 24 * 60 - 10);
}

TEST(Throttle, ForgivenIsForgotten) {
    throttle one{rules};
    fail(one, "a", 9, start);
    one.forgive("a");
    one.forgive("nobody");
    EXPECT_EQ(one.wait_of("a", start), 0ms);
    EXPECT_EQ(one.size(), 0u);
}

TEST(Throttle, ManySubjectsTakeNoMoreRoomAndTheWorstIsNotForgotten) {
    throttle one{rules};
    fail(one, "worst", 9, start);
    for (int i = 0; i < 10'000; ++i)
        one.add_failure(std::to_string(i), start + std::chrono::milliseconds{i});
    EXPECT_EQ(one.size(), 100u);
    EXPECT_EQ(one.wait_of("worst", start), 32s);
}

}  // namespace
}  // namespace pawl::api
