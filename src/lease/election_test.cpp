// The machine of leadership, on instants that the tests make up.
#include "lease/election.hpp"

#include <pawl/leader.hpp>

#include <gtest/gtest.h>

namespace pawl::leasing {
namespace {

using namespace std::chrono_literals;
using act = election::act;

constexpr instant start{1h};
constexpr lease_options fifteen{.ttl = 15s};

election fresh() { return {election_plan_of(fifteen), start}; }

TEST(Election, BeginsByAskingForTheKey) {
    const auto machine = fresh();
    EXPECT_EQ(machine.next(start).what, act::claim);
}

TEST(Election, ServesOnceElectedAndCountsTheTerms) {
    auto machine = fresh();
    machine.elected(start);
    EXPECT_EQ(machine.next(start + 1h).what, act::serve);
    EXPECT_EQ(machine.terms(), 1u);
}

// A leader that returns of its own accord lets the others have a go first: a renewal interval, 0.3
// of the TTL, with a tenth of jitter to both sides.
TEST(Election, RestsForARenewalIntervalAfterATermThatWasGivenUp) {
    for (const double uniform : {0.0, 0.5, 1.0}) {
        auto machine = fresh();
        machine.elected(start);
        machine.ended(term_end::given_up, start + 1min, uniform);
        const auto step = machine.next(start + 1min);
        EXPECT_EQ(step.what, act::rest);
        EXPECT_EQ(step.until, start + 1min + 4050ms + uniform * 900ms);
        EXPECT_EQ(machine.next(step.until).what, act::claim);
    }
}

TEST(Election, CampaignsAtOnceAfterATermThatWasTakenAway) {
    auto machine = fresh();
    machine.elected(start);
    machine.ended(term_end::taken_away, start + 1min, 0.5);
    EXPECT_EQ(machine.next(start + 1min).what, act::claim);
}

// Goal: a store that is down is never asked in a tight loop, nor left alone for long after it is
// back. Method: a thousand failures in a row at both ends of chance.
TEST(Election, StaysAwayFromAStoreThatIsDownForLongerAndLongerUpToABound) {
    for (const double uniform : {0.0, 1.0}) {
        auto machine = fresh();
        auto now = start;
        nanos before{0};
        for (int i = 0; i < 1000; ++i) {
            machine.failed({errc::unreachable, "down"}, now, uniform);
            const auto step = machine.next(now);
            ASSERT_EQ(step.what, act::rest);
            const nanos pause = step.until - now;
            EXPECT_GE(pause, before);
            EXPECT_GE(pause, 25ms);
            EXPECT_LE(pause, 4500ms);
            before = pause;
            now = step.until;
            ASSERT_EQ(machine.next(now).what, act::claim);
        }
        EXPECT_EQ(before, uniform == 0.0 ? nanos{2250ms} : nanos{4500ms});
    }
}

TEST(Election, ForgetsTheFailuresOnceItIsElected) {
    auto machine = fresh();
    for (int i = 0; i < 8; ++i) machine.failed({errc::unreachable, "down"}, start, 1.0);
    machine.elected(start);
    machine.ended(term_end::taken_away, start, 1.0);
    machine.failed({errc::unreachable, "down"}, start, 1.0);
    EXPECT_EQ(machine.next(start).until, start + 50ms);
}

TEST(Election, AStoreThatNeverAnsweredAndNeedsAnAdministratorEndsTheCampaign) {
    for (const auto code : {errc::denied, errc::protocol, errc::unsupported}) {
        auto machine = fresh();
        machine.failed({code, "no"}, start, 0.5);
        EXPECT_EQ(machine.next(start).what, act::over);
        ASSERT_TRUE(machine.fault());
        EXPECT_EQ(machine.fault()->code, code);
    }
}

TEST(Election, AStoreThatHasAnsweredIsAskedAgainWhateverItSays) {
    for (const auto code : {errc::unreachable, errc::outcome_unknown, errc::rejected, errc::denied,
                            errc::protocol, errc::unsupported}) {
        auto machine = fresh();
        machine.rejected(start, 0.5);
        machine.failed({code, "no"}, start + 1h, 0.5);
        EXPECT_EQ(machine.next(start + 1h).what, act::rest);
        EXPECT_FALSE(machine.fault());
    }
}

TEST(Election, AStoreThatIsFullHasAnswered) {
    auto machine = fresh();
    machine.failed({errc::unreachable, "full", true}, start, 0.5);
    machine.failed({errc::denied, "no"}, start + 1h, 0.5);
    EXPECT_EQ(machine.next(start + 1h).what, act::rest);
}

TEST(Election, IsOverOnceCalledOff) {
    auto machine = fresh();
    machine.elected(start);
    machine.call_off();
    EXPECT_EQ(machine.next(start).what, act::over);
    EXPECT_FALSE(machine.fault());
}

TEST(Election, WhatMakesNoSenseForALeaderIsExplained) {
    EXPECT_FALSE(leadership_fault(fifteen));
    EXPECT_TRUE(
        leadership_fault({.ttl = 15s, .occurrence = occurrence{1}})->starts_with("occurrence"));
    EXPECT_TRUE(leadership_fault({.ttl = 15s, .renew = renewal_mode::manual})
                    ->starts_with("renewal_mode::manual"));
    EXPECT_TRUE(leadership_fault({.ttl = 15s, .reentrancy = reentrancy::instance})
                    ->starts_with("reentrancy::instance"));
}

}  // namespace
}  // namespace pawl::leasing
