// Rule 7: a store that may have lost its data grants nothing that could still be held.
#pragma once

#include "test_support/conformance/store_fixture.hpp"
#include "time/clocks.hpp"

namespace pawl::conformance {

constexpr auto* data_stays = "the URL names no other data for {losses}";
// Long beside what a busy machine takes to start servers that have lost their data, and to ask
// them: some count from their own start on.
constexpr millis long_quarantine = 16s;

// Goal: whoever was granted a key before the loss has lost its trust before anybody is granted it
// after. Method: lose the data under a holder, and measure when the next grant comes; shortly
// before a full second, since servers tell their age in whole ones.
TYPED_TEST_P(StoreLaws, AfterALossOfDataNothingIsGrantedWithinTheQuarantine) {
    auto careful = this->settings();
    careful.quarantine = long_quarantine;
    fence_token lost{};
    {
        auto before = this->open();
        const auto now = std::chrono::floor<millis>(time::wall_now().time_since_epoch());
        before.pass((1950ms - now % 1s) % 1s);
        lost = before.granted(fresh_claim("key", long_quarantine));
    }
    const auto when = lease_clock::now();
    if (!this->lose_data()) GTEST_SKIP() << data_stays;
    auto after = this->open(careful);
    const auto told = after.rejected(fresh_claim("key", 1s));
    EXPECT_EQ(told.reason, busy_reason::quarantined);
    EXPECT_EQ(number(told.holder), 0u);
    EXPECT_GT(told.remaining, 0ms);
    EXPECT_LE(told.remaining, long_quarantine);
    EXPECT_GT(after.granted_in_the_end(fresh_claim("key", 1s), 200ms, 60s), lost);
    EXPECT_GE(lease_clock::now() - when, long_quarantine);
}

// Goal: only a loss of data is quarantined. Method: restart with the data in place, as soon as the
// first client has seen the quarantine of the beginning end: however coarse the store's clock is, a
// new client does not begin to doubt it again.
TYPED_TEST_P(StoreLaws, ARestartWithItsDataIsNotQuarantined) {
    auto careful = this->settings();
    careful.quarantine = 300ms;
    {
        auto before = this->open(careful);
        EXPECT_GT(number(before.granted_in_the_end(fresh_claim("key", 100ms))), 0u);
    }
    this->engine().restart();
    auto after = this->open(careful);
    const auto other = fresh_claim("other", 100ms);
    // Where one of several servers may come back as another, no restart is trusted.
    constexpr bool is_one_server = !requires { TypeParam::restarts_as_any_of_several; };
    const auto token = is_one_server ? after.granted(other) : after.granted_in_the_end(other);
    EXPECT_GT(number(token), 0u);
}

// Goal: a lease must not outlive the quarantine that would follow a loss. Method: a longer one is
// rejected with one clear line, when claimed and when renewed.
TYPED_TEST_P(StoreLaws, ALeaseLongerThanTheQuarantineIsRejected) {
    auto careful = this->settings();
    careful.quarantine = 200ms;
    auto mine = this->open(careful);
    const auto token = mine.granted_in_the_end(fresh_claim("key", 200ms));
    const auto claimed = mine.acquire(fresh_claim("other", 201ms));
    ASSERT_TRUE(claimed.has_error());
    EXPECT_EQ(claimed.error().code, errc::rejected);
    EXPECT_FALSE(claimed.error().detail.empty());
    EXPECT_EQ(claimed.error().detail.find('\n'), std::string::npos);
    const auto renewed = mine.renew(std::vector<held_lease>{lease_of("key", token, 201ms)});
    ASSERT_TRUE(renewed.has_error());
    EXPECT_EQ(renewed.error().code, errc::rejected);
}

// Goal: no occurrence runs twice because its mark was lost. Method: one that was due before the
// loss, or so little after it that it may have been granted early, counts as done; a later one is
// granted.
TYPED_TEST_P(StoreLaws, OccurrencesDueBeforeALossOfDataCountAsDone) {
    auto careful = this->settings();
    careful.quarantine = 300ms;
    careful.max_skew = 100ms;
    const auto due_before = occurrence_in(-1min);
    if (!this->lose_data()) GTEST_SKIP() << data_stays;
    auto after = this->open(careful);
    after.granted_in_the_end(fresh_claim("other", 100ms));
    const auto told = after.done(fresh_occurrence("job", due_before, delivery::at_most_once, 50ms));
    EXPECT_GT(told.last, due_before);
    const auto due_after = occurrence_in(0s);
    EXPECT_GT(
        number(after.granted(fresh_occurrence("job", due_after, delivery::at_most_once, 50ms))),
        0u);
}

// Goal: a fence that has forgotten what it accepted lets no old holder write. Method: a newer token
// passes, both are forgotten, and the older one asks first; then what was granted since passes.
TYPED_TEST_P(StoreLaws, AfterALossOfDataAFenceRejectsTokensFromBeforeIt) {
    auto careful = this->settings();
    careful.quarantine = 300ms;
    fence_token stale{};
    fence_token newer{};
    {
        auto before = this->open(careful);
        stale = before.granted_in_the_end(fresh_claim("key", 100ms));
        newer = before.granted_in_the_end(fresh_claim("key", 100ms));
        const auto let = before.fence("file", newer, fence_rule::reject_older);
        EXPECT_TRUE(let.has_value() && let->accepted);
    }
    if (!this->lose_data()) GTEST_SKIP() << data_stays;
    auto after = this->open(careful);
    EXPECT_TRUE(after.traits().strict_fencing);
    const auto in_the_end = after.granted_in_the_end(fresh_claim("key", 100ms));
    for (const auto token : {stale, newer}) {
        const auto told = after.fence("file", token, fence_rule::reject_older);
        ASSERT_TRUE(told.has_value()) << told.error().detail;
        EXPECT_FALSE(told->accepted);
        EXPECT_FALSE(told->never_issued);
        EXPECT_GT(told->highest, token);
    }
    const auto passed = after.fence("file", in_the_end, fence_rule::reject_older);
    EXPECT_TRUE(passed.has_value() && passed->accepted);
}

}  // namespace pawl::conformance
