#include "schedule/lane.hpp"

#include <gtest/gtest.h>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;
using act = lane::act;

constexpr instant start{1h};
constexpr double even = 0.5;
constexpr occurrence first{1'800'000'000'000};
constexpr occurrence second{1'800'000'060'000};

lane lane_of(occurrence_mode mode, overlap when_running = overlap::skip) {
    lane_rules rules;
    rules.mode = mode;
    rules.when_running = when_running;
    return lane{rules};
}

void begin_run(lane& one, occurrence firing, instant now) {
    one.queue().offer_firing(firing, now, 0ms, 0ms);
    ASSERT_EQ(one.next(now).what, act::claim);
    ASSERT_EQ(one.wanted().firing, firing);
    one.on_granted();
}

TEST(Lane, AsksAgainForAnAtLeastOnceFiringThatWasLeftUnfinished) {
    auto one = lane_of(occurrence_mode::at_least_once);
    begin_run(one, first, start);
    // Longer than its window: that it began in time is what counts.
    const auto now = start + 2h;
    one.on_ended(ending::unfinished, now);
    const auto step = one.next(now);
    ASSERT_EQ(step.what, act::pause);
    ASSERT_EQ(one.next(step.until).what, act::claim);
    EXPECT_EQ(one.wanted().firing, first);
    one.on_granted();
    one.on_ended(ending::settled, step.until);
    EXPECT_EQ(one.next(step.until).what, act::nothing);
}

TEST(Lane, LetsGoOfAnAtMostOnceFiringHoweverItEnded) {
    auto one = lane_of(occurrence_mode::at_most_once);
    begin_run(one, first, start);
    one.on_ended(ending::unfinished, start);
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// No work of it has begun, so at-most-once allows another try, for as long as it is not late.
TEST(Lane, AsksAgainForAFiringThatWasNotStartedWithinItsWindow) {
    for (const auto mode : {occurrence_mode::at_most_once, occurrence_mode::at_least_once}) {
        auto one = lane_of(mode);
        begin_run(one, first, start);
        one.on_ended(ending::not_started, start + 1min);
        const auto step = one.next(start + 1min);
        ASSERT_EQ(step.what, act::pause);
        ASSERT_EQ(one.next(step.until).what, act::claim);
        EXPECT_EQ(one.wanted().firing, first);
        one.on_granted();
        one.on_ended(ending::not_started, start + 2h);
        EXPECT_EQ(one.next(start + 2h).what, act::nothing);
        const auto skipped = one.queue().take_skipped();
        ASSERT_EQ(skipped.size(), 1u);
        EXPECT_EQ(skipped[0].why, skip_reason::too_late);
    }
}

// Goal: a step back and forth of the clock costs no firing. Method: the clock is put back while a
// claim of it is under way; it comes due again before the claim fails.
TEST(Lane, AFiringThatIsDueAgainWhileItsClaimIsUnderWayStays) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().forget_ahead(first);
    one.queue().offer_firing(second, start + 1s, 0ms, 0ms);
    one.on_failure(start + 1s, even);
    ASSERT_EQ(one.next(start + 10s).what, act::claim);
    EXPECT_EQ(one.wanted().firing, second);
}

// The store remembers a later one than was asked for, so this one will never be granted.
TEST(Lane, AFiringThatALaterOneHasPassedIsToldAsSuperseded) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_passed();
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].firing, first);
    EXPECT_EQ(skipped[0].why, skip_reason::superseded);
    EXPECT_EQ(one.next(start).what, act::nothing);
    // Of an orphan there is a row already.
    one.queue().offer_orphan("run", first, start);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_passed();
    EXPECT_TRUE(one.queue().take_skipped().empty());
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_TRUE(one.wanted().passed);
}

// A clock that ran ahead has made it ask for a firing of the future; what is due before that runs.
TEST(Lane, AFiringAheadOfTheClockMakesWayWhenTheClockIsPutBack) {
    for (const auto mode : {occurrence_mode::at_most_once, occurrence_mode::at_least_once}) {
        auto one = lane_of(mode);
        one.queue().offer_firing(second, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
        one.queue().forget_ahead(first);
        one.queue().offer_firing(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        EXPECT_EQ(one.wanted().firing, first);
        EXPECT_TRUE(one.queue().take_skipped().empty());
    }
}

// Its own claim may be what the store remembers, and then nobody else tells of it.
TEST(Lane, WhatWasClaimedWithoutAnAnswerIsToldWhenItIsFoundDone) {
    const auto claimed_in_vain = [] {
        auto one = lane_of(occurrence_mode::at_most_once);
        one.queue().offer_firing(first, start, 0ms, 0ms);
        EXPECT_EQ(one.next(start).what, act::claim);
        one.on_unanswered();
        one.on_failure(start, even);
        return one;
    };
    const auto expect_told = [](lane& one) {
        const auto skipped = one.queue().take_skipped();
        ASSERT_EQ(skipped.size(), 1u);
        EXPECT_EQ(skipped.front().firing, first);
        EXPECT_EQ(skipped.front().why, skip_reason::answer_lost);
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
    put_back.queue().offer_firing(first, later, 0ms, 0ms);
    ASSERT_EQ(put_back.next(later).what, act::claim);
    put_back.on_done();
    expect_told(put_back);
}

// Others have run it, and their row is there: a doubt about one occurrence is none about the next.
TEST(Lane, WhatOthersHaveDoneIsNotTold) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_failure(start, even);
    ASSERT_EQ(one.next(start + 10s).what, act::claim);
    one.on_granted();
    one.on_ended(ending::settled, start + 20s);
    one.queue().offer_firing(second, start + 60s, 0ms, 0ms);
    ASSERT_EQ(one.next(start + 60s).what, act::claim);
    one.on_done();
    EXPECT_TRUE(one.queue().take_skipped().empty());
}

TEST(Lane, AClaimUnderWayForAFiringAheadIsItsLast) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().forget_ahead(first);
    one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
    EXPECT_TRUE(one.queue().is_idle());
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// Goal: what a reload says holds at once. Method: a busy key, which answers the question as long as
// overlaps are skipped, and is waited for since they queue up.
TEST(Lane, FollowsTheRulesOfItsJobWhenTheyChange) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    lane_rules rules;
    rules.when_running = overlap::queue;
    one.queue().follow(rules);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    EXPECT_TRUE(one.queue().take_skipped().empty());
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_GT(step.patience, 0ms);
}

// The store refuses what later firings have passed; its row on the board does not.
TEST(Lane, AnOrphanThatOthersHavePassedIsAskedForByItsRow) {
    auto one = lane_of(occurrence_mode::at_least_once);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_FALSE(one.wanted().passed);
    one.on_done();
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_TRUE(one.wanted().passed);
    one.on_done();
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// Goal: a run that never ends costs no memory for what it keeps from running. Method: more firings
// than are remembered come due while one runs.
TEST(Lane, RemembersTheLatestSkipsOfARunThatDoesNotEnd) {
    auto one = lane_of(occurrence_mode::at_most_once);
    begin_run(one, first, start);
    occurrence latest = first;
    for (std::size_t i = 0; i < skips_kept_max + 10; ++i) {
        latest = occurrence{number(latest) + 1'000};
        one.queue().offer_firing(latest, start, 0ms, 0ms);
    }
    EXPECT_TRUE(one.queue().has_skipped());
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), skips_kept_max);
    EXPECT_EQ(skipped.back().firing, latest);
    EXPECT_EQ(skipped.back().why, skip_reason::overlap);
    EXPECT_FALSE(one.queue().has_skipped());
}

// -- what comes due while something is going on

TEST(Lane, SkipsWhatComesDueWhileItsPredecessorRuns) {
    auto one = lane_of(occurrence_mode::at_most_once);
    begin_run(one, first, start);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].firing, second);
    EXPECT_EQ(skipped[0].why, skip_reason::overlap);
    one.on_ended(ending::settled, start);
    EXPECT_TRUE(one.queue().is_idle());
}

TEST(Lane, SkipsWhatCameDueWhileTheClaimThatIsGrantedWasUnderWay) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    EXPECT_FALSE(one.queue().has_skipped());
    one.on_granted();
    ASSERT_EQ(one.queue().take_skipped().size(), 1u);
    EXPECT_EQ(one.queue().waiting(), 0u);
}

TEST(Lane, QueuesWhatComesDueAndRunsItInOrder) {
    auto one = lane_of(occurrence_mode::at_most_once, overlap::queue);
    begin_run(one, first, start);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    EXPECT_EQ(one.next(start).what, act::await);
    one.on_ended(ending::settled, start);
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().firing, second);
}

TEST(Lane, KeepsNoMoreThanItsBoundInTheQueueAndLetsTheOldestGo) {
    auto one = lane_of(occurrence_mode::at_most_once, overlap::queue);
    begin_run(one, first, start);
    for (std::size_t i = 1; i <= firings_queued_max + 1; ++i)
        one.queue().offer_firing(occurrence{number(first) + static_cast<std::int64_t>(i)}, start,
                                 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), firings_queued_max);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(number(skipped[0].firing), number(first) + 1);
    EXPECT_EQ(skipped[0].why, skip_reason::too_many);
}

TEST(Lane, AFiringIsWantedOnceHoweverOftenItIsOffered) {
    auto one = lane_of(occurrence_mode::at_most_once, overlap::queue);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), 1u);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    EXPECT_EQ(one.queue().waiting(), 0u);
}

// After an outage the latest runs, and only that.
TEST(Lane, AnAtMostOnceFiringThatTheStoreFailedMakesWayForItsSuccessor) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_failure(start, even);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].firing, first);
    EXPECT_EQ(skipped[0].why, skip_reason::superseded);
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().firing, second);
}

// What may still be lost is not given up for what comes later.
TEST(Lane, AnAtLeastOnceFiringThatTheStoreFailedStays) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_failure(start, even);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].firing, second);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    ASSERT_EQ(one.next(step.until).what, act::claim);
    EXPECT_EQ(one.wanted().firing, first);
}

// -- what the store answers

TEST(Lane, ABusyKeyAnswersTheQuestionWhereOverlapsAreSkipped) {
    for (const bool marked : {true, false}) {
        auto one = lane_of(occurrence_mode::at_most_once);
        one.queue().offer_firing(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::held}, marked, start, even);
        EXPECT_TRUE(one.queue().is_idle());
        // Marked: somebody runs this very firing, and nothing is skipped.
        EXPECT_EQ(one.queue().take_skipped().size(), marked ? 0u : 1u);
    }
}

// Goal: a row says who was in the way, and not that it was the previous run.
// Method: each way in which a firing that found its key busy is let go of.
TEST(Lane, WhatGivesWayToAHolderNamesIt) {
    auto overlapped = lane_of(occurrence_mode::at_most_once);
    overlapped.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(overlapped.next(start).what, act::claim);
    overlapped.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even, "held by loader-7");
    auto skipped = overlapped.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].why, skip_reason::overlap);
    EXPECT_EQ(text_of(skipped[0]), "held by loader-7");

    auto waited = lane_of(occurrence_mode::at_least_once);
    waited.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(waited.next(start).what, act::claim);
    waited.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even, "held by loader-7");
    waited.next(start + 2h);
    skipped = waited.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(text_of(skipped[0]),
              "it could not begin within the misfire window: held by loader-7");

    // The one that comes after has found nobody yet.
    auto later = lane_of(occurrence_mode::at_most_once);
    later.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(later.next(start).what, act::claim);
    later.on_busy({{}, {}, 30s, busy_reason::held}, true, start, even, "held by loader-7");
    later.queue().offer_firing(occurrence{number(first) + 1}, start, 0ms, 0ms);
    later.next(start + 2h);
    skipped = later.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(text_of(skipped[0]), text_of(skip_reason::too_late));
}

TEST(Lane, ABusyKeyIsNothingToWaitForWhereNothingIsRememberedOrItIsHeld) {
    for (const bool hold : {true, false}) {
        lane_rules rules;
        rules.mode = hold ? occurrence_mode::at_least_once : occurrence_mode::off;
        rules.hold = hold;
        lane one{rules};
        one.queue().offer_firing(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
        EXPECT_TRUE(one.queue().is_idle());
        EXPECT_FALSE(one.queue().has_skipped());
    }
}

TEST(Lane, WaitsInLineNoLongerThanItsWindowAndLooksNowAndThen) {
    lane_rules rules;
    rules.mode = occurrence_mode::at_least_once;
    rules.lateness_max = 90s;
    lane one{rules};
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    auto now = start;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    auto step = one.next(now);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_EQ(step.patience, busy_retry_longest);
    now += busy_retry_longest;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    step = one.next(now);
    ASSERT_EQ(step.what, act::pause);
    now = step.until;
    step = one.next(now);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_LE(now + step.patience, start + 90s + 1ms);
    now = start + 91s;
    one.on_busy({{}, {}, 5min, busy_reason::held}, false, now, even);
    EXPECT_EQ(one.next(now + 1s).what, act::nothing);
    const auto skipped = one.queue().take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].why, skip_reason::too_late);
}

TEST(Lane, AsksAgainWhenALingeringKeyIsFree) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_busy({{}, {}, 30s, busy_reason::lingering}, false, start, even);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    EXPECT_EQ(step.until, start + 30s);
    EXPECT_EQ(one.next(step.until).what, act::claim);
}

TEST(Lane, PausesBetweenFailuresGrowUpToTheirBound) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
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

TEST(Lane, WithoutRoomItIsTriedAgainForAsLongAsThereIsTime) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_no_room(start);
    EXPECT_EQ(one.next(start).what, act::claim);
    one.on_no_room(start + 2h);
    EXPECT_EQ(one.next(start + 2h).what, act::nothing);
    ASSERT_EQ(one.queue().take_skipped().size(), 1u);
}

TEST(Lane, ACalledOffClaimLeavesTheLaneFree) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_called_off();
    EXPECT_TRUE(one.queue().is_idle());
    one.queue().offer_firing(second, start, 0ms, 0ms);
    EXPECT_EQ(one.next(start).what, act::claim);
}

// A firing that waits for its time, or for the store, is not nothing: a clock that is put back has
// to let go of it.
TEST(Lane, WhatWaitsForItsTimeIsNotIdle) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(second, start, 0ms, 20s);
    ASSERT_EQ(one.next(start).what, act::pause);
    EXPECT_FALSE(one.queue().is_idle());
    one.queue().forget_ahead(first);
    EXPECT_TRUE(one.queue().is_idle());
}

// -- what was begun before

// Where runs take longer than the time between two firings, the key is never free for long: those
// that stand in line for it would pass what was begun before them each time.
TEST(Lane, WhatWasBegunBeforeGoesFirstAndStandsInLine) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().kind, wish_kind::orphan);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_EQ(one.wanted().kind, wish_kind::orphan);
    EXPECT_EQ(step.patience, 30s);
    one.on_granted();
    // As for each that comes due while another runs.
    const auto told = one.queue().take_skipped();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told.front().firing, second);
    EXPECT_EQ(told.front().why, skip_reason::overlap);
}

// Later ones have run since, and one of them still does.
TEST(Lane, WhatWasPassedStandsInLineToo) {
    auto one = lane_of(occurrence_mode::at_least_once);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_done();
    ASSERT_EQ(one.next(start).what, act::claim);
    ASSERT_TRUE(one.wanted().passed);
    one.on_busy({{}, {}, 30s, busy_reason::held}, true, start, even);
    EXPECT_EQ(one.next(start).patience, 30s);
    EXPECT_TRUE(one.wanted().passed);
}

// Its own claim may hold the key.
TEST(Lane, AClaimInDoubtIsSettledBeforeWhatWasBegunBefore) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.on_unanswered();
    one.on_failure(start, even);
    ASSERT_TRUE(one.queue().offer_orphan("run", first, start));
    ASSERT_EQ(one.next(start + 1min).what, act::claim);
    EXPECT_EQ(one.wanted().kind, wish_kind::firing);
}

// -- what is on the board

TEST(Lane, WhatIsOnTheBoardIsNewOnceUntilItsAnswer) {
    auto one = lane_of(occurrence_mode::at_least_once);
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

TEST(Lane, OrphansComeBeforeLaterFiringsAndTriggersLast) {
    auto one = lane_of(occurrence_mode::at_least_once, overlap::queue);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    one.queue().offer_firing(second, start, 0ms, 0ms);
    EXPECT_TRUE(one.queue().offer_orphan("o", first, start));
    std::vector<wish_kind> order;
    while (one.next(start).what == act::claim) {
        order.push_back(one.wanted().kind);
        one.on_granted();
        one.on_ended(ending::settled, start);
    }
    EXPECT_EQ(order, (std::vector{wish_kind::orphan, wish_kind::firing, wish_kind::trigger}));
}

TEST(Lane, AnOrphanWhoseFiringWaitsHereIsTakenUpByThat) {
    auto one = lane_of(occurrence_mode::at_least_once);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    EXPECT_FALSE(one.queue().offer_orphan("o", first, start));
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_FALSE(one.queue().offer_orphan("o", first, start));
}

TEST(Lane, TakesNoMoreTriggersThanItsBound) {
    auto one = lane_of(occurrence_mode::at_most_once);
    for (std::size_t i = 0; i < triggers_queued_max; ++i)
        EXPECT_TRUE(one.queue().offer_trigger("t" + std::to_string(i), start));
    EXPECT_FALSE(one.queue().offer_trigger("one more", start));
}

TEST(Lane, APausedJobKeepsItsTriggers) {
    auto one = lane_of(occurrence_mode::at_most_once, overlap::queue);
    one.queue().offer_firing(first, start, 0ms, 0ms);
    EXPECT_TRUE(one.queue().offer_trigger("t", start));
    one.queue().forget_firings();
    ASSERT_EQ(one.next(start).what, act::claim);
    EXPECT_EQ(one.wanted().kind, wish_kind::trigger);
}

// Whoever is to be left to others first is not late because of that.
TEST(Lane, WhatIsHeldBackBeginsLaterAndHasAsMuchTimeAsTheOthers) {
    lane_rules rules;
    rules.lateness_max = 1s;
    lane one{rules};
    one.queue().offer_firing(first, start, 0ms, 10s);
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::pause);
    EXPECT_EQ(step.until, start + 10s);
    EXPECT_EQ(one.next(start + 11s).what, act::claim);
}

// Every pause ends at an instant at which something else is to be done.
TEST(Lane, NoPauseEndsWhereAnotherLikeItBegins) {
    auto one = lane_of(occurrence_mode::at_most_once);
    one.queue().offer_firing(first, start, 59min + 59s, 0ms);
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
