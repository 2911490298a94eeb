// Several schedulers over one store: what becomes of firings when nodes come, go, and lose touch.
#include "testing/faults/schedule_world.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace pawl {
namespace {

using namespace std::chrono_literals;

const schedule_options each_second{.cron = "* * * * * *"};
constexpr lease_options brief{.ttl = 5s, .grace = 0ms};
constexpr lease_options brief_at_least_once{
    .ttl = 5s, .mode = delivery::at_least_once, .grace = 0ms};

void expect_each_second_once(const std::vector<std::int64_t>& firings) {
    for (std::size_t i = 1; i < firings.size(); ++i)
        EXPECT_EQ(firings[i] - firings[i - 1], 1'000) << "after " << firings[i - 1];
}

struct counting : schedule_observer {
    std::atomic<int> ready{0}, begun{0}, ended{0}, fail_open{0}, taken{0};
    void on_ready() override { ++ready; }
    void on_run_begun(std::string_view, millis, fence_token) override { ++begun; }
    void on_run_ended(std::string_view, run_status, millis) override { ++ended; }
    void on_fail_open(std::string_view) override { ++fail_open; }
    void on_orphan_taken(std::string_view) override { ++taken; }
};

// Two nodes, of which one leaves: every second runs once, and none is lost with it.
TEST(Dispatcher, EachFiringRunsOnceAndAHandOverLosesNone) {
    schedule_world one;
    auto a = one.node("a"), b = one.node("b");
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note("j", each->name()), each_second);
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    const auto before = one.seen.size();
    ASSERT_TRUE(one.seen.wait_for(before + 2));
    b->stop();
    expect_each_second_once(one.seen.firings());
    const auto rows = one.rows("j");
    EXPECT_EQ(rows.size(), one.seen.size());
    for (const auto& row : rows) {
        EXPECT_EQ(row.status, run_status::completed);
        EXPECT_EQ(row.trigger, "schedule");
        EXPECT_NE(number(row.token), 0u);
    }
}

// Goal: sums over nodes count a skipped firing once. Method: two nodes, and a first run that
// outlasts two firings, which both of them see. What one has skipped as the run ended, the other
// may run.
TEST(Dispatcher, AFiringThatTwoNodesSkipIsToldOnce) {
    struct listening : schedule_observer {
        std::mutex mutex;
        std::multiset<occurrence> skipped;
        void on_skipped(std::string_view, occurrence firing, std::string_view) override {
            const std::lock_guard lock{mutex};
            skipped.insert(firing);
        }
    };
    schedule_world one;
    const auto skipped_rows = [&] {
        auto rows = one.rows("j");
        std::erase_if(rows, [](const auto& row) { return row.status != run_status::skipped; });
        return rows;
    };
    auto ears = std::make_shared<listening>();
    auto a = one.node("a", {.watcher = ears}), b = one.node("b", {.watcher = ears});
    std::atomic<bool> is_first{true};
    const auto outlast = [&](const run&) {
        if (!is_first.exchange(false)) return;
        EXPECT_TRUE(eventually([&] { return skipped_rows().size() >= 2; }));
    };
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note_and("j", each->name(), brief, outlast), each_second);
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    b->stop();
    EXPECT_GE(ears->skipped.size(), 2u);
    for (const auto firing : ears->skipped) EXPECT_EQ(ears->skipped.count(firing), 1u);
    for (const auto& row : skipped_rows()) EXPECT_EQ(ears->skipped.count(*row.firing), 1u);
}

// A new node goes on where the old one stopped: what was due meanwhile runs once, the latest of it.
TEST(Dispatcher, ARestartRunsWhatWasMissedOnceAndNothingTwice) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    const auto last = one.seen.firings().back();
    ASSERT_TRUE(
        eventually([&] { return time::local_now().time_since_epoch() > millis{last} + 2'500ms; }));
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), each_second);
    const auto begun = one.seen.size();
    b->start();
    ASSERT_TRUE(one.seen.wait_for(begun + 2));
    b->stop();
    const auto firings = one.seen.firings();
    EXPECT_EQ(std::adjacent_find(firings.begin(), firings.end()), firings.end());
    EXPECT_GE(firings[begun], last + 2'000);
}

// The runner loses store and journal at once, as when its machine is cut off. Another one is
// granted the firing when the lease has run out, and goes on from the checkpoint.
TEST(Dispatcher, AtLeastOnceWhatALostRunnerLeftIsTakenUpFromItsCheckpoint) {
    schedule_world one;
    auto cut = std::make_shared<testing_faults::plan>();
    auto cut_journal = std::make_shared<testing_faults::journal_plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(cut, cut_journal), "a");
    auto options = brief_at_least_once;
    options.ttl = 1s;
    a->cron.add(one.note_and("j", "a", options,
                             [&](const run& now) {
                                 EXPECT_TRUE(now.checkpoint("page 3"));
                                 cut->fail_all = errc::unreachable;
                                 cut_journal->fail_all = errc::unreachable;
                                 wait_for_stop(now.stop);
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    auto b = one.node("b");
    b->cron.add(one.note("j", "b", options), each_second);
    b->start();
    const auto lost = one.seen.lines().front().what;
    const auto taken_up = [&] {
        const auto lines = one.seen.lines();
        const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
            return line.node == "b" && line.what.firing == lost.firing;
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

// A node that is shut down says so; whoever comes next finds it on the board.
TEST(Dispatcher, AtLeastOnceWhatAStopHasInterruptedIsTakenUpByTheNextNode) {
    schedule_world one;
    auto a = one.node("a", {.shutdown_grace = 0ms});
    a->cron.add(one.note_and("j", "a", brief_at_least_once,
                             [&](const run& now) {
                                 EXPECT_TRUE(now.checkpoint("half"));
                                 a->request_stop();
                                 wait_for_stop(now.stop);
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    const auto stopped = one.seen.lines().front().what;
    EXPECT_EQ(one.run_of(stopped.id).status, run_status::abandoned);
    auto ears = std::make_shared<counting>();
    auto b = one.node("b", {.watcher = ears});
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

TEST(Dispatcher, PartitionsAreSpreadOverTheNodesAndEachRunsOnce) {
    schedule_world one;
    auto split = each_second;
    split.partitions = 4;
    auto a = one.node("a"), b = one.node("b");
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note("j", each->name()), split);
        each->start();
    }
    // Of some firing each of the two has run two; that takes until they have seen each other.
    using share = std::map<std::string, std::set<std::uint32_t>>;
    const auto fair = [&] {
        std::map<std::int64_t, share> by_firing;
        for (const auto& line : one.seen.lines())
            by_firing[number(*line.what.firing)][line.node].insert(line.what.partition);
        return std::any_of(by_firing.begin(), by_firing.end(), [](const auto& one_of) {
            const auto& [firing, shares] = one_of;
            return shares.size() == 2 && shares.begin()->second.size() == 2 &&
                   shares.rbegin()->second.size() == 2;
        });
    };
    ASSERT_TRUE(eventually(fair));
    a->stop();
    b->stop();
    std::set<std::pair<std::int64_t, std::uint32_t>> ran;
    for (const auto& line : one.seen.lines()) {
        EXPECT_TRUE(ran.emplace(number(*line.what.firing), line.what.partition).second);
        EXPECT_EQ(line.what.key, "j/" + std::to_string(line.what.partition));
        EXPECT_EQ(line.what.partition_count, 4u);
    }
}

TEST(Dispatcher, FailOpenRunsWithoutATokenAndIsAudited) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto down = std::make_shared<testing_faults::plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(down, one.journal_faults), "a",
                                              scheduler_options{.watcher = ears});
    auto open = each_second;
    open.on_store_down = outage::run_without_lease;
    a->cron.add(one.note("j", "a"), open);
    a->cron.add(one.note("closed", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    down->fail_all = errc::unreachable;
    const auto unleased = [&] {
        const auto lines = one.seen.lines();
        return std::any_of(lines.begin(), lines.end(),
                           [](const auto& line) { return number(line.what.token) == 0; });
    };
    ASSERT_TRUE(eventually(unleased));
    EXPECT_GE(ears->fail_open, 1);
    ASSERT_TRUE(eventually([&] {
        const auto told = one.ask([&] { return one.records->list_audit(0, 10); });
        return !told.empty() && told.front().action == "job.fail_open" &&
               told.front().target == "j";
    }));
    for (const auto& line : one.seen.lines())
        EXPECT_TRUE(number(line.what.token) != 0 || line.what.key == "j");
}

// Goal: a firing that was skipped does not run later. Method: while a run of the only node goes on
// a firing is skipped; the run ends, the node with it, and the next one finds that firing within
// its misfire window, not known to the store.
TEST(Dispatcher, AFiringThatWasSkippedDoesNotRunAfterARestart) {
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
    EXPECT_EQ(std::ranges::count(one.seen.firings(), number(*left_out.firing)), 0);
}

// Goal: a run that was done is not run again because its journal could not be told. Method: a node
// loses its journal and goes on, at least once, with later firings; another one sees the first
// silent for longer than any run is, and leaves it until its node can tell how it ended.
TEST(Dispatcher, AtLeastOnceWhatWasDoneWithoutTheJournalIsNotRunAgain) {
    schedule_world one;
    auto cut_journal = std::make_shared<testing_faults::journal_plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(one.faults, cut_journal), "a");
    std::atomic<bool> is_first{true};
    a->cron.add(one.note_and("j", "a", brief_at_least_once,
                             [&](const run&) {
                                 if (is_first.exchange(false))
                                     cut_journal->fail_all = errc::unreachable;
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    const auto first = one.seen.lines().front().what;
    auto b = one.node("b");
    b->cron.add(one.note("j", "b", brief_at_least_once), each_second);
    b->start();
    const auto silent = [&] {
        const auto row = one.run_of(first.id);
        return time::local_now().time_since_epoch() - millis{row.last_heartbeat} > 18s;
    };
    ASSERT_TRUE(eventually([&] { return silent(); }));
    EXPECT_EQ(one.run_of(first.id).status, run_status::started);
    cut_journal->fail_all = std::nullopt;
    ASSERT_TRUE(eventually([&] { return one.run_of(first.id).status == run_status::completed; }));
    a->stop();
    b->stop();
    EXPECT_EQ(one.run_of(first.id).attempt, 1);
    EXPECT_EQ(std::ranges::count(one.seen.firings(), number(*first.firing)), 1);
}

// Runs go on, and what could not be written down then is written when the journal is back.
TEST(Dispatcher, AJournalThatGoesAwayStopsNoRun) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    one.journal_faults->fail_all = errc::unreachable;
    const auto before = one.seen.size();
    // One may have begun before; the second has neither begun nor ended with a journal.
    ASSERT_TRUE(one.seen.wait_for(before + 3));
    const auto id = one.seen.lines().at(before + 1).what.id;
    EXPECT_TRUE(std::ranges::none_of(one.rows("j"), [&](const auto& row) { return row.id == id; }));
    one.journal_faults->fail_all = std::nullopt;
    ASSERT_TRUE(eventually([&] {
        const auto row = one.ask([&] { return one.records->find_run(id); });
        return row && row->status == run_status::completed;
    }));
}

// Goal: a board that was never read does not count as one without pauses. Method: a node starts
// while its journal is away, with a job that is paused and one that is not; several firings later
// neither has run, and when the journal is back only the one that is not paused runs.
TEST(Dispatcher, NothingFiresBeforeTheBoardHasBeenReadOnceSinceTheStart) {
    schedule_world one;
    ASSERT_TRUE(one.ask([&] { return one.records->pause("paused", "by hand", "a test"); }));
    one.journal_faults->fail_all = errc::unreachable;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.watcher = ears});
    auto open = each_second;
    open.on_store_down = outage::run_without_lease;
    a->cron.add(one.note("paused", "a"), each_second);
    a->cron.add(one.note("open", "a"), open);
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    const auto ready = time::local_now();
    ASSERT_TRUE(eventually([&] { return time::local_now() > ready + 3s; }));
    EXPECT_EQ(one.seen.size(), 0u);
    one.journal_faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(6));
    a->stop();
    std::set<std::string> ran;
    for (const auto& line : one.seen.lines()) ran.insert(line.what.key);
    EXPECT_EQ(ran, (std::set<std::string>{"j", "open"}));
}

// Goal: a job that is added while the node runs is paused from the first moment on. Method: the
// journal goes away once the board has been read; then a job is added whose pause was on it.
TEST(Dispatcher, AJobThatIsAddedAgainIsStillPaused) {
    schedule_world one;
    ASSERT_TRUE(one.ask([&] { return one.records->pause("paused", "by hand", "a test"); }));
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    one.journal_faults->fail_all = errc::unreachable;
    a->cron.add(one.note("paused", "a"), each_second);
    ASSERT_TRUE(one.seen.wait_for(one.seen.size() + 3));
    a->stop();
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "j");
}

// The journal does what it is asked and its answers are lost: asking again must change nothing.
TEST(Dispatcher, LostAnswersOfTheJournalMakeNoSecondRun) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief_at_least_once,
                             [&](const run& now) {
                                 one.journal_faults->answers_to_lose = 2;
                                 EXPECT_EQ(now.attempt, 1);
                             }),
                each_second);
    one.journal_faults->answers_to_lose = 2;
    a->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    one.journal_faults->answers_to_lose = 0;
    const auto firings = one.seen.firings();
    EXPECT_EQ(std::adjacent_find(firings.begin(), firings.end()), firings.end());
    const auto& begun = one.seen;
    for (const auto& line : begun.lines()) EXPECT_EQ(one.run_of(line.what.id).attempt, 1);
}

// Goal: an outage around the commit of a claim costs no occurrence. Method: claims that take effect
// and whose answers are lost, for longer than a claim waits for one; the occurrence runs, once, and
// so does the next.
TEST(Dispatcher, AClaimThatIsNotAnsweredUsesNoOccurrenceUp) {
    schedule_world one;
    one.settings.timeout = 100ms;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief,
                             [&](const run&) {
                                 if (one.seen.size() == 1) one.faults->answers_to_lose = 12;
                             }),
                {.cron = "*/3 * * * * *"});
    a->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    EXPECT_EQ(one.faults->answers_to_lose, 0);
    const auto firings = one.seen.firings();
    EXPECT_EQ(firings[1] - firings[0], 3'000);
    EXPECT_EQ(firings[2] - firings[1], 3'000);
    for (const auto& row : one.rows("j")) EXPECT_EQ(row.status, run_status::completed);
}

// Goal: what others have skipped while a claim of it was not answered does not run when the answer
// comes at last. Method: the answers to the claims of the second occurrence are lost for a while,
// and meanwhile another node writes down that it was skipped; the third one runs next.
TEST(Dispatcher, WhatOthersHaveSkippedWhileAClaimWasNotAnsweredDoesNotRun) {
    schedule_world one;
    one.settings.timeout = 100ms;
    auto a = one.node("a");
    const auto skip_elsewhere = [&](const run& now) {
        run_start start{"skipped-elsewhere", "j", now.key};
        start.node = "b";
        start.firing = occurrence{number(*now.firing) + 3'000};
        start.trigger = "schedule";
        EXPECT_TRUE(one.ask([&] { return one.records->skip(start, "an overlap on b"); }));
        one.faults->answers_to_lose = 12;
    };
    a->cron.add(one.note_and("j", "a", brief,
                             [&](const run& now) {
                                 if (one.seen.size() == 1) skip_elsewhere(now);
                             }),
                {.cron = "*/3 * * * * *"});
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    EXPECT_EQ(one.faults->answers_to_lose, 0);
    const auto firings = one.seen.firings();
    EXPECT_EQ(firings[1] - firings[0], 6'000);
    EXPECT_EQ(one.run_of("skipped-elsewhere").status, run_status::skipped);
}

// A run whose lease was taken is told so; at most once its firing is lost, and nobody runs it.
TEST(Dispatcher, AtMostOnceALeaseThatIsLostEndsTheRunAsLost) {
    schedule_world one;
    auto operated = one.open();
    auto a = one.node("a");
    const lease_options quick{.ttl = 600ms, .grace = 0ms};
    a->cron.add(one.note_and("j", "a", quick,
                             [&](const run& now) {
                                 if (one.seen.size() > 1) return;
                                 operated.release_by_force("j", now.token, 0ms);
                                 wait_for_stop(now.stop);
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    const auto lost = one.rows("j", run_status::lost);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost.front().id, one.seen.lines().front().what.id);
    EXPECT_THAT(lost.front().reason, testing::HasSubstr("its lease was lost (taken)"));
    const auto firings = one.seen.firings();
    EXPECT_EQ(std::adjacent_find(firings.begin(), firings.end()), firings.end());
}

}  // namespace
}  // namespace pawl
