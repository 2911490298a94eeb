#include "lease/turn_order.hpp"

#include <gtest/gtest.h>

namespace pawl::leasing {
namespace {

class TurnOrder : public testing::Test {
protected:
    void has_it(std::size_t owner) { order.seen(owner, last = fence_token{number(last) + 1}); }

    turn_order order;
    fence_token last{};
};

TEST_F(TurnOrder, WhoHasNeverHadItIsNext) {
    EXPECT_EQ(order.before_me(), 0u);
    has_it(7);
    has_it(8);
    EXPECT_EQ(order.before_me(), 0u);
}

TEST_F(TurnOrder, OthersComeFirstUntilTheyHaveHadIt) {
    has_it(7);
    has_it(8);
    order.mine();
    EXPECT_EQ(order.before_me(), 2u);
    has_it(8);
    EXPECT_EQ(order.before_me(), 1u);
    has_it(7);
    EXPECT_EQ(order.before_me(), 0u);
}

TEST_F(TurnOrder, ANewcomerOvertakesNone) {
    has_it(7);
    order.mine();
    for (std::size_t newcomer = 100; newcomer < 140; ++newcomer) has_it(newcomer);
    EXPECT_EQ(order.before_me(), 1u);
}

TEST_F(TurnOrder, OneTurnIsSeenOnceHoweverOftenItIsTold) {
    has_it(7);
    order.mine();
    has_it(8);
    for (int i = 0; i < 100; ++i) order.seen(8, last);
    EXPECT_EQ(order.before_me(), 1u);
}

TEST_F(TurnOrder, WhoDoesNotTakeItsTurnAnyMoreIsForgotten) {
    has_it(7);
    has_it(8);
    order.mine();
    int turns = 0;
    // 7 has gone; 8 and this process go on, and each waits for it for some time.
    do {
        has_it(8);
        order.mine();
    } while (order.before_me() == 2 && ++turns < 100);
    EXPECT_GT(turns, 10);
    EXPECT_LT(turns, 40);
    EXPECT_EQ(order.before_me(), 1u);
}

TEST_F(TurnOrder, OfVeryManyTheLatestAreKnown) {
    for (std::size_t owner = 1; owner <= 500; ++owner) has_it(owner);
    order.mine();
    EXPECT_EQ(order.before_me(), 63u);
}

}  // namespace
}  // namespace pawl::leasing
