#include "lease/claiming.hpp"

#include <gtest/gtest.h>

namespace pawl::leasing {
namespace {

using namespace std::chrono_literals;
using act = claiming::act;

constexpr instant start{1h};
constexpr double even = 0.5;

claim_plan plan_with(nanos wait = {}) {
    claim_plan plan;
    plan.how = renewal_timing_of({.ttl = 10s, .grace = 1s});
    plan.wait = wait;
    plan.backoff = 200ms;
    plan.settle = 4s;
    return plan;
}

result<acquire_result<grant>> won() {
    return acquire_result<grant>{grant{"key", fence_token{7}, 10s}};
}
result<acquire_result<grant>> held_for(millis remaining, busy_reason why = busy_reason::held) {
    return acquire_result<grant>{busy{fence_token{5}, "other", remaining, why}};
}
result<acquire_result<grant>> failed(errc code) { return failure{code, "the store said so"}; }

// Sends, and has it answered at once.
void exchange(claiming& machine, instant now, result<acquire_result<grant>> answer) {
    ASSERT_EQ(machine.next(now).what, act::send);
    machine.sent(now);
    machine.answered(std::move(answer), now, even);
}

template <class T>
bool ended_as(const claiming& machine) {
    return machine.next(start).what == act::done && std::holds_alternative<T>(machine.outcome());
}

TEST(Claiming, AGrantIsValidFromWhenItWasRequested) {
    claiming machine{plan_with(), start};
    machine.sent(start);
    machine.answered(won(), start + 1s, even);
    ASSERT_TRUE(ended_as<granted>(machine));
    EXPECT_EQ(std::get<granted>(machine.outcome()).sent, start);
}

// A store may grant less time than was asked: what is too late is judged by what it granted.
TEST(Claiming, AShorterGrantIsTooLateSooner) {
    const auto short_one = acquire_result<grant>{grant{"key", fence_token{7}, 3s}};
    claiming in_time{plan_with(), start};
    in_time.sent(start);
    in_time.answered(short_one, start + 1s, even);
    EXPECT_TRUE(ended_as<granted>(in_time));
    claiming late{plan_with(), start};
    late.sent(start);
    late.answered(short_one, start + 2800ms, even);
    EXPECT_EQ(late.next(start + 2800ms).what, act::send);
}

TEST(Claiming, BusyIsFinalForWhoDoesNotWait) {
    claiming machine{plan_with(), start};
    exchange(machine, start, held_for(5s));
    EXPECT_TRUE(ended_as<busy>(machine));
}

TEST(Claiming, AnOccurrenceThatIsDoneIsFinalAlsoForWhoWaits) {
    claiming machine{plan_with(1min), start};
    exchange(machine, start, acquire_result<grant>{already_done{occurrence{3}}});
    EXPECT_TRUE(ended_as<already_done>(machine));
}

// Its own request may have marked it: that is no word of a run.
TEST(Claiming, AnOccurrenceThatItMayHaveMarkedItselfIsToldApart) {
    const auto done = [](std::int64_t which) {
        return acquire_result<grant>{already_done{occurrence{which}}};
    };
    for (const bool lost : {false, true}) {
        for (const std::int64_t which : {3, 4}) {
            auto plan = plan_with();
            plan.marks = occurrence{3};
            claim_attempts so_far;
            so_far.unanswered = lost;
            claiming machine{plan, start, so_far};
            exchange(machine, start, done(which));
            if (lost) machine.withdrawn();
            ASSERT_TRUE(ended_as<already_done>(machine));
            EXPECT_EQ(std::get<already_done>(machine.outcome()).answer_lost, lost && which == 3);
        }
    }
}

// Rule 2: only the same claim is safe to send again, so the machine never asks for a new id here.
TEST(Claiming, AfterALostAnswerTheSameClaimIsSentAgain) {
    claiming machine{plan_with(), start};
    exchange(machine, start, failed(errc::outcome_unknown));
    const auto pause = machine.next(start);
    ASSERT_EQ(pause.what, act::pause);
    machine.woken(pause.until);
    exchange(machine, pause.until, won());
    ASSERT_TRUE(ended_as<granted>(machine));
    const auto& outcome = std::get<granted>(machine.outcome());
    EXPECT_EQ(outcome.sent, pause.until);
    EXPECT_EQ(outcome.first_sent, start);
}

// Each request fails so, and takes a second, until the machine gives up.
void fail_until_withdrawn(claiming& machine, errc why) {
    auto now = start;
    while (machine.next(now).what != act::withdraw) {
        ASSERT_LT(now, start + 10s);
        if (machine.next(now).what == act::pause) {
            now = machine.next(now).until;
            machine.woken(now);
        }
        exchange(machine, now, failed(why));
        now += 1s;
    }
}

TEST(Claiming, GivingUpWithAnUnknownOutcomeWithdrawsTheClaim) {
    claiming machine{plan_with(), start};
    fail_until_withdrawn(machine, errc::outcome_unknown);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
}

// The first request may have been granted, though the last one did not even leave.
TEST(Claiming, AStoreThatGoesAwayAfterALostAnswerLeavesTheOutcomeUnknown) {
    claiming machine{plan_with(), start};
    exchange(machine, start, failed(errc::outcome_unknown));
    fail_until_withdrawn(machine, errc::unreachable);
    machine.withdrawn();
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
}

// The lost request may still be on its way when the next one is rejected.
TEST(Claiming, ARejectionAfterALostAnswerIsWithdrawnToo) {
    claiming machine{plan_with(), start};
    exchange(machine, start, failed(errc::outcome_unknown));
    const auto again = machine.next(start).until;
    machine.woken(again);
    exchange(machine, again, held_for(5s));
    ASSERT_EQ(machine.next(again).what, act::withdraw);
    machine.withdrawn();
    EXPECT_TRUE(ended_as<busy>(machine));
}

TEST(Claiming, AStoreThatIsDownIsAnErrorAtOnceUnlessToldToRetry) {
    claiming impatient{plan_with(1min), start};
    exchange(impatient, start, failed(errc::unreachable));
    EXPECT_TRUE(ended_as<failure>(impatient));

    auto plan = plan_with(1min);
    plan.when_down = store_down::retry;
    claiming patient{plan, start};
    exchange(patient, start, failed(errc::unreachable));
    EXPECT_EQ(patient.next(start).what, act::pause);
}

// Goal: a caller that waits 3 s waits no longer for a store that is away. Method: a store that is
// silent for its timeout of 2 s, asked again and again.
TEST(Claiming, AStoreThatIsAwayIsAskedForNoLongerThanTheWait) {
    for (const auto when_down : {store_down::fail, store_down::retry}) {
        auto plan = plan_with(3s);
        plan.when_down = when_down;
        claiming machine{plan, start};
        // The first request has its timeout: it is not known yet that the store is away.
        machine.sent(start);
        EXPECT_EQ(machine.next(start).until, instant::max());
        machine.answered(failed(errc::outcome_unknown), start + 2s, even);
        const auto again = machine.next(start + 2s);
        ASSERT_EQ(again.what, act::pause);
        machine.woken(again.until);
        ASSERT_EQ(machine.next(again.until).what, act::send);
        machine.sent(again.until);
        ASSERT_EQ(machine.next(again.until).what, act::await);
        EXPECT_EQ(machine.next(again.until).until, start + 3s);
        machine.unanswered();
        ASSERT_EQ(machine.next(start + 3s).what, act::withdraw);
        machine.withdrawn();
        ASSERT_TRUE(ended_as<failure>(machine));
        EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
    }
}

// Goal: several keys can be looked at within one wait. Method: the look is given an end, and meets
// a busy key, and a store that is away.
TEST(Claiming, ALookThatHasATimeOfItsOwnEndsWithIt) {
    auto plan = plan_with(0s);
    plan.answer_by = start + 3s;
    claiming busy_one{plan, start};
    exchange(busy_one, start, held_for(5s));
    EXPECT_TRUE(ended_as<busy>(busy_one));
    claiming machine{plan, start};
    machine.sent(start);
    EXPECT_EQ(machine.next(start).until, instant::max());
    machine.answered(failed(errc::outcome_unknown), start + 2s, even);
    const auto again = machine.next(start + 2s);
    ASSERT_EQ(again.what, act::pause);
    machine.woken(again.until);
    machine.sent(again.until);
    EXPECT_EQ(machine.next(again.until).until, start + 3s);
    machine.unanswered();
    EXPECT_EQ(machine.next(start + 3s).what, act::withdraw);
    // It is not asked again when there is no time to answer.
    claiming late{plan, start};
    late.sent(start);
    late.answered(failed(errc::outcome_unknown), start + 3s, even);
    EXPECT_EQ(late.next(start + 3s).what, act::withdraw);
}

// Goal: a store that was there and has fallen silent since is away. Method: it rejects the first
// request, and does not answer the second.
TEST(Claiming, ARejectionBeforeTheSilenceIsNoAnswer) {
    auto plan = plan_with(3s);
    plan.when_down = store_down::retry;
    claiming machine{plan, start};
    exchange(machine, start, failure{errc::unreachable, "its replicas are missing", true});
    const auto again = machine.next(start);
    ASSERT_EQ(again.what, act::pause);
    machine.woken(again.until);
    machine.sent(again.until);
    machine.unanswered();
    ASSERT_EQ(machine.next(start + 3s).what, act::withdraw);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_TRUE(is_outage(std::get<failure>(machine.outcome())));
}

// Goal: to fail at once is not to settle what cannot be answered. Method: an answer is lost, and
// the store is gone when it is asked for again; what was sent is withdrawn all the same.
TEST(Claiming, WhatWasLostIsNotAskedOfAStoreThatIsGone) {
    for (const auto when_down : {store_down::fail, store_down::retry}) {
        auto plan = plan_with(0s);
        plan.when_down = when_down;
        claiming machine{plan, start};
        exchange(machine, start, failed(errc::outcome_unknown));
        const auto again = machine.next(start);
        ASSERT_EQ(again.what, act::pause);
        machine.woken(again.until);
        exchange(machine, again.until, failed(errc::unreachable));
        const auto next = machine.next(again.until).what;
        EXPECT_EQ(next, when_down == store_down::fail ? act::withdraw : act::pause);
    }
}

TEST(Claiming, ARequestThatCouldNotBeAnsweredInTimeIsNotSent) {
    auto plan = plan_with(3s);
    plan.when_down = store_down::retry;
    claiming machine{plan, start};
    exchange(machine, start, failed(errc::unreachable));
    while (machine.next(start).what != act::done) {
        const auto pause = machine.next(start);
        ASSERT_EQ(pause.what, act::pause);
        ASSERT_LE(pause.until, start + 3s);
        machine.woken(pause.until);
        if (machine.next(pause.until).what == act::send)
            exchange(machine, pause.until, failed(errc::unreachable));
    }
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::unreachable);
}

// A store that was there a moment ago may take its time over the last look at a busy key.
TEST(Claiming, TheLastLookHasTheStoresTimeout) {
    claiming machine{plan_with(1s), start};
    exchange(machine, start, held_for(1min));
    const auto listening = machine.next(start);
    ASSERT_EQ(listening.what, act::listen);
    machine.woken(listening.until);
    ASSERT_EQ(machine.next(listening.until).what, act::send);
    machine.sent(listening.until);
    EXPECT_EQ(machine.next(listening.until).until, instant::max());
}

// It may have granted something all the same, under the claim's id.
TEST(Claiming, AGrantThatIsNoneIsWithdrawn) {
    claiming machine{plan_with(1min), start};
    machine.sent(start);
    machine.mistaken(failure{errc::protocol, "token 0"});
    ASSERT_EQ(machine.next(start).what, act::withdraw);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::protocol);
}

TEST(Claiming, RetriesOfAStoreThatIsDownBackOffAndEnd) {
    auto plan = plan_with(1min);
    plan.when_down = store_down::retry;
    claiming machine{plan, start};
    auto now = start;
    int asked = 0;
    while (machine.next(now).what != act::done) {
        if (machine.next(now).what == act::pause) {
            now = machine.next(now).until;
            machine.woken(now);
            continue;
        }
        exchange(machine, now, failed(errc::unreachable));
        ++asked;
    }
    EXPECT_GE(now, start + 1min);
    EXPECT_LT(asked, 60);
}

TEST(Claiming, AWrongPasswordIsNotTriedAgain) {
    auto plan = plan_with(1min);
    plan.when_down = store_down::retry;
    claiming machine{plan, start};
    exchange(machine, start, failed(errc::denied));
    EXPECT_TRUE(ended_as<failure>(machine));
}

TEST(Claiming, WaitsForAPushOrForTheRemainingTime) {
    claiming machine{plan_with(1min), start};
    exchange(machine, start, held_for(5s));
    const auto step = machine.next(start);
    EXPECT_EQ(step.what, act::listen);
    EXPECT_GE(step.until, start + 5s);
    EXPECT_LE(step.until, start + 5100ms);
    EXPECT_EQ(machine.seen(), fence_token{5});
    machine.woken(start + 2s);
    EXPECT_EQ(machine.next(start + 2s).what, act::send);
}

TEST(Claiming, PollsWhereTheStoreHasNoPush) {
    auto plan = plan_with(1min);
    plan.poll = 1s;
    claiming machine{plan, start};
    exchange(machine, start, held_for(30s));
    EXPECT_LE(machine.next(start).until, start + 1100ms);
}

// The last look is taken at the end of the wait and not after it.
TEST(Claiming, TheWaitEndsWhenItsTimeIsUp) {
    claiming machine{plan_with(3s), start};
    exchange(machine, start, held_for(5s));
    EXPECT_EQ(machine.next(start).until, start + 3s);
    machine.woken(start + 3s);
    exchange(machine, start + 3s, held_for(2s));
    EXPECT_TRUE(ended_as<busy>(machine));
}

// Hints may come in bursts; a thousand of them must not become a thousand requests.
TEST(Claiming, ABurstOfWakeUpsIsSlowedDown) {
    claiming machine{plan_with(1min), start};
    auto now = start;
    int asked = 0;
    while (now < start + 1s) {
        const auto step = machine.next(now);
        if (step.what == act::send) {
            exchange(machine, now, held_for(30s));
            ++asked;
        } else if (step.what == act::listen) {
            machine.woken(now += 10us);
        } else {
            now = step.until;
            machine.woken(now);
        }
    }
    EXPECT_LT(asked, 60);
}

// A key that is handed over every 6 ms: who has lost a hundred times is there the next time.
TEST(Claiming, HintsThatWereTrueDoNotSlowAWaiterDownForLong) {
    claiming machine{plan_with(1min), start};
    auto now = start;
    for (std::uint64_t holder = 1; holder <= 100; ++holder) {
        exchange(machine, now,
                 acquire_result<grant>{busy{fence_token{holder}, "other", 30s, busy_reason::held}});
        now += 6ms;
        machine.woken(now);
    }
    EXPECT_EQ(machine.next(now).what, act::send);
}

TEST(Claiming, AQuarantineIsWaitedForWithoutAPush) {
    claiming machine{plan_with(1min), start};
    exchange(machine, start, held_for(5s, busy_reason::quarantined));
    EXPECT_EQ(machine.next(start).what, act::pause);
}

// R46 and P12: three times with 200 ms between them, jittered, and no sleep after the last.
TEST(Claiming, RetriesABusyKeyAsOftenAsAsked) {
    auto plan = plan_with();
    plan.retries = 2;
    claiming machine{plan, start};
    auto now = start;
    for (int i = 0; i < 2; ++i) {
        exchange(machine, now, held_for(5s));
        ASSERT_EQ(machine.next(now).what, act::pause);
        EXPECT_EQ(machine.next(now).until, now + 200ms);
        machine.woken(now += 200ms);
    }
    exchange(machine, now, held_for(5s));
    EXPECT_TRUE(ended_as<busy>(machine));
}

// A new id would find the key held by the old one, and its occurrence marked by it.
TEST(Claiming, AGrantThatComesTooLateIsAskedForAgainUnderItsId) {
    claiming machine{plan_with(1min), start};
    machine.sent(start);
    machine.answered(won(), start + 9500ms, even);
    ASSERT_EQ(machine.next(start + 9500ms).what, act::send);
    exchange(machine, start + 9500ms, won());
    ASSERT_TRUE(ended_as<granted>(machine));
    const auto& outcome = std::get<granted>(machine.outcome());
    EXPECT_EQ(outcome.sent, start + 9500ms);
    EXPECT_EQ(outcome.first_sent, start);
    EXPECT_TRUE(outcome.repeated);
}

// Goal: work is not begun with its end in sight, when the store answers well again. Method: a grant
// that leaves less than half of its useful time is asked for once more, and then taken as it comes.
TEST(Claiming, AGrantThatLeavesLittleTimeIsAskedForOnceMore) {
    auto plan = plan_with();
    plan.settle = 20s;
    claiming machine{plan, start};
    machine.sent(start);
    machine.answered(won(), start + 5s, even);
    ASSERT_EQ(machine.next(start + 5s).what, act::send);
    machine.sent(start + 5s);
    machine.answered(won(), start + 10s, even);
    ASSERT_TRUE(ended_as<granted>(machine));
    EXPECT_EQ(std::get<granted>(machine.outcome()).sent, start + 5s);
    EXPECT_TRUE(std::get<granted>(machine.outcome()).repeated);
}

// There is no time left to ask in: what the grant leaves is better than nothing.
TEST(Claiming, AGrantThatLeavesLittleTimeIsTakenByWhoHasNoTimeToAsk) {
    claiming machine{plan_with(), start};
    machine.sent(start);
    machine.answered(won(), start + 5s, even);
    EXPECT_TRUE(ended_as<granted>(machine));
}

TEST(Claiming, AStoreThatAlwaysAnswersTooLateIsGivenUpAndWithdrawn) {
    claiming machine{plan_with(), start};
    auto now = start;
    while (machine.next(now).what == act::send) {
        ASSERT_LT(now, start + 1min);
        machine.sent(now);
        machine.answered(won(), now += 9500ms, even);
    }
    ASSERT_EQ(machine.next(now).what, act::withdraw);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
}

// As of options by which no validity is left, whatever the store does: asking again keeps the key
// from all others, and cannot help.
TEST(Claiming, AGrantThatCanNeverBeOfUseIsNotAskedForAgain) {
    auto plan = plan_with(1h);
    plan.how.trust = plan.how.stop_margin = 3s;
    claiming machine{plan, start};
    exchange(machine, start, won());
    ASSERT_EQ(machine.next(start).what, act::withdraw);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
}

// Goal: a store that is slower than a lease is short is not flooded. Method: a lease that is of use
// for 62 ms, a store that grants it after 65 ms, and a caller who would wait for an hour.
TEST(Claiming, GrantsThatKeepComingTooLateAreAskedForWithPausesAndThenGivenUp) {
    auto plan = plan_with(1h);
    plan.how = renewal_timing_of({.ttl = 100ms});
    claiming machine{plan, start};
    auto now = start;
    int requests = 0;
    nanos paused{0};
    for (;;) {
        const auto step = machine.next(now);
        if (step.what == act::pause) {
            ASSERT_GE(step.until - now, 25ms);
            paused += step.until - now;
            now = step.until;
            machine.woken(now);
            continue;
        }
        if (step.what != act::send) break;
        ++requests;
        ASSERT_LE(requests, 10);
        machine.sent(now);
        machine.answered(acquire_result<grant>{grant{"key", fence_token{7}, 100ms}}, now += 65ms,
                         0);
    }
    EXPECT_EQ(requests, 9);
    EXPECT_GE(paused, 1s);
    ASSERT_EQ(machine.next(now).what, act::withdraw);
    machine.withdrawn();
    ASSERT_TRUE(ended_as<failure>(machine));
    EXPECT_EQ(std::get<failure>(machine.outcome()).code, errc::outcome_unknown);
}

// Goal: a caller that asks again later uses no occurrence up. Method: two machines, one after the
// other, under one id; the first ends without an answer and withdraws nothing.
TEST(Claiming, AKeptClaimContinuesWhereTheLastMachineEnded) {
    auto plan = plan_with();
    plan.if_unknown = claim_plan::unknown::keep;
    claiming first{plan, start};
    auto now = start;
    while (first.next(now).what != act::done) {
        ASSERT_LT(now, start + 10s);
        if (first.next(now).what == act::pause) {
            now = first.next(now).until;
            first.woken(now);
        }
        exchange(first, now, failed(errc::outcome_unknown));
        now += 1s;
    }
    ASSERT_TRUE(ended_as<failure>(first));
    EXPECT_TRUE(first.attempts().unanswered);

    claiming second{plan, now + 1min, first.attempts()};
    exchange(second, now + 1min, won());
    ASSERT_TRUE(ended_as<granted>(second));
    EXPECT_EQ(std::get<granted>(second.outcome()).first_sent, start);
    EXPECT_TRUE(std::get<granted>(second.outcome()).repeated);
    EXPECT_FALSE(second.attempts().unanswered);
}

TEST(Claiming, CancelledInTheMiddleOfARequestWithdrawsIt) {
    claiming machine{plan_with(1min), start};
    machine.sent(start);
    machine.cancel();
    ASSERT_EQ(machine.next(start).what, act::withdraw);
    machine.withdrawn();
    EXPECT_TRUE(ended_as<cancelled>(machine));
}

TEST(Claiming, CancelledWhileWaitingHasNothingToWithdraw) {
    claiming machine{plan_with(1min), start};
    exchange(machine, start, held_for(5s));
    machine.cancel();
    EXPECT_TRUE(ended_as<cancelled>(machine));
}

}  // namespace
}  // namespace pawl::leasing
