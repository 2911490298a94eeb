// Rule 3: a renewal extends the live lease of its token, and does nothing else.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include <future>
#include <string>
#include <variant>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(StoreLaws, ARenewalMovesTheEndForward) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 10s));
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
    EXPECT_GT(mine.show("key").remaining, 50s);
    EXPECT_LE(mine.show("key").remaining, 60s);
    EXPECT_EQ(mine.show("key").holder, token);
}

TYPED_TEST_P(StoreLaws, AShorterRenewalNeverMovesTheEndBack) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(mine.renew(lease_of("key", token, 1s)), renewal::renewed);
    EXPECT_GT(mine.show("key").remaining, 50s);
}

// Goal: only the holder renews. Method: wrong, older, newer and empty tokens all are lost.
TYPED_TEST_P(StoreLaws, ARenewalUnderAnotherTokenIsLostAndChangesNothing) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 20s));
    for (const auto wrong : {number(token) - 1, number(token) + 1, std::uint64_t{0}}) {
        EXPECT_EQ(mine.renew(lease_of("key", fence_token{wrong}, 90s)), renewal::lost);
        EXPECT_EQ(mine.renew(extending("key", fence_token{wrong}, 90s)), renewal::lost);
    }
    EXPECT_LE(mine.show("key").remaining, 20s);
    EXPECT_EQ(mine.show("key").holder, token);
}

TYPED_TEST_P(StoreLaws, ARenewalNeverCreatesARecord) {
    auto mine = this->open();
    EXPECT_EQ(mine.renew(lease_of("key", fence_token{5})), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", fence_token{5})), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", fence_token{0})), renewal::lost);
    const auto seen = mine.inspect("key");
    EXPECT_TRUE(seen.has_value() && !seen->has_value());
}

TYPED_TEST_P(StoreLaws, AnExpiredLeaseIsLostThoughItsKeyIsFree) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 50ms));
    mine.let_expire("key", 50ms);
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::lost);
    EXPECT_EQ(number(mine.show("key").holder), 0u);
    EXPECT_EQ(mine.show("key").remaining, 0ms);
}

// Goal: renewal never revives what somebody else took. Method: take the key after its expiry, then
// renew under the old token, while it is held and after it was let go.
TYPED_TEST_P(StoreLaws, ARenewalNeverRevivesWhatAnotherTook) {
    auto mine = this->open();
    auto other = this->open();
    const auto expired = mine.granted(fresh_claim("key", 50ms));
    const auto taken = other.granted_in_the_end(fresh_claim("key", 30s));
    EXPECT_EQ(mine.renew(lease_of("key", expired)), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", expired)), renewal::lost);
    EXPECT_EQ(other.show("key").holder, taken);
    EXPECT_TRUE(other.release("key", taken).has_value());
    EXPECT_EQ(mine.renew(lease_of("key", expired)), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", expired)), renewal::lost);
    EXPECT_EQ(number(mine.show("key").holder), 0u);
}

TYPED_TEST_P(StoreLaws, AnExpiredLeaseMayContinueUnderItsTokenWhileItsKeyIsFree) {
    auto mine = this->open();
    auto other = this->open();
    const auto token = mine.granted(fresh_claim("key", 50ms));
    mine.let_expire("key", 50ms);
    EXPECT_EQ(mine.renew(extending("key", token)), renewal::renewed);
    EXPECT_EQ(other.rejected(fresh_claim("key")).holder, token);
}

// Goal: a holder that let go, or was made to, has nothing to extend. Method: release and
// force-release.
TYPED_TEST_P(StoreLaws, AReleasedOrForceReleasedLeaseCannotBeExtended) {
    auto mine = this->open();
    const auto released = mine.granted(fresh_claim("released"));
    EXPECT_TRUE(mine.release("released", released).has_value());
    EXPECT_EQ(mine.renew(extending("released", released)), renewal::lost);
    const auto force_released = mine.granted(fresh_claim("force-released"));
    EXPECT_TRUE(mine.force_release("force-released", force_released, 0ms).has_value());
    EXPECT_EQ(mine.renew(extending("force-released", force_released)), renewal::lost);
    EXPECT_EQ(number(mine.show("force-released").holder), 0u);
}

// Goal: a hung job does not keep its key for ever (rule 9). Method: renew for longer than the
// lifetime leaves, then past it.
TYPED_TEST_P(StoreLaws, TheLongestLifetimeBoundsRenewal) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 10s));
    auto lease = lease_of("key", token, 90s);
    lease.max_lifetime = 40s;
    EXPECT_EQ(mine.renew(lease), renewal::renewed);
    EXPECT_LE(mine.show("key").remaining, 40s);
    EXPECT_GT(mine.show("key").remaining, 10s);
    mine.pass(5ms);
    lease.max_lifetime = 1ms;
    lease.if_expired = expired_renewal::extend_if_unclaimed;
    EXPECT_EQ(mine.renew(lease), renewal::lost);
}

// Goal: one answer for each lease, in order. Method: a large batch of held, foreign and unknown
// leases, which last longer than it takes a busy machine to acquire them one by one.
TYPED_TEST_P(StoreLaws, ABatchIsAnsweredLeaseByLeaseInOrder) {
    auto mine = this->open();
    std::vector<held_lease> batch;
    std::vector<renewal> expected;
    for (int i = 0; i < 400; ++i) {
        const auto key = "batch/" + std::to_string(i * 7919 % 400);
        const auto token = mine.granted(fresh_claim(key, 60s));
        const bool mine_still = i % 3 != 1;
        batch.push_back(lease_of(key, mine_still ? token : fence_token{1}, 90s));
        expected.push_back(mine_still ? renewal::renewed : renewal::lost);
        if (i % 50 == 0) {
            batch.push_back(lease_of("unknown/" + std::to_string(i), token));
            expected.push_back(renewal::lost);
        }
    }
    const auto answers = mine.renew(batch);
    ASSERT_TRUE(answers.has_value());
    EXPECT_EQ(*answers, expected);
    EXPECT_GT(mine.show(batch.front().key).remaining, 60s);
}

TYPED_TEST_P(StoreLaws, AnEmptyBatchIsAnsweredByNothing) {
    auto mine = this->open();
    const auto answers = mine.renew(std::vector<held_lease>{});
    ASSERT_TRUE(answers.has_value());
    EXPECT_TRUE(answers->empty());
}

// Goal: one record that is out of reach ends no other lease (rule 11). Method: three leases, the
// middle one blocked, with a claim of its key under way over the same connections; several beats.
TYPED_TEST_P(StoreLaws, ARecordOutOfReachIsUnknownForItsOwnLeaseAlone) {
    if constexpr (!blocks_records<TypeParam>) {
        GTEST_SKIP() << "no record of this engine is out of reach by itself";
    } else {
        // Each beat waits for a part of its timeout.
        auto settings = this->settings();
        settings.timeout = 6s;
        auto mine = this->open(settings);
        auto other = this->open();
        EXPECT_TRUE(mine.inspect("a").has_value());  // and has a connection
        std::vector<held_lease> all;
        for (const auto* key : {"a", "b", "c"})
            all.push_back(lease_of(key, other.granted(fresh_claim(key, 30s)), 90s));
        auto blocked = this->engine().block(this->settings().name_space, "b");
        auto claiming =
            std::async(std::launch::async, [&] { return mine.acquire(fresh_claim("b")); });
        for (int beat = 0; beat < 3; ++beat) {
            const auto got = mine.renew(all);
            ASSERT_TRUE(got.has_value()) << got.error().detail;
            EXPECT_EQ(*got, (std::vector{renewal::renewed, renewal::unknown, renewal::renewed}));
        }
        EXPECT_GT(other.show("a").remaining, 60s);
        EXPECT_GT(other.show("c").remaining, 60s);
        blocked.reset();
        const auto claimed = claiming.get();
        EXPECT_TRUE(claimed.has_error() || std::holds_alternative<busy>(*claimed));
        const auto got = mine.renew(all);
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(*got, (std::vector{renewal::renewed, renewal::renewed, renewal::renewed}));
    }
}

}  // namespace pawl::conformance
