// Rules 1 and 2: who is granted a key, under which token, and what the others are told.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include "time/clocks.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::conformance {

inline std::int64_t wall_micros() { return time::wall_now().time_since_epoch().count(); }

// Goal: a grant is visible to others at once. Method: claim through one client, look through
// another.
TYPED_TEST_P(StoreLaws, AFreeKeyIsGrantedAndItsRecordSaysSo) {
    auto mine = this->open();
    auto other = this->open();
    const auto before = wall_micros() / 1000;
    const auto token = mine.granted(fresh_claim("key", 30s, "host:1"));
    const auto seen = other.show("key");
    EXPECT_EQ(seen.key, "key");
    EXPECT_EQ(seen.owner, "host:1");
    EXPECT_EQ(seen.holder, token);
    EXPECT_EQ(seen.last_token, token);
    EXPECT_GT(seen.remaining, 20s);
    EXPECT_LE(seen.remaining, 30s);
    EXPECT_NEAR(static_cast<double>(seen.acquired_at), static_cast<double>(before), 10'000.0);
    EXPECT_EQ(seen.last_done, std::nullopt);
}

TYPED_TEST_P(StoreLaws, AnUnknownKeyHasNoRecord) {
    auto mine = this->open();
    const auto seen = mine.inspect("nothing");
    ASSERT_TRUE(seen.has_value());
    EXPECT_FALSE(seen->has_value());
}

// Goal: the answer to a claim may be lost and asked for again. Method: repeat it with a longer,
// then with a shorter TTL: the end moves forward, never back.
TYPED_TEST_P(StoreLaws, ARepeatedClaimReturnsTheSameGrantAndMovesItsEndForwardOnly) {
    auto mine = this->open();
    auto wanted = fresh_claim("key", 30s);
    const auto token = mine.granted(wanted);
    wanted.ttl = 90s;
    EXPECT_EQ(mine.granted(wanted), token);
    EXPECT_GT(mine.show("key").remaining, 60s);
    wanted.ttl = 10s;
    EXPECT_EQ(mine.granted(wanted), token);
    EXPECT_GT(mine.show("key").remaining, 60s);
}

TYPED_TEST_P(StoreLaws, ARepeatedClaimThroughAnotherClientReturnsTheSameGrant) {
    auto mine = this->open();
    auto again = this->open();
    const auto wanted = fresh_claim("key");
    const auto token = mine.granted(wanted);
    EXPECT_EQ(again.granted(wanted), token);
}

// Goal: a claim id is worth nothing once its lease is over. Method: let it expire and repeat it.
TYPED_TEST_P(StoreLaws, ARepeatedClaimWhoseLeaseRanOutGetsANewToken) {
    auto mine = this->open();
    auto wanted = fresh_claim("key", 50ms);
    const auto token = mine.granted(wanted);
    mine.let_expire("key", 50ms);
    EXPECT_GT(mine.granted(wanted), token);
}

TYPED_TEST_P(StoreLaws, AnotherClaimIsToldWhoHoldsTheKeyAndForHowLong) {
    auto mine = this->open();
    auto other = this->open();
    const auto token = mine.granted(fresh_claim("key", 30s, "host:1"));
    const auto told = other.rejected(fresh_claim("key", 30s, "host:2"));
    EXPECT_EQ(told.holder, token);
    EXPECT_EQ(told.owner, "host:1");
    EXPECT_EQ(told.reason, busy_reason::held);
    EXPECT_GT(told.remaining, 20s);
    EXPECT_LE(told.remaining, 30s);
}

// Goal: the owner is for people, the claim id decides. Method: claim twice under one owner.
TYPED_TEST_P(StoreLaws, TheSameOwnerUnderAnotherIdIsBusy) {
    auto mine = this->open();
    mine.granted(fresh_claim("key", 30s, "host:1"));
    EXPECT_EQ(mine.rejected(fresh_claim("key", 30s, "host:1")).owner, "host:1");
}

// Goal: exclusion by time. Method: count from before the first request to after the second grant,
// which can only be more than what the store saw.
TYPED_TEST_P(StoreLaws, ALeaseEndsAfterItsTimeToLiveAndNotBefore) {
    auto mine = this->open();
    auto other = this->open();
    const auto first = fresh_claim("key", 300ms);
    const auto sent = lease_clock::now();
    mine.granted(first);
    other.granted_in_the_end(fresh_claim("key"));
    EXPECT_GE(lease_clock::now() - sent, 300ms);
}

TYPED_TEST_P(StoreLaws, TheShortestLeaseOfTheStoreIsGranted) {
    auto mine = this->open();
    const auto ttl = std::max(mine.traits().ttl_min, 1ms);
    EXPECT_GT(number(mine.granted(fresh_claim("key", ttl))), 0u);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("key"))), 0u);
}

TYPED_TEST_P(StoreLaws, KeysAndNamespacesAreSeparate) {
    auto mine = this->open();
    auto elsewhere_settings = this->settings();
    elsewhere_settings.name_space += ".x";
    auto elsewhere = this->open(elsewhere_settings);
    const auto here = mine.granted(fresh_claim("key"));
    EXPECT_GT(number(mine.granted(fresh_claim("key2"))), 0u);
    const auto there = elsewhere.granted(fresh_claim("key"));
    const auto released = elsewhere.release("key", there);
    EXPECT_TRUE(released.has_value() && *released);
    EXPECT_EQ(mine.show("key").holder, here);
    EXPECT_EQ(elsewhere.all("", 100).size(), 1u);
    EXPECT_EQ(mine.all("", 100).size(), 2u);
}

// Goal: nothing a user may write breaks a query, a pattern or a path. Method: each odd key is
// granted, rejected, shown and released like any other.
TYPED_TEST_P(StoreLaws, OddKeysAndOwnersAreKeysAndOwnersLikeAnyOther) {
    auto mine = this->open();
    const std::vector<std::string> odd{"job/täglich ☃ 日本",
                                       "100%",
                                       "a_b",
                                       "a*b?",
                                       "[a-z]",
                                       "it's \"quoted\" `x`",
                                       "back\\slash\\%s",
                                       " ",
                                       "{a}:{b}",
                                       "a:b:c",
                                       "--; drop table",
                                       std::string(key_bytes_max, 'k'),
                                       "\xff\xfe not UTF-8 \x80"};
    for (const auto& key : odd) {
        const auto owner = key.substr(0, owner_bytes_max);
        const auto token = mine.granted(fresh_claim(key, 30s, owner));
        EXPECT_EQ(mine.rejected(fresh_claim(key)).owner, owner) << key;
        EXPECT_EQ(mine.show(key).key, key);
        EXPECT_EQ(mine.renew(lease_of(key, token)), renewal::renewed) << key;
        const auto released = mine.release(key, token);
        EXPECT_TRUE(released.has_value() && *released) << key;
    }
    EXPECT_EQ(mine.all("", 3).size(), odd.size());
}

TYPED_TEST_P(StoreLaws, ALongTimeToLiveIsKeptToTheMillisecond) {
    auto mine = this->open();
    mine.granted(fresh_claim("key", ttl_max));
    EXPECT_LE(mine.show("key").remaining, ttl_max);
    EXPECT_GT(mine.show("key").remaining, ttl_max - 10s);
}

}  // namespace pawl::conformance
