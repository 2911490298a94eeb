// Rule 5: a forced release burns the token that was shown, and gives its holder time to stop.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(StoreLaws, AForcedReleaseKeepsTheKeyInCooldownForItsDelay) {
    auto mine = this->open();
    auto operators = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_TRUE(yes(operators.force_release("key", token, 30s)));
    const auto told = mine.rejected(fresh_claim("key"));
    EXPECT_EQ(number(told.holder), 0u);
    EXPECT_EQ(told.reason, busy_reason::cooldown);
    EXPECT_GT(told.remaining, 20s);
    EXPECT_LE(told.remaining, 30s);
    EXPECT_GT(operators.show("key").last_token, token);
}

TYPED_TEST_P(StoreLaws, TheDelayOfAForcedReleaseNeverOutlastsTheLease) {
    auto mine = this->open();
    for (const millis delay : {millis{10min}, millis::max()}) {
        const auto key = "key-" + std::to_string(delay.count());
        const auto token = mine.granted(fresh_claim(key, 20s));
        EXPECT_TRUE(yes(mine.force_release(key, token, delay)));
        const auto told = mine.rejected(fresh_claim(key));
        EXPECT_EQ(told.reason, busy_reason::cooldown);
        EXPECT_GT(told.remaining, 10s);
        EXPECT_LE(told.remaining, 20s);
    }
}

TYPED_TEST_P(StoreLaws, AForcedReleaseWithoutDelayFreesAtOnce) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_TRUE(yes(mine.force_release("key", token, 0ms)));
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), number(token) + 1);
}

// Goal: the force-released holder is powerless. Method: it renews, extends, releases as done and is
// force-released again.
TYPED_TEST_P(StoreLaws, AForceReleasedHolderChangesNothing) {
    auto mine = this->open();
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    EXPECT_TRUE(yes(mine.force_release("key", token, 30s)));
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", token)), renewal::lost);
    release_options done;
    done.done = occurrence_in(-1s);
    EXPECT_FALSE(yes(mine.release("key", token, done)));
    EXPECT_FALSE(yes(mine.force_release("key", token, 0ms)));
    EXPECT_FALSE(yes(mine.withdraw({"key", wanted.id})));
    EXPECT_EQ(mine.rejected(wanted).reason, busy_reason::cooldown);
    EXPECT_EQ(mine.show("key").last_done, std::nullopt);
    EXPECT_GT(mine.show("key").remaining, 20s);
}

// Goal: the cooldown of a forced release covers the renewal that it overtakes. Method: leases of
// which half has passed are renewed and force-released at the same moment, by clients of their own;
// where a renewal was answered as done, the key stays closed for what its holder trusts in.
TYPED_TEST_P(StoreLaws, AForcedReleaseCoversTheRenewalThatItOvertakes) {
    constexpr millis ttl{4'000};
    auto mine = this->open();
    auto operators = this->open();
    int renewed = 0;
    // Where the machine stood still, all leases may be over.
    for (int round = 0; round < 5 && renewed == 0; ++round) {
        std::vector<held_lease> leases;
        for (int i = 0; i < 24; ++i) {
            const auto key = "key-" + std::to_string(round) + "-" + std::to_string(i);
            leases.push_back(lease_of(key, mine.granted(fresh_claim(key, ttl)), ttl));
        }
        mine.pass(ttl / 2);
        for (std::size_t i = 0; i < leases.size(); ++i) {
            const auto& lease = leases[i];
            instant sent{};
            auto renewing = std::async(std::launch::async, [&] {
                // The renewal comes at another moment of the forced release each time.
                mine.pass(millis{static_cast<int>(i) % 6});
                sent = mine.now();
                return mine.renew(std::vector<held_lease>{lease});
            });
            // Some of them so late that the renewal is ahead, however late its thread begins.
            constexpr millis late[]{0ms, 2ms, 6ms, 30ms};
            operators.pass(late[i / 6]);
            EXPECT_TRUE(operators.force_release(lease.key, lease.token, 1min).has_value());
            const auto answers = value_of(renewing.get());
            if (answers.empty() || answers.front() != renewal::renewed) continue;
            ++renewed;
            // Some tell whole seconds.
            const auto closed = operators.show(lease.key).remaining + 1'100ms;
            EXPECT_GE(closed, sent + ttl - mine.now()) << lease.key;
        }
    }
    EXPECT_GT(renewed, 0);
}

// Goal: who has seen the holder dead need not wait for what is left of its lease. Method: a key in
// cooldown, after a forced release and after a release, is force-released by its newest token
// without delay.
TYPED_TEST_P(StoreLaws, ACooldownIsEndedByTheNewestToken) {
    auto mine = this->open();
    const auto force_released = mine.granted(fresh_claim("force-released", 60s));
    EXPECT_TRUE(yes(mine.force_release("force-released", force_released, 50s)));
    EXPECT_FALSE(yes(mine.force_release("force-released", force_released, 0ms)));
    EXPECT_FALSE(yes(mine.force_release("force-released", fence_token{}, 0ms)));
    const auto burnt = mine.show("force-released").last_token;
    EXPECT_TRUE(yes(mine.force_release("force-released", burnt, 0ms)));
    EXPECT_GT(mine.show("force-released").last_token, burnt);
    EXPECT_GT(mine.granted(fresh_claim("force-released")), burnt);

    const auto released = mine.granted(fresh_claim("released", 60s));
    release_options how;
    how.min_hold = 50s;
    EXPECT_TRUE(yes(mine.release("released", released, how)));
    EXPECT_EQ(mine.rejected(fresh_claim("released")).reason, busy_reason::cooldown);
    EXPECT_TRUE(yes(mine.force_release("released", released, 0ms)));
    EXPECT_GT(mine.granted(fresh_claim("released")), released);
}

// Goal: a forced release that was meant for a holder leaves the minimum hold time alone which that
// has asked for in ending. Method: with a delay, by the newest token.
TYPED_TEST_P(StoreLaws, AForcedReleaseWithADelayLeavesACooldownAlone) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    release_options how;
    how.min_hold = 50s;
    EXPECT_TRUE(yes(mine.release("key", token, how)));
    EXPECT_FALSE(yes(mine.force_release("key", token, 1ms)));
    EXPECT_FALSE(yes(mine.force_release("key", fence_token{}, 1ms)));
    EXPECT_GT(mine.rejected(fresh_claim("key")).remaining, 30s);
    EXPECT_EQ(mine.show("key").last_token, token);
}

TYPED_TEST_P(StoreLaws, AForcedReleaseOfAnotherTokenChangesNothing) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    for (const auto wrong : {number(token) - 1, number(token) + 1, std::uint64_t{0}})
        EXPECT_FALSE(yes(mine.force_release("key", fence_token{wrong}, 0ms)));
    EXPECT_FALSE(yes(mine.force_release("unknown", token, 0ms)));
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.show("key").last_token, token);
}

}  // namespace pawl::conformance
