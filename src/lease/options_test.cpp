#include <pawl/options.hpp>

#include "lease/renewal_timing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr store_traits ordinary{.strict_fencing = false};

std::string fault(const lease_options& options, safety_class safety = safety_class::efficiency,
                  store_traits traits = ordinary) {
    return validate(options, traits, safety).value_or("");
}

TEST(Options, AnOrdinaryLeaseHasNothingWrong) {
    EXPECT_EQ(fault({.ttl = 30s}), "");
    EXPECT_EQ(fault({.ttl = 30s, .min_hold = 5min}), "");
    EXPECT_EQ(fault({.ttl = 10ms}), "");
}

TEST(Options, EveryProfileOfTheSourceDocumentsIsValid) {
    for (const auto& one : {profile::batch_job(), profile::exclusive_job(), profile::short_job(),
                            profile::reconcile_loop(), profile::workflow_run(),
                            profile::snapshot_writer(), profile::shedlock(), profile::dotnet()})
        EXPECT_EQ(fault(one), "");
}

// Each rejection names the option and its value, and says what would do.
TEST(Options, WhatDoesNotGoTogetherIsExplained) {
    EXPECT_THAT(fault({}), HasSubstr("ttl is missing"));
    EXPECT_THAT(fault({.ttl = -1s}), HasSubstr("too short"));
    EXPECT_THAT(fault({.ttl = 24h * 8}), HasSubstr("at most 7d"));
    EXPECT_THAT(fault({.ttl = 4ms}), HasSubstr("leaves no time in which the lease is valid"));
    EXPECT_THAT(fault({.ttl = 30s, .renew_fraction = 1.0}), HasSubstr("at or after the expiry"));
    EXPECT_THAT(fault({.ttl = 30s, .renew_fraction = 0.0}), HasSubstr("between 0 and 1"));
    // Nothing is computed of it: it fits no duration.
    EXPECT_THAT(fault({.ttl = 4ms, .renew_fraction = 1e300}), HasSubstr("at or after the expiry"));
    EXPECT_THAT(fault({.ttl = 30s, .renew_fraction = 1.0 / 3}), HasSubstr("no third attempt"));
    EXPECT_THAT(fault({.ttl = 30s, .renew_fraction = 0.97, .retry_period = 1s}),
                HasSubstr("after it stops being valid"));
    EXPECT_THAT(fault({.ttl = 30s, .renew_jitter = 0.9}), HasSubstr("renew_jitter 0.9"));
    EXPECT_THAT(fault({.ttl = 30s, .retry_period = 30s}), HasSubstr("retry_period 30s"));
    EXPECT_THAT(fault({.ttl = 30s, .min_hold = 31s, .hold_until_expiry = true}),
                HasSubstr("drop hold"));
    EXPECT_THAT(fault({.ttl = 30s, .min_hold = -1s}), HasSubstr("min_hold"));
    EXPECT_THAT(fault({.ttl = 30s, .max_lifetime = 10s}), HasSubstr("max_lifetime 10s"));
    EXPECT_THAT(fault({.ttl = 30s, .drift = 0.5}), HasSubstr("drift 0.5"));
    EXPECT_THAT(fault({.ttl = 30s, .margin = 30s}), HasSubstr("margin 30s"));
    EXPECT_THAT(fault({.ttl = 30s, .max_lifetime = -1s}), HasSubstr("max_lifetime -1s"));
    EXPECT_THAT(fault({.ttl = 30s, .grace = -1s}), HasSubstr("grace -1s is negative"));
    EXPECT_THAT(fault({.ttl = 30s, .acquire_jitter = -1s}), HasSubstr("acquire_jitter -1s"));
    EXPECT_THAT(fault({.ttl = 30s, .max_renew_failures = 0}), HasSubstr("max_renew_failures 0"));
    for (const std::int64_t far :
         {std::int64_t{-1}, number(occurrence_max) + 1, INT64_MIN, INT64_MAX})
        EXPECT_THAT(fault({.ttl = 30s, .occurrence = occurrence{far}}),
                    HasSubstr("occurrence " + std::to_string(far) + " lies outside"));
    EXPECT_EQ(fault({.ttl = 30s, .occurrence = occurrence_max}), "");
    EXPECT_THAT(fault({.ttl = 30s, .occurrence = occurrence{1}, .delivery = delivery::off}),
                HasSubstr("delivery off"));
}

// As people write "no limit": nanoseconds would overflow.
TEST(Options, ADurationBeyondAnyClockIsRejected) {
    for (const auto far : {millis::max(), millis{std::chrono::years{300}}}) {
        EXPECT_THAT(fault({.ttl = 30s, .grace = far}), HasSubstr("grace"));
        EXPECT_THAT(fault({.ttl = 30s, .max_lifetime = far}), HasSubstr("at most 3650d"));
        EXPECT_THAT(fault({.ttl = 30s, .acquire_jitter = far}), HasSubstr("acquire_jitter"));
        EXPECT_THAT(fault({.ttl = 30s, .retry_period = far}), HasSubstr("retry_period"));
        EXPECT_THAT(fault({.ttl = 30s, .margin = far}), HasSubstr("margin"));
        const auto how = leasing::renewal_timing_of(
            {.ttl = 30s, .renew = renewal_mode::manual, .retry_period = far, .grace = far});
        EXPECT_EQ(how.stop_margin, 10s);
        EXPECT_EQ(how.retry_after, 30s);
    }
    EXPECT_EQ(fault({.ttl = 30s, .grace = 24h * 3650, .max_lifetime = 24h * 3650}), "");
}

// The handle that is shared would be taken for a grant of the occurrence, which runs again later.
TEST(Options, AnOccurrenceIsNotSharedByReentrancy) {
    EXPECT_THAT(
        fault({.ttl = 30s, .occurrence = occurrence{1}, .reentrancy = reentrancy::instance}),
        HasSubstr("another occurrence"));
}

// A cast makes one, as of a number that was read from a file.
TEST(Options, AValueOutsideItsEnumIsRejected) {
    const auto faulty = [](auto lease_options::* which, int value) {
        lease_options options{.ttl = 30s};
        options.*which = static_cast<std::decay_t<decltype(options.*which)>>(value);
        return fault(options);
    };
    EXPECT_THAT(faulty(&lease_options::delivery, 3), HasSubstr("delivery 3 is not an enumerator"));
    EXPECT_THAT(faulty(&lease_options::renew, 2), HasSubstr("renew 2"));
    EXPECT_THAT(faulty(&lease_options::if_expired, -1), HasSubstr("if_expired -1"));
    EXPECT_THAT(faulty(&lease_options::reentrancy, 2), HasSubstr("reentrancy 2"));
    EXPECT_THAT(faulty(&lease_options::fencing, 2), HasSubstr("fencing 2"));
    EXPECT_THAT(faulty(&lease_options::on_store_down, 2), HasSubstr("on_store_down 2"));
    EXPECT_EQ(faulty(&lease_options::on_store_down, 1), "");
}

// A holder that is told to stop before it has renewed would be stopped in each lease.
TEST(Options, ALaterRenewalIsAllowedWithARetryPeriodAndAShortGrace) {
    EXPECT_EQ(fault({.ttl = 30s, .renew_fraction = 0.6, .retry_period = 2s, .grace = 5s}), "");
    EXPECT_THAT(fault({.ttl = 30s, .renew_fraction = 0.6, .retry_period = 2s}),
                HasSubstr("only after its holder was stopped, with a grace of 10s"));
    EXPECT_EQ(fault({.ttl = 30s, .renew_fraction = 0.5, .retry_period = 2s}), "");
}

// Goal: a grant that leaves no time before its holder is told to stop is of no use to anybody, so
// it is not asked for. Method: margins and graces that meet, also where the lease is not renewed by
// itself, or early enough.
TEST(Options, ALeaseThatIsOverBeforeItBeginsIsRejected) {
    for (const auto& none : {lease_options{.ttl = 10s, .renew = renewal_mode::manual, .margin = 7s},
                             lease_options{.ttl = 10s, .renew_fraction = 0.1, .margin = 7s},
                             lease_options{.ttl = 7ms, .renew = renewal_mode::manual}}) {
        EXPECT_THAT(fault(none), HasSubstr("margin"));
        EXPECT_THAT(fault(none), HasSubstr("a grace of 10s"));
    }
    EXPECT_EQ(fault({.ttl = 10s, .renew = renewal_mode::manual, .grace = 1s, .margin = 7s}), "");
    EXPECT_EQ(fault({.ttl = 8ms, .renew = renewal_mode::manual}), "");
    EXPECT_EQ(fault({.ttl = 7ms, .renew = renewal_mode::manual, .grace = 0ms}), "");
}

TEST(Options, RespectTheStoresFloorAndStep) {
    EXPECT_THAT(fault({.ttl = 500ms}, safety_class::efficiency, {.ttl_min = 1s}),
                HasSubstr("1s or more"));
    EXPECT_THAT(fault({.ttl = 1500ms}, safety_class::efficiency, {.ttl_min = 1s, .ttl_step = 1s}),
                HasSubstr("not a multiple of 1s"));
}

TEST(Options, CorrectnessRejectsWhatWouldWeakenIt) {
    EXPECT_THAT(fault({.ttl = 30s}, safety_class::correctness), HasSubstr("quarantine=DUR"));
    EXPECT_THAT(fault({.ttl = 30s, .fencing = fencing::required}), HasSubstr("strict fencing"));
    EXPECT_THAT(fault({.ttl = 30s, .if_expired = expired_renewal::extend_if_unclaimed},
                      safety_class::correctness, {.strict_fencing = true}),
                HasSubstr("extend_if_unclaimed"));
    EXPECT_EQ(fault({.ttl = 30s}, safety_class::correctness, {.strict_fencing = true}), "");
}

}  // namespace
}  // namespace pawl
