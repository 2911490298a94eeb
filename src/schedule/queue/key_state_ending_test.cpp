// How the run of an occurrence ended, and whether it is asked for again.
#include "schedule/queue/key_state_fixture.hpp"

#include <algorithm>

namespace pawl::schedule {
namespace {

TEST(KeyStateEnding, AsksAgainForAnAtLeastOnceOccurrenceThatWasLeftUnfinished) {
    auto one = key_state_of(delivery::at_least_once);
    begin_run(one, first, start);
    // Longer than its window: that it began in time is what counts.
    const auto now = start + 2h;
    one.on_ended(ending::unfinished, now, even);
    const auto step = one.next(now);
    ASSERT_EQ(step.what, act::pause);
    ASSERT_EQ(one.next(step.until).what, act::claim);
    EXPECT_EQ(one.wanted().occurrence, first);
    one.on_granted();
    one.on_ended(ending::settled, step.until, even);
    EXPECT_EQ(one.next(step.until).what, act::nothing);
}

TEST(KeyStateEnding, LetsGoOfAnAtMostOnceOccurrenceHoweverItEnded) {
    auto one = key_state_of(delivery::at_most_once);
    begin_run(one, first, start);
    one.on_ended(ending::unfinished, start, even);
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// No work of it has begun, so at-most-once allows another try, for as long as it is not late.
TEST(KeyStateEnding, AsksAgainForAnOccurrenceThatWasNotStartedWithinItsWindow) {
    for (const auto mode : {delivery::at_most_once, delivery::at_least_once}) {
        auto one = key_state_of(mode);
        begin_run(one, first, start);
        one.on_ended(ending::not_started, start + 1min, even);
        const auto step = one.next(start + 1min);
        ASSERT_EQ(step.what, act::pause);
        ASSERT_EQ(one.next(step.until).what, act::claim);
        EXPECT_EQ(one.wanted().occurrence, first);
        one.on_granted();
        one.on_ended(ending::not_started, start + 2h, even);
        EXPECT_EQ(one.next(start + 2h).what, act::nothing);
        expect_skipped(one, first, skip_reason::too_late);
    }
}

// What this node cannot start, for want of descriptors, processes or memory, another one may: each
// pause is long enough for those that are next in line, and longer than the one before.
TEST(KeyStateEnding, AsksEverLaterForWhatCannotBeStartedHere) {
    for (const auto how : {ending::not_started, ending::start_failed}) {
        auto one = key_state_of(delivery::at_least_once);
        begin_run(one, first, start);
        auto now = start;
        instant::duration before{0};
        for (int i = 0; i < 6; ++i) {
            one.on_ended(how, now, 0.0);
            const auto step = one.next(now);
            ASSERT_EQ(step.what, act::pause);
            EXPECT_GE(step.until - now, std::max<instant::duration>(before, start_retry_first / 2));
            before = step.until - now;
            now = step.until;
            ASSERT_EQ(one.next(now).what, act::claim);
            one.on_granted();
        }
        EXPECT_EQ(before, instant::duration{store_retry_longest} / 2);
        one.on_ended(ending::unfinished, now, even);
        EXPECT_EQ(one.next(now).until, now + store_retry_first);
    }
}

// Goal: an answer that came late is no lost one. Method: a claim that was not answered is granted
// when it is repeated, and given back, as others have skipped its occurrence meanwhile; that comes
// due again, by a clock that was put back, and a later one has run.
TEST(KeyStateEnding, WhatWasGrantedLateAndGivenBackIsNotToldAsUnanswered) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_failure(start, even);
    const auto again = one.next(start).until;
    ASSERT_EQ(one.next(again).what, act::claim);
    one.on_given_back();
    one.on_called_off();
    one.queue().offer_occurrence(first, again, 0ms, 0ms);
    ASSERT_EQ(one.next(again).what, act::claim);
    one.on_done();
    EXPECT_FALSE(one.queue().has_skipped());
}

}  // namespace
}  // namespace pawl::schedule
