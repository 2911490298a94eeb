// Rule 15: the guard at a resource, where the check and the memory of it are one step.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace pawl::conformance {

inline fence_result judged(client& by, const std::string& resource, std::uint64_t token,
                           fence_rule rule) {
    const auto answer = by.fence(resource, fence_token{token}, rule);
    if (answer.has_error()) ADD_FAILURE() << answer.error().detail;
    return answer.has_value() ? *answer : fence_result{};
}

TYPED_TEST_P(StoreLaws, AFenceThatRejectsOlderTokensLetsItsHolderWriteManyTimes) {
    auto mine = this->open();
    auto other = this->open();
    EXPECT_TRUE(judged(mine, "file", 10, fence_rule::reject_older).accepted);
    EXPECT_TRUE(judged(other, "file", 10, fence_rule::reject_older).accepted);
    EXPECT_TRUE(judged(other, "file", 20, fence_rule::reject_older).accepted);
    const auto stale = judged(mine, "file", 19, fence_rule::reject_older);
    EXPECT_FALSE(stale.accepted);
    EXPECT_EQ(stale.highest, fence_token{20});
    EXPECT_EQ(judged(mine, "file", 20, fence_rule::reject_older).highest, fence_token{20});
}

TYPED_TEST_P(StoreLaws, AFenceThatRejectsNotNewerTokensLetsOneEffectThrough) {
    auto mine = this->open();
    auto other = this->open();
    EXPECT_TRUE(judged(mine, "mail", 10, fence_rule::reject_not_newer).accepted);
    EXPECT_FALSE(judged(other, "mail", 10, fence_rule::reject_not_newer).accepted);
    EXPECT_FALSE(judged(other, "mail", 9, fence_rule::reject_not_newer).accepted);
    const auto newer = judged(other, "mail", 11, fence_rule::reject_not_newer);
    EXPECT_TRUE(newer.accepted);
    EXPECT_EQ(newer.highest, fence_token{11});
}

// Goal: fences are no leases. Method: a resource named like a key, and one in another namespace.
TYPED_TEST_P(StoreLaws, FencesAreSeparateFromLeasesAndFromOtherNamespaces) {
    auto mine = this->open();
    auto settings = this->settings();
    settings.name_space += ".x";
    auto elsewhere = this->open(settings);
    const auto token = number(mine.granted(fresh_claim("key")));
    EXPECT_TRUE(judged(mine, "key", 5, fence_rule::reject_older).accepted);
    EXPECT_TRUE(judged(mine, "key", token, fence_rule::reject_older).accepted);
    EXPECT_FALSE(judged(mine, "key", 5, fence_rule::reject_older).accepted);
    EXPECT_TRUE(judged(elsewhere, "key", 5, fence_rule::reject_older).accepted);
    EXPECT_EQ(number(mine.show("key").holder), token);
    EXPECT_EQ(mine.all("", 10).size(), 1u);
}

TYPED_TEST_P(StoreLaws, LargeTokensAreComparedExactly) {
    auto mine = this->open();
    const auto large = number(mine.granted(fresh_claim("key")));
    EXPECT_TRUE(judged(mine, "file", large, fence_rule::reject_not_newer).accepted);
    EXPECT_FALSE(judged(mine, "file", large - 1, fence_rule::reject_older).accepted);
    EXPECT_TRUE(judged(mine, "file", large + 1, fence_rule::reject_not_newer).accepted);
    EXPECT_FALSE(judged(mine, "file", large, fence_rule::reject_older).accepted);
}

// Goal: a number out of thin air must not close a resource for good. Method: the highest that a
// token may be, and one of an hour from now; what the store does issue passes afterwards.
TYPED_TEST_P(StoreLaws, AFenceRejectsATokenThatTheStoreCannotHaveIssued) {
    auto mine = this->open();
    const auto token = number(mine.granted(fresh_claim("key")));
    constexpr auto highest = (std::uint64_t{1} << 53) - 1;
    constexpr std::uint64_t hour{3'600'000'000};
    for (const auto invented : {highest, token + hour}) {
        for (const auto rule : {fence_rule::reject_older, fence_rule::reject_not_newer}) {
            const auto told = judged(mine, "file", invented, rule);
            EXPECT_FALSE(told.accepted);
            EXPECT_TRUE(told.never_issued);
            EXPECT_LT(number(told.highest), invented);
        }
    }
    EXPECT_TRUE(judged(mine, "file", token, fence_rule::reject_not_newer).accepted);
    const auto stale = judged(mine, "file", token - 1, fence_rule::reject_older);
    EXPECT_FALSE(stale.accepted);
    EXPECT_FALSE(stale.never_issued);
}

// Goal: the check and the memory are one step. Method: eight threads of two clients race through
// the same tokens; each token may pass once.
TYPED_TEST_P(StoreLaws, EachTokenPassesOnceHoweverManyRaceForIt) {
    constexpr std::size_t tokens = 60;
    auto first = this->open();
    auto second = this->open();
    std::array<std::atomic<int>, tokens + 1> passed{};
    {
        std::vector<std::jthread> racers;
        for (int i = 0; i < 8; ++i)
            racers.emplace_back([&, i] {
                auto& through = i % 2 == 0 ? first : second;
                for (std::size_t token = 1; token <= tokens; ++token) {
                    const auto answer =
                        judged(through, "mail", token, fence_rule::reject_not_newer);
                    if (answer.accepted) ++passed[token];
                    EXPECT_GE(number(answer.highest), token);
                }
            });
    }
    for (const auto& times : passed) EXPECT_LE(times, 1);
    EXPECT_EQ(passed[tokens], 1);
}

}  // namespace pawl::conformance
