// What the engines that use these rules cannot show: exact instants, skewed and stepping clocks.
// The laws that every store keeps are in test_support/conformance.
#include <pawl/spi/rules.hpp>

#include <gtest/gtest.h>

namespace pawl::rules {
namespace {

using namespace std::chrono_literals;

// A wall clock that is 1000 s ahead of the elapsed one, so that a mix-up shows.
store_time at(micros elapsed) { return {elapsed, elapsed + 1000s}; }

constexpr millis skew{60'000};

claim claim_of(const char* id, millis ttl = 10s) { return {"key", id, "owner", ttl}; }

fence_token token_of(const acquire_result<grant>& what) { return std::get<grant>(what).token; }

TEST(Rules, ALeaseIsLiveUntilItsLastMicrosecondAndNotLonger) {
    lease_record state;
    acquire(state, claim_of("a"), at(0us), skew);
    EXPECT_TRUE(std::holds_alternative<busy>(acquire(state, claim_of("b"), at(10s - 1us), skew)));
    EXPECT_TRUE(std::holds_alternative<grant>(acquire(state, claim_of("b"), at(10s), skew)));
}

TEST(Rules, TheTokenIsTheWallClockInMicrosecondsOrOneMoreThanTheLast) {
    lease_record state;
    const auto first = token_of(acquire(state, claim_of("a", 1ms), at(5s), skew));
    EXPECT_EQ(number(first), 1'005'000'000U);
    // The wall clock steps back an hour while the elapsed one goes on.
    const store_time back{6s, 0us};
    EXPECT_EQ(number(token_of(acquire(state, claim_of("b", 1ms), back, skew))), number(first) + 1);
}

TEST(Rules, AWallClockBefore1970StillMintsAToken) {
    lease_record state;
    EXPECT_EQ(number(token_of(acquire(state, claim_of("a"), {0us, -5s}, skew))), 1U);
}

TEST(Rules, RemainingIsRoundedUp) {
    lease_record state;
    acquire(state, claim_of("a"), at(0us), skew);
    EXPECT_EQ(std::get<busy>(acquire(state, claim_of("b"), at(10s - 1us), skew)).remaining, 1ms);
}

TEST(Rules, ARenewalNeverShortensALease) {
    lease_record state;
    const auto token = token_of(acquire(state, claim_of("a"), at(0us), skew));
    EXPECT_TRUE(renew(state, {"key", token, 1s}, at(1s)));
    EXPECT_EQ(state.until, 10s);
}

TEST(Rules, MaxLifetimeIsCountedFromTheGrant) {
    lease_record state;
    const auto token = token_of(acquire(state, claim_of("a"), at(0us), skew));
    EXPECT_TRUE(renew(state, {"key", token, 10s, 15s}, at(9s)));
    EXPECT_EQ(state.until, 15s);
    EXPECT_FALSE(renew(state, {"key", token, 10s, 15s}, at(15s)));
}

TEST(Rules, AForcedReleaseDelaysNeverPastTheOldEnd) {
    lease_record state;
    const auto token = token_of(acquire(state, claim_of("a"), at(0us), skew));
    EXPECT_TRUE(force_release(state, token, 1min, at(4s)));
    EXPECT_EQ(state.until, 10s);
    EXPECT_EQ(number(state.last_token), number(token) + 1);
    EXPECT_FALSE(
        renew(state, {"key", token, 10s, 0ms, expired_renewal::extend_if_unclaimed}, at(5s)));
}

TEST(Rules, AtLeastIsCountedFromTheGrantAndNotFromTheRelease) {
    lease_record state;
    const auto token = token_of(acquire(state, claim_of("a"), at(0us), skew));
    release(state, token, {.min_hold = 3s}, at(2s));
    EXPECT_EQ(state.until, 3s);
    lease_record late;
    const auto other = token_of(acquire(late, claim_of("a"), at(0us), skew));
    release(late, other, {.min_hold = 3s}, at(5s));
    EXPECT_EQ(late.until, 5s);
}

// The runner died after its work and before its release: no other took the key since, so its word
// counts.
TEST(Rules, DoneCountsAfterTheLeaseExpiredUnlessTheKeyWasTaken) {
    lease_record state;
    claim wanted = claim_of("a", 1s);
    wanted.occurrence = occurrence{1};
    wanted.delivery = delivery::at_least_once;
    const auto token = token_of(acquire(state, wanted, at(0us), skew));
    lease_record taken = state;
    EXPECT_TRUE(release(state, token, {.done = occurrence{1}}, at(2s)).changed);
    EXPECT_EQ(state.last_done, occurrence{1});
    acquire(taken, claim_of("b"), at(2s), skew);
    EXPECT_FALSE(release(taken, token, {.done = occurrence{1}}, at(3s)).changed);
    EXPECT_FALSE(taken.last_done);
}

TEST(Rules, AnOccurrenceFarAheadOfTheStoresClockIsTooEarly) {
    lease_record state;
    claim wanted = claim_of("a");
    wanted.occurrence = occurrence{(1000 + 61) * 1000};
    const auto rejected = acquire(state, wanted, at(0us), skew);
    EXPECT_EQ(std::get<busy>(rejected).reason, busy_reason::early);
    EXPECT_EQ(std::get<busy>(rejected).remaining, 1s);
    EXPECT_TRUE(std::holds_alternative<grant>(acquire(state, wanted, at(1s), skew)));
}

// The start goes with the quarantine; the end does not.
TEST(Rules, AFenceTakesOnlyTokensThatCanHaveBeenIssuedSinceTheBirthOfTheStore) {
    const auto issued = issued_tokens(1min, 1000s, 2000s, skew);
    fence_token newest{};
    EXPECT_FALSE(
        check_fence(newest, fence_token{999'999'999}, fence_rule::reject_older, issued).accepted);
    EXPECT_EQ(newest, fence_token{});
    EXPECT_TRUE(
        check_fence(newest, fence_token{1'000'000'000}, fence_rule::reject_older, issued).accepted);
    EXPECT_TRUE(
        check_fence(newest, fence_token{2'060'000'000}, fence_rule::reject_older, issued).accepted);
    const auto ahead =
        check_fence(newest, fence_token{2'060'000'001}, fence_rule::reject_older, issued);
    EXPECT_FALSE(ahead.accepted);
    EXPECT_TRUE(ahead.never_issued);
    EXPECT_EQ(newest, fence_token{2'060'000'000});
    EXPECT_EQ(issued_tokens(std::nullopt, 1000s, 2000s, skew).oldest, fence_token{});
}

TEST(Rules, QuarantineLastsFromTheBirthOfTheStore) {
    EXPECT_EQ(quarantine_left(1min, 10s, at(30s)), 40s);
    EXPECT_LE(quarantine_left(1min, 10s, at(70s)), 0s);
    EXPECT_EQ(quarantine_left(std::nullopt, 10s, at(10s)), 0s);
}

}  // namespace
}  // namespace pawl::rules
