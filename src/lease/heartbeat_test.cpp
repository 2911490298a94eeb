#include "lease/heartbeat.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::leasing {
namespace {

using namespace std::chrono_literals;
using act = heartbeat::act;

constexpr instant start{1h};
// In the middle: no jitter at all.
constexpr double even = 0.5;

lease_options options_of(millis ttl) { return {.ttl = ttl, .grace = millis{1000}}; }

heartbeat beating(const lease_options& options) {
    return heartbeat{renewal_timing_of(options), start, even};
}

// Rule 8, with the default drift of 1/1000 and margin of ttl/50.
TEST(Heartbeat, AGrantIsValidFromWhenTheClaimWasSentLessDriftAndMargin) {
    const auto beat = beating(options_of(10s));
    EXPECT_EQ(beat.valid_until(), start + 10s - 10ms - 200ms);
    EXPECT_TRUE(beat.valid(start + 9789ms));
    EXPECT_FALSE(beat.valid(start + 9790ms));
}

TEST(Heartbeat, ShortLeasesKeepFiveMillisecondsOfMargin) {
    EXPECT_EQ(beating(options_of(100ms)).valid_until(), start + 100ms - 100us - 5ms);
}

// Two renewals in a row may fail, and the third still comes in time (R101, P2).
TEST(Heartbeat, LeavesAThirdAttemptAfterTwoThatFailed) {
    auto beat = beating(options_of(10s));
    int attempts = 0;
    for (auto now = start; beat.valid(now); now += 1ms) {
        if (beat.next(now).what != act::renew) continue;
        beat.renewal_sent(now, even);
        ++attempts;
        if (attempts < 3) continue;
        beat.renewal_answered(now, renewal::renewed, now, even);
        EXPECT_GT(beat.valid_until(), now + 9s);
        return;
    }
    FAIL() << "only " << attempts << " attempts";
}

// What validate() does not look at is not computed with.
TEST(Heartbeat, FractionsDoNotCountWhereItsCallerRenews) {
    auto by_hand = options_of(10s);
    by_hand.renew = renewal_mode::manual;
    by_hand.renew_fraction = std::numeric_limits<double>::quiet_NaN();
    by_hand.renew_jitter = 1e300;
    const auto how = renewal_timing_of(by_hand);
    EXPECT_EQ(how.renew_after, 0ns);
    EXPECT_EQ(how.jitter, 0);
    EXPECT_EQ(beating(by_hand).next(start).what, act::wait);
}

TEST(Heartbeat, RenewsAtThreeTenthsOfTheTtlWithTenPerCentOfJitter) {
    for (const auto& [uniform, at] : {std::pair{0.0, 2700ms}, {0.5, 3000ms}, {1.0, 3300ms}}) {
        const heartbeat beat{renewal_timing_of(options_of(10s)), start, uniform};
        EXPECT_EQ(beat.next(start).until, start + at);
        EXPECT_EQ(beat.next(start + at).what, act::renew);
    }
}

// However long the answer took, trust is counted from when the request left.
TEST(Heartbeat, SlowRenewalExtendsValidityOnlyFromWhenItWasSent) {
    auto beat = beating(options_of(10s));
    beat.renewal_sent(start + 3s, even);
    beat.renewal_answered(start + 3s, renewal::renewed, start + 9s, even);
    EXPECT_EQ(beat.valid_until(), start + 3s + 9790ms);
}

TEST(Heartbeat, AnOlderAnswerNeverShortensValidity) {
    auto beat = beating(options_of(10s));
    beat.renewal_sent(start + 3s, even);
    beat.renewal_sent(start + 4s, even);
    beat.renewal_answered(start + 4s, renewal::renewed, start + 5s, even);
    beat.renewal_answered(start + 3s, renewal::renewed, start + 6s, even);
    EXPECT_EQ(beat.valid_until(), start + 4s + 9790ms);
}

TEST(Heartbeat, LostStopsAtOnce) {
    auto beat = beating(options_of(10s));
    beat.renewal_sent(start + 3s, even);
    beat.renewal_answered(start + 3s, renewal::lost, start + 4s, even);
    EXPECT_EQ(beat.next(start + 4s).what, act::lose);
    EXPECT_EQ(beat.why(start + 4s), loss::taken);
}

// A time-out is no answer: trust runs on, and ends when it ends.
TEST(Heartbeat, UnknownLeavesValidityAsItWas) {
    auto beat = beating(options_of(10s));
    beat.renewal_sent(start + 3s, even);
    beat.renewal_answered(start + 3s, renewal::unknown, start + 5s, even);
    EXPECT_EQ(beat.failures(), 1);
    EXPECT_TRUE(beat.valid(start + 9789ms));
    EXPECT_EQ(beat.next(start + 9790ms).what, act::lose);
    EXPECT_EQ(beat.why(start + 9790ms), loss::validity_ended);
}

TEST(Heartbeat, ALateRenewedDoesNotUnLose) {
    auto beat = beating(options_of(10s));
    beat.renewal_sent(start + 9s, even);
    beat.renewal_answered(start + 9s, renewal::renewed, start + 9800ms, even);
    EXPECT_FALSE(beat.valid(start + 9800ms));
    EXPECT_EQ(beat.next(start + 9800ms).what, act::lose);
}

// Seed 002's figure, 60 s with failures every 20 s: the job stops before the lease can pass on, by
// the deadline and not by the count.
TEST(Heartbeat, ThreeFailuresStopTheJobBeforeTheExpiry) {
    auto beat = beating({.ttl = 60s, .renew_fraction = 0.32, .grace = 10s});
    instant told{};
    for (auto now = start; now < start + 60s && told == instant{}; now += 10ms) {
        const auto step = beat.next(now);
        if (step.what == act::renew) {
            beat.renewal_sent(now, even);
            beat.renewal_answered(now, renewal::unknown, now, even);
        }
        if (step.what == act::stop) told = now;
    }
    EXPECT_GE(beat.failures(), 3);
    EXPECT_LE(told, start + 60s - 10s);
    EXPECT_GT(told, start + 48s);
}

TEST(Heartbeat, TellsToStopAGraceBeforeValidityEndsAndContinuesRenewing) {
    auto beat = beating(options_of(10s));
    const auto stop = start + 8790ms;
    beat.renewal_sent(start + 3s, even);
    EXPECT_EQ(beat.stop_at(), stop);
    EXPECT_EQ(beat.next(stop).what, act::stop);
    beat.stop_told();
    EXPECT_EQ(beat.next(stop).what, act::renew);
    beat.renewal_sent(stop, even);
    beat.renewal_answered(stop, renewal::renewed, stop + 1ms, even);
    EXPECT_TRUE(beat.valid(stop + 9s));
}

TEST(Heartbeat, TheStopMarginIsAtMostAThirdOfTheTtl) {
    const heartbeat beat{renewal_timing_of({.ttl = 3s, .grace = 1h}), start, even};
    EXPECT_EQ(beat.valid_until() - beat.stop_at(), 1s);
}

TEST(Heartbeat, AFailureIsForgottenAfterASuccess) {
    auto beat = beating(options_of(10s));
    for (auto sent = start + 3s; sent < start + 9s; sent += 1s) {
        beat.renewal_sent(sent, even);
        beat.renewal_answered(sent, renewal::unknown, sent, even);
        beat.renewal_sent(sent, even);
        beat.renewal_answered(sent, renewal::renewed, sent, even);
        EXPECT_EQ(beat.failures(), 0);
    }
    EXPECT_TRUE(beat.valid(start + 17s));
}

// A hung job whose heartbeat goes on would keep its key for ever.
TEST(Heartbeat, MaxLifetimeEndsRenewalAndThenValidity) {
    auto beat = beating({.ttl = 10s, .grace = 1s, .max_lifetime = 25s});
    auto now = start;
    instant last_sent{};
    for (; beat.valid(now); now += 10ms) {
        const auto step = beat.next(now);
        if (step.what == act::stop) beat.stop_told();
        if (step.what != act::renew) continue;
        last_sent = now;
        beat.renewal_sent(now, even);
        beat.renewal_answered(now, renewal::renewed, now, even);
    }
    // Less drift and margin, as for the ttl: the store ends the lifetime by its own clock.
    EXPECT_EQ(beat.valid_until(), start + 25s - 25ms - 200ms);
    EXPECT_LT(last_sent, start + 20s);
    EXPECT_EQ(beat.why(now), loss::lifetime_ended);
}

// A repeated claim may have been granted by its first request: given the second one's answer, the
// lifetime is still counted from the first.
TEST(Heartbeat, MaxLifetimeIsCountedFromTheFirstRequestOfARepeatedClaim) {
    const auto how = renewal_timing_of({.ttl = 10s, .max_lifetime = 12s});
    heartbeat beat{how, start + 3s, start, even};
    beat.renewal_sent(start + 6s, even);
    beat.renewal_answered(start + 6s, renewal::renewed, start + 6s, even);
    EXPECT_EQ(beat.valid_until(), start + 12s - 12ms - 200ms);
}

TEST(Heartbeat, ManualRenewalIsNeverAsked) {
    const auto beat = beating({.ttl = 10s, .renew = renewal_mode::manual, .grace = 1s});
    for (auto now = start; now < start + 8s; now += 100ms)
        EXPECT_EQ(beat.next(now).what, act::wait);
}

// A store that answers nothing gets a bounded number of requests, not a flood.
TEST(Heartbeat, DoesNotFloodAnUnresponsiveStore) {
    auto beat = beating({.ttl = 10s, .retry_period = 1ms});
    int sent = 0;
    for (auto now = start; now < start + 9s; now += 1ms)
        if (beat.next(now).what == act::renew) {
            beat.renewal_sent(now, even);
            ++sent;
        }
    EXPECT_LE(sent, 8);
}

// Seed 000's three time lines, and the one that it gets wrong: a crash just after a heartbeat.
TEST(Heartbeat, ReproducesTheTimelinesOfTheRedisDecisionRecord) {
    lease_options batch_job = profile::batch_job();
    batch_job.renew_jitter = 0;
    auto beat = beating(batch_job);
    EXPECT_EQ(beat.next(start).until, start + 3min);
    EXPECT_EQ(beat.next(start + 3min).what, act::renew);
    beat.renewal_sent(start + 3min, even);
    beat.renewal_answered(start + 3min, renewal::renewed, start + 3min, even);
    EXPECT_EQ(beat.next(start + 3min).until, start + 6min);
    // The store lets go at 13:00, ten minutes after the last renewal; trust ends before that.
    EXPECT_LT(beat.valid_until(), start + 13min);
    EXPECT_GT(beat.valid_until(), start + 12min + 45s);
}

}  // namespace
}  // namespace pawl::leasing
