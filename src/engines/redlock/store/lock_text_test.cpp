// What one node's record says, and what several say together.
#include "engines/redlock/store/lock_text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::redlock {
namespace {

using namespace std::chrono_literals;
using phase = node_record::phase;

std::optional<node_record> holds(std::uint64_t token, millis remaining = 10s) {
    node_record one;
    one.at = phase::confirmed;
    one.holder = one.last = fence_token{token};
    one.remaining = remaining;
    one.owner = "owner";
    return one;
}
std::optional<node_record> let_go(std::uint64_t last, millis cooldown = 0ms) {
    node_record one;
    one.last = fence_token{last};
    one.remaining = cooldown;
    return one;
}
const std::optional<node_record> nothing{};

using seen = std::vector<std::optional<node_record>>;

TEST(LockText, ARecordIsReadFieldByField) {
    const auto read = parse_record(
        "1 0000000000000700 0000000000005500 0000000000000700 0000000000000600 c w 42 x,y id a1 "
        "me on host",
        3000);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->at, phase::confirmed);
    EXPECT_EQ(read->holder, fence_token{700});
    EXPECT_EQ(read->last, fence_token{700});
    EXPECT_EQ(read->remaining, 3ms);  // 2.5 ms, rounded up
    EXPECT_EQ(read->done, occurrence{42});
    EXPECT_EQ(read->id, "id");
    EXPECT_EQ(read->owner, "me on host");
}

TEST(LockText, WhatIsNoRecordIsNone) {
    for (const auto* text : {"", "2 1 1 1 1 c - - - i a o", "1 x 1 1 1 c - - - i a o",
                             "1 1 1 1 1 q - - - i a o", "not ours", "1 -1 1 1 1 c - - - i a o"})
        EXPECT_FALSE(parse_record(text, 0)) << text;
}

TEST(LockText, HeldIsWhatAMajorityHolds) {
    const auto all = merge("key", seen{holds(7, 5s), holds(7, 9s), nothing}, 3, 2);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->holder, fence_token{7});
    EXPECT_EQ(all->remaining, 5s);  // then one is left
    EXPECT_EQ(all->owner, "owner");
    EXPECT_EQ(all->last_token, fence_token{7});
    EXPECT_EQ(number(merge("key", seen{holds(7), nothing, nothing}, 3, 2)->holder), 0u);
}

// Goal: a node that missed the release does not make the key look held, and one that missed the
// grant does not make it look free, while the third is silent.
TEST(LockText, WithoutAMajorityTheNodeThatHasSeenMostDecides) {
    EXPECT_EQ(number(merge("key", seen{let_go(7), holds(7)}, 3, 2)->holder), 0u);
    EXPECT_EQ(number(merge("key", seen{let_go(8), holds(7)}, 3, 2)->holder), 0u);
    EXPECT_EQ(merge("key", seen{holds(7), nothing}, 3, 2)->holder, fence_token{7});
    EXPECT_EQ(merge("key", seen{holds(7), let_go(6)}, 3, 2)->holder, fence_token{7});
}

// An attempt that came to nothing was confirmed by one node, under a higher token.
TEST(LockText, AMajorityIsHeardEvenIfOneNodeHasAHigherToken) {
    const auto all = merge("key", seen{holds(7), holds(7), holds(9)}, 3, 2);
    EXPECT_EQ(all->holder, fence_token{7});
    EXPECT_EQ(all->last_token, fence_token{9});
}

TEST(LockText, ACooldownEndsWhenAMajorityIsFree) {
    const auto all = merge("key", seen{let_go(8, 4s), let_go(8, 2s), nothing}, 3, 2);
    EXPECT_EQ(number(all->holder), 0u);
    EXPECT_EQ(all->remaining, 2s);
}

TEST(LockText, AKeyThatWasOnlyPromisedHasNoRecord) {
    node_record promised;
    promised.at = phase::promised;
    promised.holder = fence_token{5};
    promised.remaining = 10s;
    EXPECT_FALSE(merge("key", seen{promised, nothing, nothing}, 3, 2));
}

TEST(LockText, SettledIsWhatMissingNodesCannotChange) {
    EXPECT_TRUE(is_settled(seen{holds(7), holds(7)}, 3, 2));
    // The third may have been renewed with the first.
    EXPECT_FALSE(is_settled(seen{holds(7, 60s), holds(7, 10s)}, 3, 2));
    EXPECT_TRUE(is_settled(seen{holds(7, 60s), holds(7, 10s), holds(7, 10s)}, 3, 2));
    EXPECT_TRUE(is_settled(seen{holds(7, 60'050ms), holds(7, 60s)}, 3, 2));
    EXPECT_TRUE(is_settled(seen{nothing, nothing}, 3, 2));
    EXPECT_TRUE(is_settled(seen{holds(7), nothing, nothing}, 3, 2));
    EXPECT_FALSE(is_settled(seen{holds(7), nothing}, 3, 2));
    EXPECT_FALSE(is_settled(seen{holds(7)}, 3, 2));
}

TEST(LockText, ATokenHasSixteenDigits) {
    EXPECT_EQ(digits_of(fence_token{0}), "0000000000000000");
    EXPECT_EQ(digits_of(fence_token{(std::uint64_t{1} << 53) - 1}), "9007199254740991");
}

}  // namespace
}  // namespace pawl::redlock
