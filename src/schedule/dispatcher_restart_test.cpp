// A scheduler that begins where others have been: what was missed, interrupted or skipped before
// it.
#include "schedule/dispatcher_fixture.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace pawl {
namespace {

// A new node goes on where the old one stopped: what was due meanwhile runs once, the latest of it.
TEST(DispatcherRestart, ARestartRunsWhatWasMissedOnceAndNothingTwice) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    const auto last = one.seen.occurrences().back();
    ASSERT_TRUE(
        eventually([&] { return time::local_now().time_since_epoch() > millis{last} + 2'500ms; }));
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), each_second);
    const auto begun = one.seen.size();
    b->start();
    ASSERT_TRUE(one.seen.wait_for(begun + 2));
    b->stop();
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
    EXPECT_GE(occurrences[begun], last + 2'000);
}

// Goal: a partition that has run nothing yet counts as behind the others. Method: of the first
// occurrence there is, a node runs one of three partitions and is replaced.
TEST(DispatcherRestart, ARestartRunsThePartitionsThatHaveNeverRun) {
    std::atomic<bool> may_end{false};  // outlives the runs that ask it
    schedule_world one;
    auto three = daily_at(whole_second_in(10s));
    three.partitions = 3;
    three.max_concurrent_runs = 1;
    const auto wait = [&](const run&) { EXPECT_TRUE(eventually([&] { return may_end.load(); })); };
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief, wait), three);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->request_stop();
    may_end = true;
    a->stop();
    ASSERT_EQ(one.seen.size(), 1u);
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), three);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    b->stop();
    std::set<std::uint32_t> ran;
    for (const auto& line : one.seen.lines()) ran.insert(line.what.partition);
    EXPECT_EQ(ran.size(), 3u);
}

// A node that loses store and journal at once in the first run of "j", as when its machine is cut
// off.
std::unique_ptr<scheduler_node> cut_off_in_a_run(
    schedule_world& one, const lease_options& lease, const schedule_options& when,
    const std::function<void(const run&)>& before = {}) {
    auto cut = std::make_shared<testing_faults::plan>();
    auto cut_journal = std::make_shared<testing_faults::journal_plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(cut, cut_journal), "a");
    a->cron.add(one.note_and("j", "a", lease,
                             [cut, cut_journal, before](const run& now) {
                                 if (before) before(now);
                                 cut->fail_all = errc::unreachable;
                                 cut_journal->fail_all = errc::unreachable;
                                 wait_for_stop(now.stop);
                             }),
                when);
    a->start();
    EXPECT_TRUE(one.seen.wait_for(1));
    return a;
}

// Another node than the one that was cut off is granted the occurrence when the lease has run out,
// and goes on from the checkpoint.
TEST(DispatcherRestart, AtLeastOnceWhatALostRunnerLeftIsResumedFromItsCheckpoint) {
    schedule_world one;
    auto options = brief_at_least_once;
    options.ttl = 3s;
    const auto a = cut_off_in_a_run(one, options, each_second,
                                    [](const run& now) { EXPECT_TRUE(now.checkpoint("page 3")); });
    auto b = one.node("b");
    b->cron.add(one.note("j", "b", options), each_second);
    b->start();
    const auto lost = one.seen.lines().front().what;
    const auto taken_up = [&] {
        const auto lines = one.seen.lines();
        const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
            return line.node == "b" && line.what.occurrence == lost.occurrence;
        });
        return found == lines.end() ? std::nullopt : std::optional{found->what};
    };
    ASSERT_TRUE(eventually([&] { return taken_up().has_value(); }));
    EXPECT_EQ(taken_up()->id, lost.id);
    EXPECT_EQ(taken_up()->idempotency_key, lost.idempotency_key);
    EXPECT_EQ(taken_up()->attempt, 2);
    EXPECT_EQ(taken_up()->last_checkpoint, "page 3");
    EXPECT_GT(number(taken_up()->token), number(lost.token));
    ASSERT_TRUE(eventually([&] { return one.run_of(lost.id).status == run_status::completed; }));
}

// A node that is shut down says so; the next node finds it in the control state.
TEST(DispatcherRestart, AtLeastOnceWhatAStopHasInterruptedIsResumedByTheNextNode) {
    schedule_world one;
    const auto stopped =
        left_by_a_stop(one, "a", brief_at_least_once, each_second,
                       [](const run& now) { EXPECT_TRUE(now.checkpoint("half")); });
    auto ears = std::make_shared<counting>();
    auto b = one.node("b", {.observer = ears});
    b->cron.add(one.note("j", "b", brief_at_least_once), each_second);
    b->start();
    ASSERT_TRUE(eventually([&] { return one.run_of(stopped.id).status == run_status::completed; }));
    b->stop();
    const auto lines = one.seen.lines();
    const auto again = std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
        return line.node == "b" && line.what.id == stopped.id && line.what.attempt == 2 &&
               line.what.last_checkpoint == "half";
    });
    EXPECT_EQ(again, 1);
    EXPECT_EQ(ears->taken, 1);
    EXPECT_EQ(ears->begun, ears->ended);
}

// Goal: what was left unfinished is finished as it was begun, whatever its job has become since.
// Method: a deploy interrupts a run and makes the job at-most-once; the next one interrupts it
// again.
TEST(DispatcherRestart, WhatWasBegunAtLeastOnceStaysThatThroughAReload) {
    schedule_world one;
    const auto once_a_day = daily_at(whole_second_in(10s));
    const auto left = left_by_a_stop(one, "a", brief_at_least_once, once_a_day);
    EXPECT_EQ(left_by_a_stop(one, "b", brief, once_a_day).id, left.id);
    auto last = one.node("c");
    last->cron.add(one.note("j", "c", brief), once_a_day);
    last->start();
    EXPECT_TRUE(eventually([&] { return one.run_of(left.id).status == run_status::completed; }));
    last->stop();
}

// Goal: the same where the node has crashed, so that its row says that it runs. Method: it loses
// store and journal in its work; the next one knows the job as at-most-once, and starts when the
// lease is over and before anyone has judged the row.
TEST(DispatcherRestart, WhatWasBegunAtLeastOnceStaysThatThroughACrashAndAReload) {
    schedule_world one;
    const auto once_a_day = daily_at(whole_second_in(8s));
    auto options = brief_at_least_once;
    options.ttl = 1s;
    const auto a = cut_off_in_a_run(one, options, once_a_day);
    const auto lost = one.seen.lines().front().what;
    auto witness = one.open();
    ASSERT_TRUE(eventually([&] {
        const auto seen = witness.inspect("j");
        return seen && seen->remaining.count() == 0;
    }));
    auto b = one.node("b");
    b->cron.add(one.note("j", "b", brief), once_a_day);
    b->start();
    EXPECT_TRUE(eventually([&] { return one.run_of(lost.id).status == run_status::completed; }));
    EXPECT_EQ(one.run_of(lost.id).attempt, 2);
    b->stop();
}

// Goal: a run that was cancelled while no node had it never begins again. Method: the node that had
// it was shut down, and another starts once a user has cancelled it; the occurrences behind it run.
TEST(DispatcherRestart, AtLeastOnceWhatWasCancelledAfterAStopIsNotResumed) {
    schedule_world one;
    const auto stopped = left_by_a_stop(one, "a", brief_at_least_once, each_second);
    EXPECT_TRUE(one.ask([&] { return one.records->request_cancel(stopped.id, "me: not paid"); }));
    EXPECT_EQ(one.run_of(stopped.id).status, run_status::cancelled);
    const auto before = one.seen.size();
    auto ears = std::make_shared<counting>();
    auto b = one.node("b", {.observer = ears});
    b->cron.add(one.note("j", "b", brief_at_least_once), each_second);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(before + 3));
    b->stop();
    const auto lines = one.seen.lines();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [&](const auto& line) { return line.what.id == stopped.id; }),
              1);
    EXPECT_EQ(ears->taken, 0);
    const auto row = one.run_of(stopped.id);
    EXPECT_EQ(row.status, run_status::cancelled);
    EXPECT_EQ(row.reason, "cancelled by me: not paid");
    EXPECT_EQ(row.attempt, 1);
}

// Goal: nothing runs again when a node starts, and nothing that ran is told as missed. Method: of
// three slots each has run another occurrence when the node is replaced within a second.
TEST(DispatcherRestart, ARestartOfAJobWithSlotsRunsNothingAgain) {
    struct listening : schedule_observer {
        std::atomic<std::size_t> missed{0};
        void log(log_level, std::string_view line) override {
            if (!line.starts_with("missed occurrences not executed")) return;
            const auto count = line.substr(line.rfind('=') + 1);
            missed += static_cast<std::size_t>(std::stoul(std::string{count}));
        }
    };
    schedule_world one;
    auto three = each_second;
    three.slots = 3;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), three);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(4));
    a->stop();
    const auto last = one.seen.occurrences().back();
    auto ears = std::make_shared<listening>();
    auto b = one.node("b", {.observer = ears});
    b->cron.add(one.note("j", "b"), three);
    const auto begun = one.seen.size();
    b->start();
    ASSERT_TRUE(one.seen.wait_for(begun + 1));
    b->stop();
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
    // Whatever the restart took is missed, and no more.
    const auto between = static_cast<std::size_t>(occurrences[begun] - last) / 1'000 - 1;
    EXPECT_LE(ears->missed, between);
}

// Goal: an occurrence that was skipped does not run later. Method: while a run of the only node
// goes on an occurrence is skipped; the run ends, the node with it, and the next one finds that
// occurrence within its misfire window, not known to the store.
TEST(DispatcherRestart, AnOccurrenceThatWasSkippedDoesNotRunAfterARestart) {
    schedule_world one;
    const auto skipped = [&] { return one.rows("j", run_status::skipped); };
    auto rarely = each_second;
    rarely.cron = "*/4 * * * * *";
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief,
                             [&](const run&) {
                                 EXPECT_TRUE(eventually([&] { return !skipped().empty(); }));
                             }),
                rarely);
    a->start();
    ASSERT_TRUE(eventually([&] { return !skipped().empty(); }));
    a->stop();
    const auto left_out = skipped().front();
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), rarely);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    b->stop();
    EXPECT_EQ(one.run_of(left_out.id).status, run_status::skipped);
    EXPECT_EQ(std::ranges::count(one.seen.occurrences(), number(*left_out.occurrence)), 0);
}

}  // namespace
}  // namespace pawl
