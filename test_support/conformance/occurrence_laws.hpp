// Rule 6: one occurrence of a job runs at most once, or at least once, and never too early.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

namespace pawl::conformance {

TYPED_TEST_P(StoreLaws, AtMostOnceAnOccurrenceIsDoneWhenGranted) {
    auto mine = this->open();
    auto other = this->open();
    const auto due = occurrence_in(-10s);
    const auto token = mine.granted(fresh_occurrence("job", due));
    EXPECT_EQ(mine.show("job").last_done, due);
    EXPECT_TRUE(yes(mine.release("job", token)));
    EXPECT_EQ(other.done(fresh_occurrence("job", due)).last, due);
    EXPECT_EQ(other.done(fresh_occurrence("job", before(due, 1s))).last, due);
    EXPECT_GT(other.granted(fresh_occurrence("job", before(due, -1s))), token);
}

// Goal: at most once holds through a crash. Method: the runner never comes back; its lease expires.
TYPED_TEST_P(StoreLaws, AtMostOnceACrashLosesTheOccurrence) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    mine.granted(fresh_occurrence("job", due, delivery::at_most_once, 50ms));
    mine.let_expire("job", 50ms);
    EXPECT_EQ(mine.done(fresh_occurrence("job", due)).last, due);
}

// Goal: a lost answer costs no occurrence. Method: repeat the very claim that marked it as done.
TYPED_TEST_P(StoreLaws, ARepeatedClaimOfAnOccurrenceIsGrantedNotDone) {
    auto mine = this->open();
    const auto wanted = fresh_occurrence("job", occurrence_in(-10s));
    const auto token = mine.granted(wanted);
    EXPECT_EQ(mine.granted(wanted), token);
}

// Goal: an answer that is lost for longer than the lease costs no occurrence. Method: the very
// claim that marked it asks again after its expiry, through another client; the token rises.
TYPED_TEST_P(StoreLaws, ARepeatedClaimOfAnOccurrenceIsGrantedAfterItsLeaseExpired) {
    auto mine = this->open();
    auto other = this->open();
    auto wanted = fresh_occurrence("job", occurrence_in(-10s), delivery::at_most_once, 50ms);
    const auto expired = mine.granted(wanted);
    other.let_expire("job", 50ms);
    wanted.ttl = 30s;
    const auto again = other.granted(wanted);
    EXPECT_GT(again, expired);
    EXPECT_EQ(other.show("job").holder, again);
    EXPECT_EQ(mine.renew(extending("job", expired)), renewal::lost);
}

// Goal: a copy of a claim that arrives late runs nothing a second time. Method: repeat a claim
// whose lease ended in each of the ways there are but expiry alone.
TYPED_TEST_P(StoreLaws, ARepeatedClaimOfAnOccurrenceIsDoneOnceItsLeaseWasEnded) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto released = fresh_occurrence("released", due);
    EXPECT_TRUE(yes(mine.release("released", mine.granted(released))));
    EXPECT_EQ(mine.done(released).last, due);

    const auto force_released = fresh_occurrence("force-released", due);
    EXPECT_TRUE(yes(mine.force_release("force-released", mine.granted(force_released), 0ms)));
    EXPECT_EQ(mine.done(force_released).last, due);

    const auto late = fresh_occurrence("late", due, delivery::at_most_once, 50ms);
    const auto token = mine.granted(late);
    mine.let_expire("late", 50ms);
    EXPECT_FALSE(yes(mine.release("late", token)));
    EXPECT_EQ(mine.done(late).last, due);

    const auto replaced = fresh_occurrence("replaced", due, delivery::at_most_once, 50ms);
    mine.granted(replaced);
    const auto manual = mine.granted_in_the_end(fresh_claim("replaced"));
    EXPECT_TRUE(yes(mine.release("replaced", manual)));
    EXPECT_EQ(mine.done(replaced).last, due);
}

TYPED_TEST_P(StoreLaws, WhileAnOccurrenceRunsOthersAreToldBusyNotDone) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto token = mine.granted(fresh_occurrence("job", due));
    EXPECT_EQ(mine.rejected(fresh_occurrence("job", due)).holder, token);
}

TYPED_TEST_P(StoreLaws, AtLeastOnceAnOccurrenceIsDoneWhenReleasedAsDone) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto token = mine.granted(fresh_occurrence("job", due, delivery::at_least_once));
    EXPECT_EQ(mine.show("job").last_done, std::nullopt);
    release_options done;
    done.done = due;
    EXPECT_TRUE(yes(mine.release("job", token, done)));
    EXPECT_EQ(mine.done(fresh_occurrence("job", due, delivery::at_least_once)).last, due);
}

TYPED_TEST_P(StoreLaws, AtLeastOnceAnOccurrenceThatCrashedIsGrantedAgainWithAHigherToken) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto crashed = mine.granted(fresh_occurrence("job", due, delivery::at_least_once, 50ms));
    const auto again =
        mine.granted_in_the_end(fresh_occurrence("job", due, delivery::at_least_once));
    EXPECT_GT(again, crashed);
}

TYPED_TEST_P(StoreLaws, AtLeastOnceAnOccurrenceReleasedUndoneIsGrantedAgain) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto first = mine.granted(fresh_occurrence("job", due, delivery::at_least_once));
    EXPECT_TRUE(yes(mine.release("job", first)));
    EXPECT_GT(mine.granted(fresh_occurrence("job", due, delivery::at_least_once)), first);
}

// Goal: work that is done is done, though its lease ran out first. Method: release as done under
// the last token after expiry; and under one that is not the last any more.
TYPED_TEST_P(StoreLaws, DoneCountsAfterTheLeaseRanOutIfTheTokenIsStillTheLast) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    release_options done;
    done.done = due;
    const auto expired = mine.granted(fresh_occurrence("job", due, delivery::at_least_once, 50ms));
    mine.let_expire("job", 50ms);
    EXPECT_FALSE(yes(mine.release("job", expired, done)));
    EXPECT_EQ(mine.show("job").last_done, due);

    const auto stale = mine.granted(fresh_claim("other", 50ms));
    // Long enough for every server of a store that has several: one that was told of the lease late
    // would go on knowing its token as the last.
    mine.let_expire("other", 1s);
    const auto taken = mine.granted(fresh_claim("other"));
    // And as long for the grant that takes it over.
    mine.granted(fresh_claim("third", 50ms));
    mine.let_expire("third", 1s);
    EXPECT_FALSE(yes(mine.release("other", stale, done)));
    EXPECT_EQ(mine.show("other").last_done, std::nullopt);
    EXPECT_EQ(mine.show("other").holder, taken);
}

TYPED_TEST_P(StoreLaws, DoneNeverMovesBack) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto token = mine.granted(fresh_occurrence("job", due));
    release_options done;
    done.done = before(due, 5s);
    EXPECT_TRUE(yes(mine.release("job", token, done)));
    EXPECT_EQ(mine.show("job").last_done, due);
}

// Goal: one fast node must not use up the future. Method: an occurrence far ahead is rejected with
// the time until it may be asked for, and leaves no trace.
TYPED_TEST_P(StoreLaws, AnOccurrenceTooFarAheadIsRejectedAsEarly) {
    auto mine = this->open();
    const auto told = mine.rejected(fresh_occurrence("job", occurrence_in(10min)));
    EXPECT_EQ(told.reason, busy_reason::early);
    EXPECT_EQ(number(told.holder), 0u);
    EXPECT_GT(told.remaining, 8min);
    EXPECT_LE(told.remaining, 9min + 5s);
    const auto token = mine.granted(fresh_occurrence("job", occurrence_in(0s)));
    EXPECT_TRUE(yes(mine.release("job", token)));
    const auto seen = mine.show("job").last_done;
    EXPECT_EQ(mine.rejected(fresh_occurrence("job", occurrence_in(10min))).reason,
              busy_reason::early);
    EXPECT_EQ(mine.show("job").last_done, seen);
    EXPECT_EQ(mine.show("job").last_token, token);
}

TYPED_TEST_P(StoreLaws, HowFarAheadIsTooFarIsASetting) {
    auto patient = this->settings();
    patient.max_skew = 20min;
    auto mine = this->open(patient);
    EXPECT_GT(number(mine.granted(fresh_occurrence("job", occurrence_in(10min)))), 0u);
}

// Goal: manual runs carry no occurrence. Method: one between two occurrences changes neither.
TYPED_TEST_P(StoreLaws, AClaimWithoutAnOccurrenceNeitherAsksNorChangesWhatIsDone) {
    auto mine = this->open();
    const auto due = occurrence_in(-10s);
    const auto scheduled = mine.granted(fresh_occurrence("job", due));
    EXPECT_TRUE(yes(mine.release("job", scheduled)));
    const auto manual = mine.granted(fresh_claim("job"));
    EXPECT_EQ(mine.show("job").last_done, due);
    EXPECT_TRUE(yes(mine.release("job", manual)));
    EXPECT_EQ(mine.done(fresh_occurrence("job", due)).last, due);
}

TYPED_TEST_P(StoreLaws, OccurrencesOfLongAgoAreOccurrencesToo) {
    auto mine = this->open();
    const auto token = mine.granted(fresh_occurrence("job", occurrence{-1}));
    EXPECT_TRUE(yes(mine.release("job", token)));
    EXPECT_EQ(mine.done(fresh_occurrence("job", occurrence{-1})).last, occurrence{-1});
    EXPECT_GT(mine.granted(fresh_occurrence("job", occurrence{0})), token);
}

}  // namespace pawl::conformance
