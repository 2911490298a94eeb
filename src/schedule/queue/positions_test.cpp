#include "schedule/queue/positions.hpp"

#include "schedule/queue/turns.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;
using knowledge = positions::knowledge;

const wall_instant now{std::chrono::hours{500'000}};
const std::string job = "nightly";

struct beginning_of {
    const char* what;
    outage on_store_down = outage::wait;
    pawl::delivery delivery = pawl::delivery::at_most_once;
    bool has_a_place = false;
    positions::state_of_node node{};
    std::optional<millis> published{};  // before now
    std::vector<millis> run{};          // before now, of its partitions
    std::optional<millis> begins{};     // before now
    bool has_unrun_partition = false;
};

std::ostream& operator<<(std::ostream& out, const beginning_of& one) { return out << one.what; }

class PositionsBegin : public testing::TestWithParam<beginning_of> {};

// A schedule goes on after what has run last and not before it existed; where that is not known it
// waits, unless it may run without a lease anyway.
TEST_P(PositionsBegin, WhereTheScheduleStands) {
    const auto& given = GetParam();
    positions at;
    if (given.published) at.on_published(job, number(occurrence_of(now - *given.published)));
    positions::scheduled_job which{job};
    which.on_store_down = given.on_store_down;
    which.delivery = given.delivery;
    which.has_a_place = given.has_a_place;
    which.has_unrun_partition = given.has_unrun_partition;
    for (const auto ago : given.run) which.has_run(occurrence_of(now - ago));

    const auto begins = at.begin_after(which, given.node, now);

    ASSERT_EQ(begins.has_value(), given.begins.has_value());
    if (begins) {
        EXPECT_EQ(std::chrono::floor<millis>(now - *begins), *given.begins);
    }
}

constexpr auto any = delivery::at_most_once;
constexpr auto no_memory = delivery::off;
constexpr auto lease_or_none = outage::run_without_lease;
constexpr positions::state_of_node starts{knowledge::all, false, false};
constexpr positions::state_of_node starts_blind{knowledge::in_part, false, false};
constexpr positions::state_of_node lives{knowledge::all, true, true};
constexpr positions::state_of_node lives_blind{knowledge::in_part, true, true};
constexpr positions::state_of_node waits_for_control_state{knowledge::all, true, false};
constexpr positions::state_of_node waits_for_both{knowledge::in_part, true, false};

INSTANTIATE_TEST_SUITE_P(
    Schedules, PositionsBegin,
    testing::Values(
        beginning_of{"nothing is known of it", outage::wait, any, false, starts, {}, {}, 0ms},
        beginning_of{"it was published", outage::wait, any, false, starts, 5min, {}, 5min},
        beginning_of{"it has run since", outage::wait, any, false, starts, 5min, {1min}, 1min},
        beginning_of{
            "a job of that name ran before", outage::wait, any, false, starts, 5min, {9min}, 5min},
        beginning_of{"no journal knows it", outage::wait, any, false, starts, {}, {9min}, 9min},
        beginning_of{"the partition that is behind decides",
                     outage::wait,
                     any,
                     false,
                     starts,
                     5min,
                     {1min, 3min, 2min},
                     3min},
        beginning_of{"what others ran last comes due again for a partition that has run nothing",
                     outage::wait,
                     any,
                     false,
                     starts,
                     5min,
                     {1min, 3min},
                     3min + 1ms,
                     true},
        beginning_of{"but nothing from before it was there",
                     outage::wait,
                     any,
                     false,
                     starts,
                     5min,
                     {9min},
                     5min,
                     true},
        beginning_of{"no journal knows since when a partition is there",
                     outage::wait,
                     any,
                     false,
                     starts,
                     {},
                     {1min},
                     1min,
                     true},
        beginning_of{"learned later, it goes on where it stood",
                     outage::wait,
                     any,
                     true,
                     lives,
                     5min,
                     {1min},
                     1min},
        beginning_of{"the store is away", outage::wait, any, false, starts_blind, 5min, {}, {}},
        beginning_of{
            "the store is still away", outage::wait, any, true, lives_blind, 5min, {1min}, {}},
        beginning_of{
            "it may run without a lease", lease_or_none, any, false, starts_blind, 5min, {}, 5min},
        beginning_of{"it runs without a lease", lease_or_none, any, true, lives, 5min, {1min}, {}},
        beginning_of{"it would run without a lease, and did not for want of the control state",
                     lease_or_none,
                     any,
                     true,
                     waits_for_control_state,
                     5min,
                     {1min},
                     1min},
        beginning_of{"it wants the control state and the store",
                     lease_or_none,
                     any,
                     true,
                     waits_for_both,
                     5min,
                     {1min},
                     {}},
        beginning_of{"what has run is not remembered",
                     outage::wait,
                     no_memory,
                     false,
                     starts,
                     5min,
                     {1min},
                     0ms},
        beginning_of{"what is not remembered begins once",
                     outage::wait,
                     no_memory,
                     true,
                     lives,
                     5min,
                     {1min},
                     {}}));

// Schedules wait for the store to have told all, but those that may run without a lease.
TEST(Positions, UnknownOnesRunNothingThatNeedsALease) {
    positions at;
    EXPECT_TRUE(at.may_run(outage::wait)) << "a job that comes while the node runs begins now";
    at.on_store_read(knowledge::in_part, now);
    EXPECT_FALSE(at.are_known());
    EXPECT_FALSE(at.may_run(outage::wait));
    EXPECT_TRUE(at.may_run(lease_or_none));

    at.on_store_read(knowledge::all, now + 1s);

    EXPECT_TRUE(at.are_known());
    EXPECT_TRUE(at.may_run(outage::wait));
}

// What came due before this node knew what had run, others may have skipped; and where a busy key
// is given way to, also what came due longer ago than a moment.
TEST(Positions, CatchesUpWithWhatOthersMayHaveTold) {
    using positions::when_busy::gives_way;
    using positions::when_busy::waits;
    positions at;
    at.on_store_read(knowledge::all, now);
    const auto later = now + 1min;

    EXPECT_TRUE(at.catches_up(now, later, waits));
    EXPECT_FALSE(at.catches_up(now + 1ms, later, waits));
    EXPECT_TRUE(at.catches_up(later - lateness_tolerated - 1ms, later, gives_way));
    EXPECT_FALSE(at.catches_up(later - lateness_tolerated, later, gives_way));
    EXPECT_FALSE(at.catches_up(later - lateness_tolerated - 1ms, later, waits));
}

// Waiting helps against a journal that is away, and not against one that rejects.
TEST(Positions, KnowSinceWhenUnlessTheJournalIsAway) {
    positions at;
    EXPECT_TRUE(at.knows_since());
    at.on_not_published(failure{errc::unreachable, "away"});
    EXPECT_FALSE(at.knows_since());
    at.on_not_published(failure{errc::denied, "no"});
    EXPECT_TRUE(at.knows_since());
    at.on_not_published(failure{errc::unreachable, "away"});
    at.on_all_published();
    EXPECT_TRUE(at.knows_since());
}

// An occurrence of before the job came into being is none of its own.
TEST(Positions, KnowWhatIsOlderThanTheJob) {
    positions at;
    EXPECT_FALSE(at.is_before_all(job, occurrence{1}));
    at.on_published(job, 1'000);
    EXPECT_TRUE(at.is_before_all(job, occurrence{999}));
    EXPECT_FALSE(at.is_before_all(job, occurrence{1'000}));
}

// A job that is added under the name of one that was removed is another one.
TEST(Positions, ForgetAJobThatIsRemoved) {
    positions at;
    at.on_published(job, 1'000);
    at.forget(job);
    EXPECT_FALSE(at.is_before_all(job, occurrence{999}));
}

// What came due under another schedule, or over other partitions, is not for the new ones.
TEST(Positions, AJobThatIsChangedBeginsThen) {
    positions at;
    at.on_published(job, number(occurrence_of(now - 1h)));
    at.on_changed(job, now - 1s);
    positions::scheduled_job which{job};
    which.has_run(occurrence_of(now - 30min));
    EXPECT_EQ(at.begin_after(which, starts, now), now - 1s);
    EXPECT_TRUE(at.is_before_all(job, occurrence_of(now - 1min)));
    at.on_published(job, number(occurrence_of(now - 500ms)));
    EXPECT_EQ(at.begin_after(which, starts, now), now - 500ms);
}

// A job of each month: the store has forgotten that it ran.
TEST(Positions, WhatTheStoreForgetsIsNotMissing) {
    positions at;
    at.on_published(job, number(occurrence_of(now - std::chrono::years{1})));
    auto node = starts;
    node.retention = 48h;
    const positions::scheduled_job which{job};
    EXPECT_EQ(at.begin_after(which, node, now), now - 48h);
    at.on_published(job, number(occurrence_of(now - 1h)));
    EXPECT_EQ(at.begin_after(which, node, now), now - 1h);
}

// Of a job that is due each minute and has two slots. Minutes before `now`: the even ones are the
// turns of slot 1. Nothing: that slot has run nothing.
struct slots_at {
    const char* what;
    bool in_order = false;
    std::vector<std::optional<int>> last{};
    std::optional<int> since{};
    std::optional<int> goes_on{};
};

std::ostream& operator<<(std::ostream& out, const slots_at& one) { return out << one.what; }

class PositionsOfSlots : public testing::TestWithParam<slots_at> {};

TEST_P(PositionsOfSlots, WhereTheScheduleStands) {
    const auto& given = GetParam();
    const auto ago = [](int minutes) { return occurrence_of(now - std::chrono::minutes{minutes}); };
    positions at;
    if (given.since) at.on_published(job, number(ago(*given.since)));
    occurrence_rule rule{*time::cron::parse("* * * * *")};
    rule.lateness_max = 10min;
    ASSERT_EQ(slot_of(rule, now, 2), 1u);
    std::vector<std::optional<occurrence>> last;
    for (const auto& each : given.last)
        last.push_back(each ? std::optional{ago(*each)} : std::nullopt);
    queue_rules queue;
    queue.when_running = given.in_order ? overlap::queue : overlap::skip;
    const auto expected = given.goes_on ? std::optional{ago(*given.goes_on)} : std::nullopt;
    EXPECT_EQ(at.last_of_slots(job, rule, queue, last, now), expected);
}

using turns = std::vector<std::optional<int>>;
constexpr auto none = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    Schedules, PositionsOfSlots,
    testing::Values(
        slots_at{"nothing has run", false, turns{none, none}, 60, none},
        slots_at{"the latest decides", false, turns{1, 2}, 60, 1},
        slots_at{"one slot has run nothing", false, turns{3, none}, 60, 3},
        slots_at{"a slot that is behind is left there", false, turns{1, 8}, 60, 1},
        slots_at{"in order, all have run", true, turns{1, 2}, 60, 1},
        slots_at{"in order, the next turn of one is missing", true, turns{1, 4}, 60, 3},
        slots_at{"in order, one has run nothing", true, turns{1, none}, 5, 5},
        slots_at{"in order, one has had no turn since it is there", true, turns{1, none}, 2, 1},
        slots_at{"in order, what is too late is left there", true, turns{1, 30}, 60, 9},
        slots_at{"in order, no journal knows since when", true, turns{1, none}, none, 1},
        slots_at{"in order, what ran before it was there says nothing", true, turns{21, 30}, 2,
                 21}));

}  // namespace
}  // namespace pawl::schedule
