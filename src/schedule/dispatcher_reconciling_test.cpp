// Schedulers that look after each other: what they make of a node of which nothing is heard.
#include "runs/recorder.hpp"
#include "schedule/lone_node_fixture.hpp"
#include "schedule/timing/intervals.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pawl {
namespace {

const schedule_options at_new_year{.cron = "0 0 1 1 *"};

// The row of a run whose node has not been heard of since it began.
void leave_stale_row(schedule_world& one) {
    run_start start{"left", "j", "j"};
    start.node = "gone";
    start.token = fence_token{1};
    start.delivery = delivery::at_most_once;
    start.trigger = "manual";
    start.heartbeat_timeout = 1s;
    one.ask([&] { return one.records->begin(start); });
}

// By the journal's clock, which is that of this machine.
void expect_judged_in_time(schedule_world& one, time::wall_instant back) {
    ASSERT_TRUE(eventually([&] { return one.run_of("left").status == run_status::lost; }));
    const auto after = millis{one.run_of("left").completed_at.value()} - back.time_since_epoch();
    EXPECT_GE(after, runs::run_heartbeat_timeout - 100ms);
}

// Goal: what was cut off together with a node that starts is given the time to say that it lives.
// Method: a row without a heartbeat is there when a node that was started during an outage of the
// journal can first read it.
TEST(DispatcherReconciling, ANodeThatStartsInAnOutageJudgesOnceTheOthersCanHaveBeenHeard) {
    schedule_world one;
    leave_stale_row(one);
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), at_new_year);
    one.journal_faults->fail_all = errc::unreachable;
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    const auto back = time::local_now();
    one.journal_faults->fail_all = std::nullopt;
    expect_judged_in_time(one, back);
}

// Goal: the same of a node that starts behind the outage, as when it is restarted together with the
// journal. Method: it finds the stale row of a run that has completed, whose own node records that
// when it next tries to.
TEST(DispatcherReconciling, ANodeThatStartsBehindAnOutageLeavesTheOthersTimeToRecordTheirEnds) {
    schedule_world one;
    leave_stale_row(one);
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), at_new_year);
    const auto tries_again = lease_clock::now() + runs::record_retry_longest;
    a->start();
    ASSERT_TRUE(eventually([&] { return lease_clock::now() > tries_again; }));
    run_end how;
    how.status = run_status::completed;
    EXPECT_TRUE(
        one.ask([&] { return one.records->finish({"left", fence_token{1}}, std::move(how)); }));
    EXPECT_EQ(one.run_of("left").status, run_status::completed);
}

// Goal: the same of a node that is in the middle of looking after stale runs. Method: it has read
// them, and then it stands still for longer than it may be cut off.
TEST(DispatcherReconciling, ANodeThatWasCutOffInTheMiddleOfARoundBeginsAnew) {
    std::atomic<bool> is_first{true};  // outlive the journal that asks them
    std::atomic<std::int64_t> back{0};
    schedule_world one;
    leave_stale_row(one);
    one.journal_faults->on_stale_read = [&] {
        if (!is_first.exchange(false)) return;
        const auto end = lease_clock::now() + runs::run_heartbeat_timeout / 2 + 1s;
        EXPECT_TRUE(eventually([&] { return lease_clock::now() > end; }));
        back = std::chrono::floor<millis>(time::local_now().time_since_epoch()).count();
    };
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), at_new_year);
    a->start();
    ASSERT_TRUE(eventually([&] { return back != 0; }));
    expect_judged_in_time(one, time::wall_instant{millis{back.load()}});
}

// What the list of nodes says of the one that is called so.
std::optional<node_entry> listed(schedule_world& one, const std::string& name) {
    const auto all = one.ask([&] { return one.records->list_nodes(); });
    const auto found = std::ranges::find(all, name, &node_entry::name);
    return found == all.end() ? std::nullopt : std::optional{*found};
}

// Goal: a node that drains is there for the others until its last run has ended. Method: it is told
// to stop as its run begins, and that takes longer than a node may be unresponsive. Another node
// finds the next occurrence overlapped.
void expect_there_while_it_drains(millis shutdown_grace) {
    std::atomic<bool> may_end{false};  // outlives the run that asks it
    schedule_world one;
    one.settings.max_skew = 1s;
    const lease_options lasting{.ttl = 30s, .delivery = delivery::at_least_once, .grace = 0ms};
    const schedule_options seldom{.cron = "*/15 * * * * *"};
    auto a = one.node("a", {.shutdown_grace = shutdown_grace});
    a->cron.add(one.note_and("j", "a", lasting,
                             [&](const run&) {
                                 a->request_stop();
                                 EXPECT_TRUE(eventually([&] { return may_end.load(); }));
                             }),
                seldom);
    auto ears = std::make_shared<counting>();
    auto b = one.node("b", {.observer = ears});
    b->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    // What came due before is past for it.
    b->cron.add(one.note("j", "b", lasting), seldom);
    EXPECT_TRUE(eventually([&] { return !one.rows("j", run_status::skipped).empty(); }));
    EXPECT_TRUE(eventually([&] {
        const auto draining = listed(one, "a");
        return draining && draining->draining && draining->age < schedule::node_heartbeat_timeout;
    }));
    EXPECT_EQ(one.seen.size(), 1u);
    may_end = true;
    a->stop();
    EXPECT_FALSE(listed(one, "a"));
    b->stop();
    const auto skipped = one.rows("j", run_status::skipped);
    ASSERT_FALSE(skipped.empty());
    EXPECT_THAT(skipped.back().reason,
                testing::StartsWith("the previous run was still active on a"));
}

TEST(DispatcherReconciling, ANodeThatDrainsIsThereUntilItsRunsHaveEnded) {
    expect_there_while_it_drains(1min);
}

// A process of a program that gives itself the same owner at each start.
locks open_billing(schedule_world& one) {
    open_options options;
    options.owner = "billing-1";
    return one.open(options);
}

// Goal: what a program lost in a crash is told, also where it has the same owner when it is started
// again. Method: an occurrence is granted to a process of which nothing is written.
TEST(DispatcherReconciling, WhatAPredecessorOfTheSameOwnerHasLostIsTold) {
    schedule_world one;
    auto crashed = open_billing(one);
    const auto due = whole_second_in(10s);
    const occurrence which{only(due).front()};
    const auto left =
        crashed.try_acquire("j", {.ttl = 2s, .occurrence = which, .renew = renewal_mode::manual});
    ASSERT_TRUE(left);
    auto a = std::make_unique<scheduler_node>(open_billing(one), "a");
    a->cron.add(one.note("j", "a"), daily_at(due));
    a->start();
    EXPECT_TRUE(eventually([&] { return !one.rows("j", run_status::lost).empty(); }));
    a->stop();
    const auto rows = one.rows("j");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front().occurrence, which);
    EXPECT_EQ(one.seen.size(), 0u);
}

// Goal: the same where it was granted long after it was due, as behind an outage. Method: one that
// is two hours old.
TEST(DispatcherReconciling, WhatWasLostIsToldHoweverLateItWasGranted) {
    schedule_world one;
    one.journal_faults->jobs_older_by = millis{3h};
    auto crashed = open_billing(one);
    const auto due = whole_second_in(-2h);
    const occurrence which{only(due).front()};
    const auto left =
        crashed.try_acquire("j", {.ttl = 2s, .occurrence = which, .renew = renewal_mode::manual});
    ASSERT_TRUE(left);
    auto when = daily_at(due);
    when.misfire_window = 24h;
    auto a = std::make_unique<scheduler_node>(open_billing(one), "a");
    a->cron.add(one.note("j", "a"), when);
    a->start();
    EXPECT_TRUE(eventually([&] { return !one.rows("j", run_status::lost).empty(); }));
    a->stop();
    const auto rows = one.rows("j");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front().occurrence, which);
    EXPECT_EQ(one.seen.size(), 0u);
}

// Goal: the same where the program's own later runs begin before it is looked at. Method: each
// second is due, and the lease of the dead process outlasts some of them.
TEST(DispatcherReconciling, WhatAPredecessorOfTheSameOwnerHasLostIsToldThoughLaterOnesBegin) {
    schedule_world one;
    auto crashed = open_billing(one);
    const occurrence which{only(whole_second_in(0s)).front()};
    const auto left =
        crashed.try_acquire("j", {.ttl = 5s, .occurrence = which, .renew = renewal_mode::manual});
    ASSERT_TRUE(left);
    auto a = std::make_unique<scheduler_node>(open_billing(one), "a");
    a->cron.add(one.note("j", "a", brief), each_second);
    a->start();
    EXPECT_TRUE(eventually([&] { return !one.rows("j", run_status::lost).empty(); }));
    a->stop();
    const auto lost = one.rows("j", run_status::lost);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost.front().occurrence, which);
    EXPECT_GT(one.seen.size(), 0u);
}

// Goal: an occurrence does not give way to a run that is dead. Method: its key is held under the
// owner of the node itself when it comes due, by a process that is gone.
TEST(DispatcherReconciling, AtLeastOnceTheLeaseOfAPredecessorOfTheSameOwnerIsWaitedFor) {
    schedule_world one;
    one.settings.max_skew = 1s;
    auto crashed = open_billing(one);
    const auto due = whole_second_in(10s);
    const auto left = crashed.try_acquire("j", {.ttl = 20s, .renew = renewal_mode::manual});
    ASSERT_TRUE(left);
    auto a = std::make_unique<scheduler_node>(open_billing(one), "a");
    a->cron.add(one.note("j", "a", brief_at_least_once), daily_at(due));
    a->start();
    EXPECT_TRUE(eventually([&] { return one.seen.size() > 0 || !one.rows("j").empty(); }));
    a->stop();
    EXPECT_EQ(one.seen.occurrences(), only(due));
    EXPECT_TRUE(one.rows("j", run_status::skipped).empty());
}

// As a function may that does not heed its token.
TEST(DispatcherReconciling, ANodeWhoseRunsCannotBeStoppedIsThereUntilTheyHaveEnded) {
    expect_there_while_it_drains(0ms);
}

// Goal: a process that ends is off the list, whatever is left of its runs. Method: a body heeds no
// token and outlasts the drain, as last words do that the journal or the store does not take.
TEST(DispatcherReconciling, AProcessThatEndsSignsOffThoughARunIsLeft) {
    std::atomic<bool> may_end{false};  // outlives the run that asks it
    lone_node one;
    const auto stubborn = [&](const run&) {
        one.stop.request_stop();
        EXPECT_TRUE(eventually([&] { return may_end.load(); }));
    };
    one.node->replace_jobs({one.plan(one.note_and("j", "a", {.ttl = 1min, .grace = 0ms}, stubborn),
                                     {.cron = "* * * * * *"})});
    one.run();
    EXPECT_TRUE(listed(one, "a"));
    one.leave();
    EXPECT_FALSE(listed(one, "a"));
    may_end = true;
    one.outlast();
    EXPECT_FALSE(listed(one, "a"));
}

}  // namespace
}  // namespace pawl
