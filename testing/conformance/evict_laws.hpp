// Rule 5: an eviction burns the token that was shown, and gives its holder time to stop.
#pragma once

#include "testing/conformance/store_fixture.hpp"

namespace pawl::conformance {

TYPED_TEST_P(StoreLaws, AnEvictionKeepsTheKeyHeldByNobodyForItsDelay) {
    auto mine = this->open();
    auto operators = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_TRUE(yes(operators.evict("key", token, 30s)));
    const auto told = mine.refused(fresh_claim("key"));
    EXPECT_EQ(number(told.holder), 0u);
    EXPECT_EQ(told.reason, busy_reason::lingering);
    EXPECT_GT(told.remaining, 20s);
    EXPECT_LE(told.remaining, 30s);
    EXPECT_GT(operators.show("key").last_token, token);
}

TYPED_TEST_P(StoreLaws, TheDelayOfAnEvictionNeverOutlastsTheLease) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 20s));
    EXPECT_TRUE(yes(mine.evict("key", token, 10min)));
    EXPECT_LE(mine.refused(fresh_claim("key")).remaining, 20s);
}

TYPED_TEST_P(StoreLaws, AnEvictionWithoutDelayFreesAtOnce) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_TRUE(yes(mine.evict("key", token, 0ms)));
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), number(token) + 1);
}

// Goal: the evicted holder is powerless. Method: it renews, extends, releases as done and is
// evicted again.
TYPED_TEST_P(StoreLaws, AnEvictedHolderChangesNothing) {
    auto mine = this->open();
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    EXPECT_TRUE(yes(mine.evict("key", token, 30s)));
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", token)), renewal::lost);
    farewell done;
    done.done = firing(-1s);
    EXPECT_FALSE(yes(mine.release("key", token, done)));
    EXPECT_FALSE(yes(mine.evict("key", token, 0ms)));
    EXPECT_FALSE(yes(mine.withdraw({"key", wanted.id})));
    EXPECT_EQ(mine.refused(wanted).reason, busy_reason::lingering);
    EXPECT_EQ(mine.show("key").last_done, std::nullopt);
    EXPECT_GT(mine.show("key").remaining, 20s);
}

// Goal: who has seen the holder dead need not wait for what is left of its lease. Method: a key in
// cooldown, after an eviction and after a release, is evicted by its newest token without delay.
TYPED_TEST_P(StoreLaws, ACooldownIsEndedByTheNewestToken) {
    auto mine = this->open();
    const auto evicted = mine.granted(fresh_claim("evicted", 60s));
    EXPECT_TRUE(yes(mine.evict("evicted", evicted, 50s)));
    EXPECT_FALSE(yes(mine.evict("evicted", evicted, 0ms)));
    EXPECT_FALSE(yes(mine.evict("evicted", fence_token{}, 0ms)));
    const auto burnt = mine.show("evicted").last_token;
    EXPECT_TRUE(yes(mine.evict("evicted", burnt, 0ms)));
    EXPECT_GT(mine.show("evicted").last_token, burnt);
    EXPECT_GT(mine.granted(fresh_claim("evicted")), burnt);

    const auto released = mine.granted(fresh_claim("released", 60s));
    farewell how;
    how.at_least = 50s;
    EXPECT_TRUE(yes(mine.release("released", released, how)));
    EXPECT_EQ(mine.refused(fresh_claim("released")).reason, busy_reason::lingering);
    EXPECT_TRUE(yes(mine.evict("released", released, 0ms)));
    EXPECT_GT(mine.granted(fresh_claim("released")), released);
}

// Goal: a forced release that was meant for a holder leaves the minimum hold time alone which that
// has asked for in ending. Method: with a delay, by the newest token.
TYPED_TEST_P(StoreLaws, AnEvictionWithADelayLeavesACooldownAlone) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    farewell how;
    how.at_least = 50s;
    EXPECT_TRUE(yes(mine.release("key", token, how)));
    EXPECT_FALSE(yes(mine.evict("key", token, 1ms)));
    EXPECT_FALSE(yes(mine.evict("key", fence_token{}, 1ms)));
    EXPECT_GT(mine.refused(fresh_claim("key")).remaining, 30s);
    EXPECT_EQ(mine.show("key").last_token, token);
}

TYPED_TEST_P(StoreLaws, AnEvictionOfAnotherTokenChangesNothing) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    for (const auto wrong : {number(token) - 1, number(token) + 1, std::uint64_t{0}})
        EXPECT_FALSE(yes(mine.evict("key", fence_token{wrong}, 0ms)));
    EXPECT_FALSE(yes(mine.evict("unknown", token, 0ms)));
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.show("key").last_token, token);
}

}  // namespace pawl::conformance
