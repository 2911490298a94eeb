// Rule 1: the fencing token of a key only ever rises, whatever ends the lease before.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include "time/clocks.hpp"

namespace pawl::conformance {

// Goal: tokens are a hybrid logical clock. Method: the machine's own clock brackets the store's,
// with room for the store's to be a little off.
TYPED_TEST_P(StoreLaws, ATokenIsTheStoresClockInMicroseconds) {
    auto mine = this->open();
    const auto before = time::wall_now().time_since_epoch() - 5s;
    const auto token = number(mine.granted(fresh_claim("key")));
    const auto after = time::wall_now().time_since_epoch() + 5s;
    EXPECT_GE(token, static_cast<std::uint64_t>(before.count()));
    EXPECT_LE(token, static_cast<std::uint64_t>(after.count()));
    EXPECT_LT(token, std::uint64_t{1} << 53);
}

TYPED_TEST_P(StoreLaws, TokensRiseAcrossRelease) {
    auto mine = this->open();
    fence_token last{};
    for (int i = 0; i < 50; ++i) {
        const auto token = mine.granted(fresh_claim("key"));
        EXPECT_GT(token, last);
        last = token;
        const auto released = mine.release("key", token);
        EXPECT_TRUE(released.has_value() && *released);
    }
}

TYPED_TEST_P(StoreLaws, TokensRiseAcrossExpiry) {
    auto mine = this->open();
    fence_token last{};
    for (int i = 0; i < 5; ++i) {
        const auto token = mine.granted_in_the_end(fresh_claim("key", 20ms));
        EXPECT_GT(token, last);
        last = token;
    }
}

TYPED_TEST_P(StoreLaws, TokensRiseAcrossForcedReleaseAboveTheBurntOne) {
    auto mine = this->open();
    const auto first = mine.granted(fresh_claim("key"));
    const auto force_released = mine.force_release("key", first, 0ms);
    EXPECT_TRUE(force_released.has_value() && *force_released);
    const auto burnt = mine.show("key").last_token;
    EXPECT_GT(burnt, first);
    EXPECT_GT(mine.granted(fresh_claim("key")), burnt);
}

// Goal: what the store knew before a restart it knows after it. Method: stop it in the middle of a
// lease, with another key released and a fence raised.
TYPED_TEST_P(StoreLaws, ARestartKeepsLeasesTokensOccurrencesAndFences) {
    fence_token held_token{};
    fence_token released_token{};
    const auto due = occurrence_in(-1min);
    const auto wanted = fresh_claim("held", 60s);
    {
        auto before = this->open();
        held_token = before.granted(wanted);
        auto once = fresh_claim("released");
        once.occurrence = due;
        released_token = before.granted(once);
        EXPECT_TRUE(before.release("released", released_token).has_value());
        EXPECT_TRUE(before.fence("resource", fence_token{7}, fence_rule::reject_older).has_value());
    }
    this->engine().restart();
    auto after = this->open();
    EXPECT_EQ(after.rejected(fresh_claim("held")).holder, held_token);
    EXPECT_EQ(after.granted(wanted), held_token);
    EXPECT_EQ(after.show("released").last_done, due);
    EXPECT_GT(after.granted(fresh_claim("released")), released_token);
    const auto stale = after.fence("resource", fence_token{6}, fence_rule::reject_older);
    EXPECT_TRUE(stale.has_value() && !stale->accepted);
}

// Goal: forgetting a record must not let its token fall. Method: a retention of nothing, and other
// keys come and go until the record is purged: where each grant draws lots for it, it may take some
// hundred.
TYPED_TEST_P(StoreLaws, TokensRiseAcrossThePurgeOfARecord) {
    auto forgetful = this->settings();
    forgetful.retention = 20ms;
    auto mine = this->open(forgetful);
    const auto old = mine.granted(fresh_claim("old"));
    const auto kept = mine.granted(fresh_claim("kept", 90s));
    EXPECT_TRUE(mine.release("old", old).has_value());
    const auto give_up = lease_clock::now() + 60s;
    bool purged = false;
    for (int i = 0; !purged && lease_clock::now() < give_up; ++i) {
        const auto other = "other/" + std::to_string(i);
        EXPECT_TRUE(mine.release(other, mine.granted(fresh_claim(other))).has_value());
        const auto seen = mine.inspect("old");
        purged = seen.has_value() && !seen->has_value();
    }
    EXPECT_TRUE(purged);
    EXPECT_GT(mine.granted(fresh_claim("old")), old);
    EXPECT_EQ(mine.show("kept").holder, kept);
}

}  // namespace pawl::conformance
