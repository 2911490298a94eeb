// Rule 4: how a lease ends well, and rule 2: how a claim of unknown outcome is given up.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

namespace pawl::conformance {

TYPED_TEST_P(StoreLaws, AReleasedKeyIsFreeAtOnceAndOnce) {
    auto mine = this->open();
    auto other = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_FALSE(yes(mine.release("key", token)));
    const auto seen = other.show("key");
    EXPECT_EQ(number(seen.holder), 0u);
    EXPECT_EQ(seen.remaining, 0ms);
    EXPECT_EQ(seen.last_token, token);
    EXPECT_GT(other.granted(fresh_claim("key")), token);
}

TYPED_TEST_P(StoreLaws, AReleaseUnderAnotherTokenChangesNothing) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key"));
    release_options done;
    done.done = occurrence_in(-1s);
    for (const auto wrong : {number(token) - 1, number(token) + 1, std::uint64_t{0}})
        EXPECT_FALSE(yes(mine.release("key", fence_token{wrong}, done)));
    EXPECT_FALSE(yes(mine.release("unknown", token, done)));
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.show("key").last_done, std::nullopt);
}

TYPED_TEST_P(StoreLaws, AnExpiredHolderReleasesNothing) {
    auto mine = this->open();
    auto other = this->open();
    const auto expired = mine.granted(fresh_claim("key", 50ms));
    const auto taken = other.granted_in_the_end(fresh_claim("key"));
    EXPECT_FALSE(yes(mine.release("key", expired)));
    EXPECT_EQ(other.show("key").holder, taken);
}

// Goal: at_least counts from the grant, and nobody holds the key meanwhile. Method: a release that
// keeps it for 30 s; its own claim is rejected too.
TYPED_TEST_P(StoreLaws, MinHoldKeepsTheKeyInCooldown) {
    auto mine = this->open();
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    release_options cooldown;
    cooldown.min_hold = 30s;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    for (const auto& late : {fresh_claim("key"), wanted}) {
        const auto told = mine.rejected(late);
        EXPECT_EQ(number(told.holder), 0u);
        EXPECT_EQ(told.reason, busy_reason::cooldown);
        EXPECT_GT(told.remaining, 20s);
        EXPECT_LE(told.remaining, 30s);
    }
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::lost);
    EXPECT_FALSE(yes(mine.release("key", token)));
    EXPECT_EQ(number(mine.show("key").holder), 0u);
    EXPECT_GT(mine.show("key").remaining, 20s);
}

// Goal: a key in cooldown is held under no token, and 0 is none. Method: everything that a holder
// may do, under 0.
TYPED_TEST_P(StoreLaws, NoTokenEndsOrExtendsACooldown) {
    auto mine = this->open();
    const fence_token none{};
    const auto token = mine.granted(fresh_claim("key", 60s));
    release_options cooldown;
    cooldown.min_hold = 30s;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    release_options done;
    done.done = occurrence_in(-1s);
    for (const auto& how : {release_options{}, cooldown, done})
        EXPECT_FALSE(yes(mine.release("key", none, how)));
    EXPECT_EQ(mine.renew(lease_of("key", none, 90s)), renewal::lost);
    EXPECT_EQ(mine.renew(extending("key", none, 90s)), renewal::lost);
    const auto told = mine.rejected(fresh_claim("key"));
    EXPECT_EQ(told.reason, busy_reason::cooldown);
    EXPECT_GT(told.remaining, 20s);
    EXPECT_LE(told.remaining, 30s);
    EXPECT_EQ(mine.show("key").last_token, token);
    EXPECT_EQ(mine.show("key").last_done, std::nullopt);
}

TYPED_TEST_P(StoreLaws, AtLeastMayOutlastTheLease) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 10s));
    release_options cooldown;
    cooldown.min_hold = 60s;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    EXPECT_GT(mine.rejected(fresh_claim("key")).remaining, 50s);
}

TYPED_TEST_P(StoreLaws, AtLeastEndsAtItsTime) {
    auto mine = this->open();
    const auto wanted = fresh_claim("key", 60s);
    const auto sent = lease_clock::now();
    const auto token = mine.granted(wanted);
    release_options cooldown;
    cooldown.min_hold = 300ms;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    EXPECT_GT(mine.granted_in_the_end(fresh_claim("key")), token);
    EXPECT_GE(lease_clock::now() - sent, 300ms);
}

TYPED_TEST_P(StoreLaws, AtLeastThatHasPassedFreesAtOnce) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 60s));
    mine.pass(20ms);
    release_options cooldown;
    cooldown.min_hold = 1ms;
    EXPECT_TRUE(yes(mine.release("key", token, cooldown)));
    EXPECT_GT(mine.granted(fresh_claim("key")), token);
}

TYPED_TEST_P(StoreLaws, HoldKeepsTheKeyForTheRestOfItsLease) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_claim("key", 30s));
    release_options hold;
    hold.min_hold = release_options::until_expiry;
    EXPECT_TRUE(yes(mine.release("key", token, hold)));
    const auto told = mine.rejected(fresh_claim("key"));
    EXPECT_EQ(told.reason, busy_reason::cooldown);
    EXPECT_GT(told.remaining, 20s);
    EXPECT_LE(told.remaining, 30s);
}

TYPED_TEST_P(StoreLaws, AWithdrawnClaimFreesItsKeyAndNeverGetsItsGrantBack) {
    auto mine = this->open();
    auto other = this->open();
    const auto wanted = fresh_claim("key");
    const auto token = mine.granted(wanted);
    EXPECT_TRUE(yes(mine.withdraw({"key", wanted.id})));
    EXPECT_FALSE(yes(mine.withdraw({"key", wanted.id})));
    const auto taken = other.granted(fresh_claim("key"));
    EXPECT_GT(taken, token);
    EXPECT_EQ(mine.renew(extending("key", token)), renewal::lost);
    EXPECT_EQ(mine.rejected(wanted).holder, taken);
}

TYPED_TEST_P(StoreLaws, WithdrawingAnotherIdChangesNothing) {
    auto mine = this->open();
    const auto wanted = fresh_claim("key");
    const auto token = mine.granted(wanted);
    EXPECT_FALSE(yes(mine.withdraw({"key", fresh_claim("key").id})));
    EXPECT_FALSE(yes(mine.withdraw({"unknown", wanted.id})));
    EXPECT_FALSE(yes(mine.withdraw({"key", ""})));
    EXPECT_EQ(mine.show("key").holder, token);
}

// Goal: what was claimed and never begun can still be run. Method: withdraw a granted claim with
// its occurrence; another claim for the same one is granted, and an earlier one stays done.
TYPED_TEST_P(StoreLaws, AWithdrawnClaimGivesItsOccurrenceBack) {
    auto mine = this->open();
    auto other = this->open();
    const auto due = occurrence_in(-10s);
    const auto wanted = fresh_occurrence("job", due);
    const auto token = mine.granted(wanted);
    EXPECT_TRUE(yes(mine.withdraw({"job", wanted.id, due})));
    EXPECT_EQ(other.show("job").last_done, before(due, 1ms));
    EXPECT_EQ(other.done(fresh_occurrence("job", before(due, 1s))).last, before(due, 1ms));
    const auto taken = other.granted(fresh_occurrence("job", due));
    EXPECT_GT(taken, token);
    EXPECT_FALSE(yes(mine.withdraw({"job", wanted.id, due})));
    EXPECT_EQ(other.show("job").last_done, due);
    EXPECT_EQ(other.show("job").holder, taken);
}

// Goal: an outage longer than the lease uses no occurrence up. Method: withdraw after expiry.
TYPED_TEST_P(StoreLaws, AWithdrawalAfterExpiryGivesTheOccurrenceBack) {
    auto mine = this->open();
    auto other = this->open();
    const auto due = occurrence_in(-10s);
    const auto wanted = fresh_occurrence("job", due, delivery::at_most_once, 50ms);
    const auto token = mine.granted(wanted);
    mine.let_expire("job", 50ms);
    EXPECT_FALSE(yes(mine.withdraw({"job", wanted.id, due})));
    EXPECT_GT(other.granted(fresh_occurrence("job", due)), token);
}

// Goal: giving up late takes nothing from whoever came after. Method: three ways in which the mark
// is not the withdrawn claim's own any more.
TYPED_TEST_P(StoreLaws, AWithdrawalGivesBackNothingButItsOwnOccurrence) {
    auto mine = this->open();
    auto other = this->open();
    const auto due = occurrence_in(-10s);
    const auto expired = fresh_occurrence("job", due, delivery::at_most_once, 50ms);
    mine.granted(expired);
    other.let_expire("job", 50ms);
    const auto manual = other.granted(fresh_claim("job"));
    EXPECT_FALSE(yes(mine.withdraw({"job", expired.id, due})));
    EXPECT_EQ(other.show("job").last_done, due);
    EXPECT_EQ(other.show("job").holder, manual);

    const auto finished = fresh_occurrence("finished", due);
    const auto token = mine.granted(finished);
    EXPECT_TRUE(yes(mine.release("finished", token)));
    EXPECT_FALSE(yes(mine.withdraw({"finished", finished.id, due})));
    EXPECT_EQ(mine.show("finished").last_done, due);

    const auto buried = fresh_occurrence("buried", due);
    mine.granted(buried);
    EXPECT_TRUE(yes(mine.withdraw({"buried", buried.id})));
    EXPECT_EQ(mine.show("buried").last_done, due);
}

// Goal: giving up late must not hurt whoever came after. Method: withdraw a claim that expired and
// whose key was taken.
TYPED_TEST_P(StoreLaws, WithdrawingAnExpiredClaimLeavesTheNextHolderAlone) {
    auto mine = this->open();
    auto other = this->open();
    const auto expired = fresh_claim("key", 50ms);
    mine.granted(expired);
    const auto taken = other.granted_in_the_end(fresh_claim("key"));
    EXPECT_FALSE(yes(mine.withdraw({"key", expired.id})));
    EXPECT_EQ(other.show("key").holder, taken);
}

}  // namespace pawl::conformance
