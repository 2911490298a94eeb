#include "schedule/queue/key_state_fixture.hpp"

namespace pawl::schedule {
namespace {

// Goal: a step back and forth of the clock costs no occurrence. Method: the clock is put back while
// a claim of it is under way; it comes due again before the claim fails.
TEST(KeyState, AnOccurrenceThatIsDueAgainWhileItsClaimIsUnderWayStays) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().forget_ahead(first);
    one.queue().offer_occurrence(second, start + 1s, 0ms, 0ms);
    one.on_failure(start + 1s, even);
    ASSERT_EQ(one.next(start + 10s).what, act::claim);
    EXPECT_EQ(one.wanted().occurrence, second);
}

// The store remembers a later one than was asked for, so this one will never be granted.
TEST(KeyState, AnOccurrenceThatALaterOneHasPassedIsToldAsSuperseded) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_passed();
    expect_skipped(one, first, skip_reason::superseded);
    EXPECT_EQ(one.next(start).what, act::nothing);
    // Of an orphan there is a row already.
    one.queue().offer_orphan("run", first, start);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_passed();
    EXPECT_TRUE(one.queue().take_skipped().empty());
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_TRUE(one.wanted().passed);
}

// A clock that ran ahead has made it ask for an occurrence of the future; what is due before that
// runs.
TEST(KeyState, AnOccurrenceAheadOfTheClockMakesWayWhenTheClockIsPutBack) {
    for (const auto mode : {delivery::at_most_once, delivery::at_least_once}) {
        auto one = key_state_of(mode);
        one.queue().offer_occurrence(second, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
        one.queue().forget_ahead(first);
        one.queue().offer_occurrence(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        EXPECT_EQ(one.wanted().occurrence, first);
        EXPECT_TRUE(one.queue().take_skipped().empty());
    }
}

// Its own claim may be what the store remembers, and then no other node tells of it.
TEST(KeyState, WhatWasClaimedWithoutAnAnswerIsToldWhenItIsFoundDone) {
    const auto claimed_in_vain = [] {
        auto one = key_state_of(delivery::at_most_once);
        one.queue().offer_occurrence(first, start, 0ms, 0ms);
        EXPECT_EQ(one.next(start).what, act::claim);
        one.on_unanswered();
        one.on_failure(start, even);
        return one;
    };
    const auto expect_told = [](key_state& one) {
        expect_skipped(one, first, skip_reason::answer_lost);
        EXPECT_TRUE(one.queue().is_idle());
    };
    const auto later = start + 10s;
    auto done = claimed_in_vain();
    ASSERT_EQ(done.next(later).what, act::claim);
    done.on_done();
    expect_told(done);
    auto marked = claimed_in_vain();
    ASSERT_EQ(marked.next(later).what, act::claim);
    marked.on_busy({{}, {}, 30s, busy_reason::held}, true, later, even);
    expect_told(marked);
    // The clock is put back in between, and the claim withdrawn: it is the same occurrence still.
    auto put_back = claimed_in_vain();
    put_back.queue().forget_ahead(occurrence{number(first) - 1});
    ASSERT_TRUE(put_back.queue().is_idle());
    put_back.queue().offer_occurrence(first, later, 0ms, 0ms);
    ASSERT_EQ(put_back.next(later).what, act::claim);
    put_back.on_done();
    expect_told(put_back);
}

// Others have run it, and their row is there: a doubt about one occurrence is none about the next.
TEST(KeyState, WhatOthersHaveDoneIsNotTold) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_failure(start, even);
    ASSERT_EQ(one.next(start + 10s).what, act::claim);
    one.on_granted();
    one.on_ended(ending::settled, start + 20s, even);
    one.queue().offer_occurrence(second, start + 60s, 0ms, 0ms);
    ASSERT_EQ(one.next(start + 60s).what, act::claim);
    one.on_done();
    EXPECT_TRUE(one.queue().take_skipped().empty());
}

TEST(KeyState, AClaimUnderWayForAnOccurrenceAheadIsItsLast) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().forget_ahead(first);
    one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
    EXPECT_TRUE(one.queue().is_idle());
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// Goal: what a reload says holds at once. Method: a busy key, which answers the question as long as
// overlaps are skipped, and is waited for since they queue up.
TEST(KeyState, FollowsTheRulesOfItsJobWhenTheyChange) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    queue_rules rules;
    rules.when_running = overlap::queue;
    one.queue().follow(rules);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    EXPECT_TRUE(one.queue().take_skipped().empty());
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_GT(step.timeout, 0ms);
}

// The store rejects what later occurrences have passed; its row in the control state does not.
TEST(KeyState, AnOrphanThatOthersHavePassedIsAskedForByItsRow) {
    auto one = key_state_of(delivery::at_least_once);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_FALSE(one.wanted().passed);
    one.on_done();
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_TRUE(one.wanted().passed);
    one.on_done();
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// Goal: a run that never ends costs no memory for what it keeps from running. Method: more
// occurrences than are remembered come due while one runs.
TEST(KeyState, RemembersTheLatestSkipsOfARunThatDoesNotEnd) {
    auto one = key_state_of(delivery::at_most_once);
    begin_run(one, first, start);
    occurrence latest = first;
    for (std::size_t i = 0; i < skips_kept_max + 10; ++i) {
        latest = occurrence{number(latest) + 1'000};
        one.queue().offer_occurrence(latest, start, 0ms, 0ms);
    }
    EXPECT_TRUE(one.queue().has_skipped());
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), skips_kept_max);
    EXPECT_EQ(skipped.back().occurrence, latest);
    EXPECT_EQ(skipped.back().why, skip_reason::overlap);
    EXPECT_FALSE(one.queue().has_skipped());
}

// -- what comes due while something is going on

TEST(KeyState, SkipsWhatComesDueWhileItsPredecessorRuns) {
    auto one = key_state_of(delivery::at_most_once);
    begin_run(one, first, start);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    expect_skipped(one, second, skip_reason::overlap);
    one.on_ended(ending::settled, start, even);
    EXPECT_TRUE(one.queue().is_idle());
}

// The holder may be running this very occurrence, unless it is known to run another one.
TEST(KeyState, AtLeastOnceSkipsWhatOverlapsUnlessItHasBegun) {
    busy held;
    held.reason = busy_reason::held;
    held.remaining = 10s;
    for (const bool has_begun : {false, true}) {
        auto one = key_state_of(delivery::at_least_once);
        one.queue().offer_occurrence(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        if (has_begun) {
            one.on_granted();
            one.on_ended(ending::unfinished, start, even);
            ASSERT_EQ(one.next(start + 1min).what, act::claim);
        }
        one.on_busy(held, false, start, even, "lock 'a' was held", true);
        EXPECT_EQ(one.queue().is_idle(), !has_begun);
        if (!has_begun) expect_skipped(one, first, skip_reason::overlap);
        EXPECT_FALSE(one.queue().has_skipped());
    }
}

TEST(KeyState, SkipsWhatCameDueWhileTheClaimThatIsGrantedWasUnderWay) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    EXPECT_FALSE(one.queue().has_skipped());
    one.on_granted();
    ASSERT_EQ(one.queue().take_skipped().size(), 1u);
    EXPECT_EQ(one.queue().waiting(), 0u);
}

TEST(KeyState, QueuesWhatComesDueAndRunsItInOrder) {
    auto one = key_state_of(delivery::at_most_once, overlap::queue);
    begin_run(one, first, start);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    EXPECT_EQ(one.next(start).what, act::await);
    one.on_ended(ending::settled, start, even);
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().occurrence, second);
}

TEST(KeyState, KeepsNoMoreThanItsBoundInTheQueueAndLetsTheOldestGo) {
    auto one = key_state_of(delivery::at_most_once, overlap::queue);
    begin_run(one, first, start);
    for (std::size_t i = 1; i <= occurrences_queued_max + 1; ++i)
        one.queue().offer_occurrence(occurrence{number(first) + static_cast<std::int64_t>(i)},
                                     start, 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), occurrences_queued_max);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(number(skipped[0].occurrence), number(first) + 1);
    EXPECT_EQ(skipped[0].why, skip_reason::too_many);
}

TEST(KeyState, AnOccurrenceIsWantedOnceHoweverOftenItIsOffered) {
    auto one = key_state_of(delivery::at_most_once, overlap::queue);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), 1u);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), 0u);
}

// Of an occurrence a row says so; what another node began goes by its own row.
TEST(KeyState, WhatTheStoreMayHaveForgottenIsToldAsThat) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_forgotten();
    expect_skipped(one, first, skip_reason::forgotten);
    one.queue().offer_orphan("left", second, start);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_forgotten();
    EXPECT_FALSE(one.queue().has_skipped());
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_TRUE(one.wanted().passed);
}

// After an outage the latest runs, and only that.
TEST(KeyState, AnAtMostOnceOccurrenceThatTheStoreFailedMakesWayForItsSuccessor) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_failure(start, even);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    expect_skipped(one, first, skip_reason::superseded);
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().occurrence, second);
}

// One that waited for room is not run in place of its successor, which is not told that a run went
// on meanwhile. A claim that was sent before, or one that is held back, stays as it is.
TEST(KeyState, AnOccurrenceThatWaitedForRoomMakesWayForItsSuccessor) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_full();
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    one.on_no_room(start);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_room(start);
    expect_skipped(one, first, skip_reason::superseded);
    EXPECT_EQ(one.wanted().occurrence, second);
    one.on_granted();
    EXPECT_FALSE(one.queue().has_skipped());

    auto sent = key_state_of(delivery::at_most_once);
    sent.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(sent.next(start).what, act::claim);
    sent.on_unanswered();
    sent.on_full();
    sent.queue().offer_occurrence(second, start, 0ms, 0ms);
    sent.on_room(start);
    EXPECT_EQ(sent.wanted().occurrence, first);

    auto held_back = key_state_of(delivery::at_most_once);
    held_back.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(held_back.next(start).what, act::claim);
    held_back.on_full();
    held_back.queue().offer_occurrence(second, start, 0ms, 10s);
    held_back.on_room(start);
    EXPECT_EQ(held_back.wanted().occurrence, first);
}

// What may still be lost is not given up for what comes later.
TEST(KeyState, AnAtLeastOnceOccurrenceThatTheStoreFailedStays) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_failure(start, even);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].occurrence, second);
    EXPECT_EQ(skipped[0].why, skip_reason::not_its_turn);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    ASSERT_EQ(one.next(step.until).what, act::claim);
    EXPECT_EQ(one.wanted().occurrence, first);
}

// -- what the store answers

TEST(KeyState, ABusyKeyAnswersTheQuestionWhereOverlapsAreSkipped) {
    for (const bool marked : {true, false}) {
        auto one = key_state_of(delivery::at_most_once);
        one.queue().offer_occurrence(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::held}, marked, start, even);
        EXPECT_TRUE(one.queue().is_idle());
        // Marked: a node runs this very occurrence, and nothing is skipped.
        EXPECT_EQ(one.queue().take_skipped().size(), marked ? 0u : 1u);
    }
}

// Goal: a row says who was in the way, and not that it was the previous run.
// Method: each way in which an occurrence that found its key busy is let go of.
TEST(KeyState, WhatGivesWayToAHolderNamesIt) {
    auto overlapped = key_state_of(delivery::at_most_once);
    overlapped.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(overlapped.next(start).what, act::claim);
    overlapped.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even, "held by loader-7");
    auto skipped = overlapped.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].why, skip_reason::overlap);
    EXPECT_EQ(text_of(skipped[0]), "held by loader-7");

    auto waited = key_state_of(delivery::at_least_once);
    waited.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(waited.next(start).what, act::claim);
    waited.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even, "held by loader-7");
    waited.next(start + 2h);
    skipped = waited.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(text_of(skipped[0]),
              "it could not begin within the misfire window: held by loader-7");

    // The one that comes after has found no other yet.
    auto later = key_state_of(delivery::at_most_once);
    later.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(later.next(start).what, act::claim);
    later.on_busy({{}, {}, 30s, busy_reason::held}, true, start, even, "held by loader-7");
    later.queue().offer_occurrence(occurrence{number(first) + 1}, start, 0ms, 0ms);
    later.next(start + 2h);
    skipped = later.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(text_of(skipped[0]), text_of(skip_reason::too_late));
}

TEST(KeyState, ABusyKeyIsNothingToWaitForWhereNothingIsRememberedOrItIsHeld) {
    for (const bool hold : {true, false}) {
        queue_rules rules;
        rules.delivery = hold ? delivery::at_least_once : delivery::off;
        rules.hold_until_expiry = hold;
        key_state one{rules};
        one.queue().offer_occurrence(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
        EXPECT_TRUE(one.queue().is_idle());
        EXPECT_FALSE(one.queue().has_skipped());
    }
}

TEST(KeyState, WaitsInLineNoLongerThanItsWindowAndLooksNowAndThen) {
    queue_rules rules;
    rules.delivery = delivery::at_least_once;
    rules.lateness_max = 90s;
    key_state one{rules};
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    auto now = start;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    auto step = one.next(now);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_EQ(step.timeout, busy_retry_longest);
    now += busy_retry_longest;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    step = one.next(now);
    ASSERT_EQ(step.what, act::pause);
    now = step.until;
    step = one.next(now);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_LE(now + step.timeout, start + 90s + 1ms);
    now = start + 91s;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    EXPECT_EQ(one.next(now + 1s).what, act::nothing);
    expect_skipped(one, first, skip_reason::too_late);
}

TEST(KeyState, AsksAgainWhenACooldownIsOver) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_busy({{}, {}, 30s, busy_reason::cooldown}, false, start, even);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    EXPECT_EQ(step.until, start + 30s);
    EXPECT_EQ(one.next(step.until).what, act::claim);
}

TEST(KeyState, PausesBetweenFailuresGrowUpToTheirBound) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    auto now = start;
    instant::duration before{0};
    for (int i = 0; i < 12; ++i) {
        ASSERT_EQ(one.next(now).what, act::claim);
        one.on_failure(now, 1.0);
        const auto step = one.next(now);
        ASSERT_EQ(step.what, act::pause);
        EXPECT_GE(step.until - now, before);
        before = step.until - now;
        now = step.until;
    }
    EXPECT_EQ(before, instant::duration{store_retry_longest});
}

TEST(KeyState, WithoutRoomItIsTriedAgainForAsLongAsThereIsTime) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_no_room(start);
    EXPECT_EQ(one.next(start).what, act::claim);
    one.on_no_room(start + 2h);
    EXPECT_EQ(one.next(start + 2h).what, act::nothing);
    ASSERT_EQ(one.queue().take_skipped().size(), 1u);
}

TEST(KeyState, ACalledOffClaimLeavesTheKeyFree) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_called_off();
    EXPECT_TRUE(one.queue().is_idle());
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    EXPECT_EQ(one.next(start).what, act::claim);
}

// An occurrence that waits for its time, or for the store, is not nothing: a clock that is put back
// has to let go of it.
TEST(KeyState, WhatWaitsForItsTimeIsNotIdle) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(second, start, 0ms, 20s);
    ASSERT_EQ(one.next(start).what, act::pause);
    EXPECT_FALSE(one.queue().is_idle());
    one.queue().forget_ahead(first);
    EXPECT_TRUE(one.queue().is_idle());
}

// -- what was begun before

// Where runs take longer than the time between two occurrences, the key is never free for long:
// those that stand in line for it would pass what was begun before them each time.
TEST(KeyState, WhatWasBegunBeforeGoesFirstAndStandsInLine) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().kind, request_kind::orphan);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_EQ(one.wanted().kind, request_kind::orphan);
    EXPECT_EQ(step.timeout, 30s);
    one.on_granted();
    // As for each that comes due while another runs.
    expect_skipped(one, second, skip_reason::overlap);
}

// Later ones have run since, and one of them still does.
TEST(KeyState, WhatWasPassedStandsInLineToo) {
    auto one = key_state_of(delivery::at_least_once);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_done();
    ASSERT_EQ(one.next(start).what, act::claim);
    ASSERT_TRUE(one.wanted().passed);
    one.on_busy({{}, {}, 30s, busy_reason::held}, true, start, even);
    EXPECT_EQ(one.next(start).timeout, 30s);
    EXPECT_TRUE(one.wanted().passed);
}

// Its own claim may hold the key.
TEST(KeyState, AClaimInDoubtIsSettledBeforeWhatWasBegunBefore) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_failure(start, even);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start + 1min).what, act::claim);
    EXPECT_EQ(one.wanted().kind, request_kind::occurrence);
}

// -- what is in the control state

TEST(KeyState, WhatIsOnTheControlStateIsNewOnceUntilItsAnswer) {
    auto one = key_state_of(delivery::at_least_once);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    EXPECT_FALSE(one.queue().offer_trigger("t", start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_FALSE(one.queue().offer_trigger("t", start));
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_failure(start, even);
    EXPECT_TRUE(one.queue().is_idle());
    EXPECT_TRUE(one.queue().offer_orphan("o", first, start));
    EXPECT_FALSE(one.queue().offer_orphan("o", first, start));
}

TEST(KeyState, OrphansComeBeforeLaterOccurrencesAndTriggersLast) {
    auto one = key_state_of(delivery::at_least_once, overlap::queue);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    one.queue().offer_occurrence(second, start, 0ms, 0ms);
    EXPECT_TRUE(one.queue().offer_orphan("o", first, start));
    std::vector<request_kind> order;
    while (one.next(start).what == act::claim) {
        order.push_back(one.wanted().kind);
        one.on_granted();
        one.on_ended(ending::settled, start, even);
    }
    EXPECT_EQ(order,
              (std::vector{request_kind::orphan, request_kind::occurrence, request_kind::trigger}));
}

TEST(KeyState, AnOrphanWhoseOccurrenceWaitsHereIsResumedByThat) {
    auto one = key_state_of(delivery::at_least_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    EXPECT_FALSE(one.queue().offer_orphan("o", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_FALSE(one.queue().offer_orphan("o", first, start));
}

TEST(KeyState, TakesNoMoreTriggersThanItsBound) {
    auto one = key_state_of(delivery::at_most_once);
    for (std::size_t i = 0; i < triggers_queued_max; ++i)
        EXPECT_TRUE(one.queue().offer_trigger("t" + std::to_string(i), start));
    EXPECT_FALSE(one.queue().offer_trigger("one more", start));
}

TEST(KeyState, APausedJobKeepsItsTriggers) {
    auto one = key_state_of(delivery::at_most_once, overlap::queue);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    one.queue().skip_paused();
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().kind, request_kind::trigger);
}

// It was to be claimed when its job was paused.
TEST(KeyState, WhatAPauseKeepsFromBeingClaimedIsTold) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().skip_paused();
    EXPECT_FALSE(one.queue().has_skipped());
    one.on_paused();
    expect_skipped(one, first, skip_reason::paused);
    EXPECT_TRUE(one.queue().is_idle());
}

// The control state offers it again after the resume.
TEST(KeyState, APauseLetsGoOfOrphansAndTellsNothing) {
    for (const bool is_claimed : {false, true}) {
        auto one = key_state_of(delivery::at_least_once);
        one.queue().offer_orphan("run", first, start);
        if (is_claimed) {
            ASSERT_EQ(one.next(start).what, act::claim);
        }
        one.queue().skip_paused();
        if (is_claimed) one.on_paused();
        EXPECT_FALSE(one.queue().has_skipped());
        EXPECT_TRUE(one.queue().is_idle());
    }
}

// A run that is to be left to others first is not late because of that.
TEST(KeyState, WhatIsHeldBackBeginsLaterAndHasAsMuchTimeAsTheOthers) {
    queue_rules rules;
    rules.lateness_max = 1s;
    key_state one{rules};
    one.queue().offer_occurrence(first, start, 0ms, 10s);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    EXPECT_EQ(step.until, start + 10s);
    EXPECT_EQ(one.next(start + 11s).what, act::claim);
}

// Every pause ends at an instant at which something else is to be done.
TEST(KeyState, NoPauseEndsWhereAnotherLikeItBegins) {
    auto one = key_state_of(delivery::at_most_once);
    one.queue().offer_occurrence(first, start, 59min + 59s, 0ms);
    auto now = start;
    for (int rounds = 0; rounds < 20; ++rounds) {
        const auto step = one.next(now);
        if (step.what == act::nothing) {
            ASSERT_EQ(one.queue().take_skipped().size(), 1U);
            return;
        }
        if (step.what == act::claim) one.on_failure(now, even);
        if (step.what != act::pause) continue;
        ASSERT_GT(step.until, now);
        now = step.until;
    }
    FAIL() << "it goes round in circles";
}

}  // namespace
}  // namespace pawl::schedule
