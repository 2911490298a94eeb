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

lane lane_of(remembering mode, overlap when_running = overlap::skip) {
    lane_rules rules;
    rules.mode = mode;
    rules.when_running = when_running;
    return lane{rules};
}

void begin_run(lane& one, occurrence firing, instant now) {
    one.offer_firing(firing, now, 0ms, 0ms);
    ASSERT_EQ(one.next(now).what, act::claim);
    ASSERT_EQ(one.wanted().firing, firing);
    one.on_granted();
}

TEST(Lane, AsksAgainForAnAtLeastOnceFiringThatWasLeftUnfinished) {
    auto one = lane_of(remembering::at_least_once);
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
    auto one = lane_of(remembering::at_most_once);
    begin_run(one, first, start);
    one.on_ended(ending::unfinished, start);
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// A clock that ran ahead has made it ask for a firing of the future; what is due before that runs.
TEST(Lane, AFiringAheadOfTheClockMakesWayWhenTheClockIsPutBack) {
    for (const auto mode : {remembering::at_most_once, remembering::at_least_once}) {
        auto one = lane_of(mode);
        one.offer_firing(second, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
        one.forget_ahead(first);
        one.offer_firing(first, start, 0ms, 0ms);
        ASSERT_EQ(one.next(start).what, act::claim);
        EXPECT_EQ(one.wanted().firing, first);
        EXPECT_TRUE(one.take_skipped().empty());
    }
}

TEST(Lane, AClaimUnderWayForAFiringAheadIsItsLast) {
    auto one = lane_of(remembering::at_least_once);
    one.offer_firing(second, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    one.forget_ahead(first);
    one.on_busy({{}, {}, 30s, busy_reason::early}, false, start, even);
    EXPECT_TRUE(one.is_idle());
    EXPECT_EQ(one.next(start).what, act::nothing);
}

// Goal: what a reload says holds at once. Method: a busy key, which answers the question as long as
// overlaps are skipped, and is waited for since they queue up.
TEST(Lane, FollowsTheRulesOfItsJobWhenTheyChange) {
    auto one = lane_of(remembering::at_most_once);
    one.offer_firing(first, start, 0ms, 0ms);
    ASSERT_EQ(one.next(start).what, act::claim);
    lane_rules rules;
    rules.when_running = overlap::queue;
    one.follow(rules);
    one.on_busy({{}, {}, 30s, busy_reason::held}, false, start, even);
    EXPECT_TRUE(one.take_skipped().empty());
    const auto step = one.next(start);
    ASSERT_EQ(step.what, act::claim);
    EXPECT_GT(step.patience, 0ms);
}

// The store refuses what later firings have passed; its row on the board does not.
TEST(Lane, AnOrphanThatOthersHavePassedIsAskedForByItsRow) {
    auto one = lane_of(remembering::at_least_once);
    ASSERT_TRUE(one.offer_orphan("run", first, start));
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
    auto one = lane_of(remembering::at_most_once);
    begin_run(one, first, start);
    occurrence latest = first;
    for (std::size_t i = 0; i < skips_kept_max + 10; ++i) {
        latest = occurrence{number(latest) + 1'000};
        one.offer_firing(latest, start, 0ms, 0ms);
    }
    EXPECT_TRUE(one.has_skipped());
    const auto skipped = one.take_skipped();
    ASSERT_EQ(skipped.size(), skips_kept_max);
    EXPECT_EQ(skipped.back().firing, latest);
    EXPECT_EQ(skipped.back().why, skip_reason::overlap);
    EXPECT_FALSE(one.has_skipped());
}

// Every pause ends at an instant at which something else is to be done.
TEST(Lane, NoPauseEndsWhereAnotherLikeItBegins) {
    auto one = lane_of(remembering::at_most_once);
    one.offer_firing(first, start, 59min + 59s, 0ms);
    auto now = start;
    for (int rounds = 0; rounds < 20; ++rounds) {
        const auto step = one.next(now);
        if (step.what == act::nothing) {
            ASSERT_EQ(one.take_skipped().size(), 1U);
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
