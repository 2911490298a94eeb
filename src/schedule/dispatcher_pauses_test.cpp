// Schedulers whose jobs are paused and resumed while they start, wait for their store or claim.
#include "schedule/dispatcher.hpp"
#include "schedule/dispatcher_fixture.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace pawl {
namespace {

// A node whose only job is due at that time, once a day, and is paused.
std::unique_ptr<scheduler_node> paused_until_due(schedule_world& one, time::wall_instant due) {
    auto ears = std::make_shared<counting>();
    auto made = one.node("a", {.observer = ears});
    made->cron.add(one.note("j", "a"), daily_at(due));
    made->start();
    EXPECT_TRUE(eventually([&] { return ears->ready == 1; }));
    EXPECT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    EXPECT_TRUE(has_read_the_control_state(one));
    return made;
}

// Goal: what came due during a pause does not run after the resume, whatever node looks. Method: a
// job is paused, comes due and is resumed; then a second node starts, which knows nothing of the
// pause, and has run another job of its own a few times.
TEST(DispatcherPauses, WhatCameDueDuringAPauseIsNotMadeUpForByANodeThatStarts) {
    schedule_world one;
    const auto due = whole_second_in(15s);
    auto a = paused_until_due(one, due);
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 100ms; }));
    ASSERT_TRUE(one.ask([&] { return one.records->resume_job("j"); }));
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), daily_at(due));
    b->cron.add(one.note("mark", "b"), each_second);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    b->stop();
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "mark");
}

// Goal: a pause is heeded by a node that starts, however long its store takes. Method: a job is
// paused while the node asks a store that does not answer what has run last.
TEST(DispatcherPauses, APauseWhileTheStoreIsWaitedForIsHeeded) {
    schedule_world one;
    one.faults->fail_all = errc::unreachable;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->cron.add(one.note("mark", "a"), each_second);
    const auto started = time::local_now();
    a->start();
    ASSERT_TRUE(eventually([&] { return one.faults->operations > 0; }));
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    ASSERT_TRUE(eventually([&] { return time::local_now() > started + 2s; }));
    one.faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "mark");
}

// The same where the journal comes back, and the node learns then what is due.
TEST(DispatcherPauses, APauseWhileANodeLearnsWhatIsDueIsHeeded) {
    schedule_world one;
    one.journal_faults->fail_all = errc::unreachable;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), each_second);
    a->cron.add(one.note("mark", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    one.faults->fail_all = errc::unreachable;
    one.journal_faults->fail_all = std::nullopt;
    // It has been read before what is paused, and asks the store now.
    ASSERT_TRUE(eventually(
        [&] { return one.ask([&] { return one.records->find_job("mark"); }).has_value(); }));
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    const auto paused = time::local_now();
    ASSERT_TRUE(eventually([&] { return time::local_now() > paused + 2s; }));
    one.faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "mark");
}

// A node hears of a resume only when the occurrence has come due, and its journal does not say at
// once, but the next time that it is asked, since when the job goes on.
void expect_run_after_a_late_resume(int answers_missing) {
    schedule_world one;
    const auto due = whole_second_in(15s);
    auto a = paused_until_due(one, due);
    one.journal_faults->fail_control_state = errc::unreachable;
    ASSERT_TRUE(one.ask([&] { return one.records->resume_job("j"); }));
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 100ms; }));
    EXPECT_EQ(one.seen.size(), 0u);
    one.journal_faults->find_jobs_to_fail = answers_missing;
    one.journal_faults->fail_control_state = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    EXPECT_EQ(one.seen.occurrences(), only(due));
    EXPECT_EQ(one.journal_faults->find_jobs_to_fail, 0);
}

// Goal: what comes due right after a resume runs.
TEST(DispatcherPauses, WhatComesDueBeforeAResumeIsHeardOfRuns) {
    expect_run_after_a_late_resume(0);
}

// Goal: nor is it lost where the journal fails at that moment.
TEST(DispatcherPauses, WhatComesDueAfterAResumeRunsThoughTheJournalDoesNotAnswerAtOnce) {
    expect_run_after_a_late_resume(2);
}

// Goal: a claim that is granted when its job is paused begins no work. Method: the store's answer
// comes when the node has heard of the pause; the occurrence is on record as any that a pause has
// kept from beginning, and the store has it back.
TEST(DispatcherPauses, AGrantThatComesAfterAPauseBeginsNothing) {
    schedule_world one;
    one.settings.timeout = 30s;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    one.faults->answers_held = true;
    auto operated = one.open();
    const auto due = whole_second_in(10s);
    a->cron.add(one.note("j", "a"), daily_at(due));
    // The node has other business with its store as well.
    ASSERT_TRUE(eventually([&] {
        const auto seen = operated.inspect("j");
        return seen.has_value() && number(seen->holder) != 0;
    }));
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    ASSERT_TRUE(has_read_the_control_state(one));
    one.faults->answers_held = false;
    ASSERT_TRUE(eventually(
        [&] { return one.seen.size() > 0 || !one.rows("j", run_status::skipped).empty(); }));
    ASSERT_EQ(one.seen.size(), 0u);
    const auto row = one.rows("j", run_status::skipped).front();
    EXPECT_EQ(row.reason, "the job was paused before it could begin");
    EXPECT_EQ(std::vector{number(*row.occurrence)}, only(due));
    a->stop();
    const auto left = operated.inspect("j");
    ASSERT_TRUE(left.has_value());
    EXPECT_EQ(left->remaining, 0ms);
    EXPECT_LT(number(*left->last_done), number(*row.occurrence));
}

// Goal: what a pause keeps from beginning is on record. Method: an occurrence waits for its store
// when its job is paused.
TEST(DispatcherPauses, WhatAPauseTakesFromTheLineIsARow) {
    schedule_world one;
    const auto due = whole_second_in(10s);
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), daily_at(due));
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    one.faults->fail_all = errc::unreachable;
    ASSERT_TRUE(eventually([&] { return time::local_now() > due; }));
    const auto asked = one.faults->operations.load();
    ASSERT_TRUE(eventually([&] { return one.faults->operations > asked + 2; }));
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    ASSERT_TRUE(eventually([&] { return !one.rows("j", run_status::skipped).empty(); }));
    const auto row = one.rows("j", run_status::skipped).front();
    EXPECT_EQ(row.reason, "the job was paused before it could begin");
    EXPECT_EQ(std::vector{number(*row.occurrence)}, only(due));
    EXPECT_EQ(one.seen.size(), 0u);
}

// Goal: a paused job resumes nothing. Method: what a stop has interrupted waits for room on the
// next node when its job is paused; then there is room, and other runs take it.
TEST(DispatcherPauses, AtLeastOnceWhatWaitsForRoomIsNotResumedDuringAPause) {
    std::atomic<bool> is_full{true};  // outlives the runs that ask it
    schedule_world one;
    const auto once_a_day = daily_at(whole_second_in(10s));
    const auto left = left_by_a_stop(one, "a", brief_at_least_once, once_a_day);
    auto b = one.node("b", {.max_concurrent_runs = 1});
    b->cron.add(
        one.note_and("full", "b", {.ttl = 60s, .grace = 0ms},
                     [&](const run&) { EXPECT_TRUE(eventually([&] { return !is_full; })); }),
        each_second);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    b->cron.add(one.note("j", "b", brief_at_least_once), once_a_day);
    ASSERT_TRUE(has_read_the_control_state(one));
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("j", "by hand", "a test"); }));
    ASSERT_TRUE(has_read_the_control_state(one));
    is_full = false;
    ASSERT_TRUE(one.seen.wait_for(4));
    EXPECT_EQ(one.run_of(left.id).status, run_status::abandoned);
    ASSERT_TRUE(one.ask([&] { return one.records->resume_job("j"); }));
    EXPECT_TRUE(eventually([&] { return one.run_of(left.id).status == run_status::completed; }));
    b->stop();
}

}  // namespace
}  // namespace pawl
