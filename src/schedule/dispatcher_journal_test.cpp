// Schedulers whose journal is away, late or loses its answers: no run waits for it, and nothing
// that it alone knows is done without it.
#include "schedule/dispatcher_fixture.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

// Goal: a run that was done is not run again because its journal could not be told. Method: a node
// loses its journal and goes on, at least once, with later occurrences; another one sees the first
// without a heartbeat for longer than any run is, and leaves it until its node can tell how it
// ended.
TEST(DispatcherWithoutJournal, AtLeastOnceWhatWasDoneWithoutTheJournalIsNotRunAgain) {
    std::atomic<bool> is_first{true};  // outlives the runs that ask it
    schedule_world one;
    auto cut_journal = std::make_shared<testing_faults::journal_plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(one.faults, cut_journal), "a");
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
    const auto is_stale = [&] {
        const auto row = one.run_of(first.id);
        return time::local_now().time_since_epoch() - millis{row.last_heartbeat} > 18s;
    };
    ASSERT_TRUE(eventually([&] { return is_stale(); }));
    EXPECT_EQ(one.run_of(first.id).status, run_status::started);
    cut_journal->fail_all = std::nullopt;
    ASSERT_TRUE(eventually([&] { return one.run_of(first.id).status == run_status::completed; }));
    a->stop();
    b->stop();
    EXPECT_EQ(one.run_of(first.id).attempt, 1);
    EXPECT_EQ(std::ranges::count(one.seen.occurrences(), number(*first.occurrence)), 1);
}

// Goal: a row whose end no node knows is closed, and its run is not run again. Method: a
// run is judged abandoned while its node stands still, which then tells the store that it is done,
// under the last token that was granted.
TEST(DispatcherWithoutJournal, AnAbandonedRunThatItsNodeHasDoneIsClosed) {
    schedule_world one;
    one.recording_timeout = 2s;
    auto gone = one.open();
    auto once = brief_at_least_once;
    once.occurrence =
        occurrence{std::chrono::floor<millis>(time::local_now() - 5s).time_since_epoch().count()};
    auto held = gone.try_acquire("j", once);
    ASSERT_TRUE(held);
    run_start start{"left", "j", "j"};
    start.node = "gone";
    start.token = held->token();
    start.occurrence = once.occurrence;
    start.delivery = delivery::at_least_once;
    start.trigger = "schedule";
    one.ask([&] { return one.records->begin(start); });
    run_end judged;
    judged.status = run_status::abandoned;
    ASSERT_TRUE(one.ask([&] { return one.records->finish({start.id, start.token}, judged); }));
    held->mark_done();
    ASSERT_EQ(held->release(), release_outcome::released);
    auto b = one.node("b");
    b->cron.add(one.note("j", "b", brief_at_least_once), {.cron = "0 0 1 1 *"});
    b->start();
    ASSERT_TRUE(eventually([&] { return one.run_of("left").status == run_status::lost; }));
    b->stop();
    EXPECT_EQ(one.run_of("left").reason, "it ended, and its node could not record how");
    EXPECT_EQ(one.seen.size(), 0u);
}

// Goal: runs are judged where no lease may be longer than a short quarantine. Method: a row is left
// behind over a store that grants nothing for longer than a job's five seconds.
TEST(DispatcherWithoutJournal, AShortQuarantineKeepsNoRunFromBeingJudged) {
    schedule_world one;
    one.settings.quarantine = brief.ttl;
    run_start start{"left", "j", "j"};
    start.node = "gone";
    start.token = fence_token{1};
    start.occurrence =
        occurrence{std::chrono::floor<millis>(time::local_now()).time_since_epoch().count()};
    start.delivery = delivery::at_most_once;
    start.trigger = "schedule";
    start.heartbeat_timeout = 1s;
    one.ask([&] { return one.records->begin(start); });
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), {.cron = "0 0 1 1 *"});
    b->start();
    EXPECT_TRUE(eventually([&] { return one.run_of("left").status == run_status::lost; }));
    b->stop();
}

// Goal: keys that are out of reach keep no other run from being judged. Method: rows are left
// behind, and the store refuses to look at the keys of all but the last.
TEST(DispatcherWithoutJournal, KeysOutOfReachKeepNoOtherRunFromBeingJudged) {
    schedule_world one;
    one.faults->out_of_reach = "a";
    for (const std::string name : {"a1", "a2", "a3", "a4", "a5", "b"}) {
        run_start start{"left " + name, name, name};
        start.node = "gone";
        start.token = fence_token{1};
        start.trigger = "manual";
        start.heartbeat_timeout = 1s;
        one.ask([&] { return one.records->begin(start); });
    }
    auto b = one.node("b");
    b->cron.add(one.note("j", "b"), {.cron = "0 0 1 1 *"});
    b->start();
    EXPECT_TRUE(eventually([&] { return one.run_of("left b").status == run_status::lost; }));
    EXPECT_EQ(one.run_of("left a1").status, run_status::started);
    b->stop();
}

// Runs go on, and what could not be recorded then is written when the journal is back.
TEST(DispatcherWithoutJournal, AJournalThatGoesAwayStopsNoRun) {
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

// Goal: a journal that has lost the row of a run stops no run. Method: the row goes while the run
// is under way, as from a journal that was restored, and is there again with the next heartbeat.
TEST(DispatcherWithoutJournal, AJournalThatHasLostTheRowOfARunDoesNotStopIt) {
    for (const auto& lease : {brief, brief_at_least_once}) {
        std::atomic<bool> may_end{false}, was_stopped{false};  // outlive the run that asks them
        schedule_world one;
        // None may come between the end of the row and its loss.
        one.journal_faults->heartbeats_lost = true;
        auto ears = std::make_shared<counting>();
        auto a = one.node("a", {.observer = ears});
        a->start();
        ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
        const auto wait = [&](const run& now) {
            EXPECT_TRUE(eventually([&] { return may_end || now.stop.stop_requested(); }));
            was_stopped = was_stopped || now.stop.stop_requested();
        };
        a->cron.add(one.note_and("j", "a", lease, wait), daily_at(whole_second_in(10s)));
        ASSERT_TRUE(one.seen.wait_for(1));
        const auto begun = one.seen.lines().front().what;
        run_end ended;
        ended.status = run_status::lost;
        ASSERT_TRUE(one.ask([&] { return one.records->finish({begun.id, begun.token}, ended); }));
        ASSERT_EQ(one.ask([&] { return one.records->prune("j", 0, 0ms, 64); }), 1u);
        one.journal_faults->heartbeats_lost = false;
        ASSERT_TRUE(eventually([&] { return was_stopped || !one.rows("j").empty(); }));
        EXPECT_EQ(one.run_of(begun.id).status, run_status::started);
        may_end = true;
        EXPECT_TRUE(eventually([&] {
            return one.run_of(begun.id).status == run_status::completed || one.seen.size() > 1;
        }));
        a->stop();
        EXPECT_FALSE(was_stopped);
        EXPECT_EQ(one.seen.size(), 1u);
        EXPECT_EQ(one.rows("j").size(), 1u);
    }
}

// Goal: a run hears of its cancellation under the id that its row has. Method: it begins while its
// journal is away, others have told that its occurrence was skipped, and it takes their row over.
TEST(DispatcherWithoutJournal, ARunThatTookASkippedRowOverIsCancelledByIt) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    one.journal_faults->fail_all = errc::unreachable;
    a->cron.add(one.note_and("j", "a", brief, [](const run& now) { wait_for_stop(now.stop); }),
                each_second);
    ASSERT_TRUE(one.seen.wait_for(1));
    const auto begun = one.seen.lines().front().what;
    run_start skipped{"00000000-0000-4000-8000-000000000001", "j", begun.key};
    skipped.owner = skipped.node = "b";
    skipped.trigger = "schedule";
    skipped.occurrence = begun.occurrence;
    ASSERT_TRUE(one.ask([&] { return one.records->skip(skipped, "the previous one goes on"); }));
    one.journal_faults->fail_all = std::nullopt;
    ASSERT_TRUE(eventually([&] { return one.run_of(skipped.id).status == run_status::started; }));
    EXPECT_TRUE(one.ask([&] { return one.records->request_cancel(skipped.id, "a test"); }));
    EXPECT_TRUE(eventually([&] { return one.run_of(skipped.id).status == run_status::cancelled; }));
}

// Goal: a control state that was never read does not count as one without pauses. Method: a node
// starts while its journal is away, with a job that is paused and one that is not; several
// occurrences later neither has run, and when the journal is back only the one that is not paused
// runs.
TEST(DispatcherWithoutJournal, NothingFiresBeforeTheControlStateHasBeenReadOnceSinceTheStart) {
    schedule_world one;
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("paused", "by hand", "a test"); }));
    one.journal_faults->fail_all = errc::unreachable;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
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
// journal goes away once the control state has been read; then a job is added whose pause was on
// it.
TEST(DispatcherWithoutJournal, AJobThatIsAddedAgainIsStillPaused) {
    schedule_world one;
    ASSERT_TRUE(one.ask([&] { return one.records->pause_job("paused", "by hand", "a test"); }));
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

// Goal: a start without the journal loses nothing that was due before. Method: a node publishes a
// job that fires once a day and leaves before it does; the occurrence comes due, and another node
// starts while its journal is away. Back again, it knows since when the job has been due.
TEST(DispatcherWithoutJournal, WhatWasDueBeforeAStartWithoutTheJournalRuns) {
    schedule_world one;
    const auto due = whole_second_in(10s);
    const auto once_a_day = daily_at(due);
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), once_a_day);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    a->stop();
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 100ms; }));
    one.journal_faults->fail_all = errc::unreachable;
    auto b = one.node("b", {.observer = ears});
    b->cron.add(one.note("j", "b"), once_a_day);
    b->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 2; }));
    one.journal_faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(1));
    b->stop();
    EXPECT_EQ(one.seen.occurrences(), only(due));
}

// Goal: a journal that cannot be written keeps no schedule from running. Method: it takes no jobs,
// for want of a right; a node that waited until it does would wait for ever.
TEST(DispatcherWithoutJournal, AJournalThatTakesNoJobsStopsNoSchedule) {
    schedule_world one;
    one.journal_faults->fail_publish = errc::denied;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    EXPECT_TRUE(one.seen.wait_for(1));
}

// Goal: a node that does not know what the others do keeps none of them from an occurrence. Method:
// its control state alone cannot be read; each occurrence makes way for the next, and no row says
// that it was skipped.
TEST(DispatcherWithoutJournal, WhatMakesWayBeforeTheControlStateWasReadIsNoRow) {
    struct listening : schedule_observer {
        std::atomic<int> skipped{0};
        void on_skipped(std::string_view, occurrence, std::string_view) override { ++skipped; }
    };
    schedule_world one;
    one.journal_faults->fail_control_state = errc::unreachable;
    auto ears = std::make_shared<listening>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->skipped >= 2; }));
    EXPECT_TRUE(one.rows("j").empty());
    one.journal_faults->fail_control_state = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(1));
}

// Goal: the log says why nothing runs, and says it once. Method: the
// control state alone cannot be read, again and again; then it can, and then it cannot.
TEST(DispatcherWithoutJournal, WhyTheControlStateIsNotReadIsToldOnceEachTime) {
    struct listening : schedule_observer {
        std::atomic<int> told{0};
        void log(log_level level, std::string_view line) override {
            if (line != "control state not read: a fault of the test") return;
            EXPECT_EQ(level, log_level::warn);
            ++told;
        }
    };
    schedule_world one;
    auto& faults = *one.journal_faults;
    faults.fail_control_state = errc::rejected;
    auto ears = std::make_shared<listening>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    for (const int times : {1, 2}) {
        ASSERT_TRUE(eventually([&] { return ears->told == times; }));
        const auto before = faults.control_reads.load();
        ASSERT_TRUE(eventually([&] { return faults.control_reads > before + 2; }));
        EXPECT_EQ(ears->told, times);
        faults.fail_control_state = std::nullopt;
        ASSERT_TRUE(has_read_the_control_state(one));
        faults.fail_control_state = errc::rejected;
    }
    a->stop();
}

// Goal: what a node has skipped is on record, however long its journal was away. Method: a run
// outlasts two occurrences while the journal fails.
TEST(DispatcherWithoutJournal, WhatWasSkippedWithoutTheJournalIsWrittenWhenItIsBack) {
    std::atomic<bool> is_first{true};  // outlives the runs that ask it
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief,
                             [&](const run& now) {
                                 if (!is_first.exchange(false)) return;
                                 one.journal_faults->fail_all = errc::unreachable;
                                 const auto until =
                                     time::wall_instant{millis{number(*now.occurrence)}} + 3s;
                                 EXPECT_TRUE(eventually([&] { return time::local_now() > until; }));
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    EXPECT_TRUE(one.rows("j", run_status::skipped).empty());
    one.journal_faults->fail_all = std::nullopt;
    // Of those between the two runs; on a busy machine the node may have come late to any one.
    const auto ran = one.seen.occurrences();
    EXPECT_TRUE(eventually([&] {
        return std::ranges::any_of(one.rows("j", run_status::skipped), [&](const auto& row) {
            return number(*row.occurrence) > ran[0] && number(*row.occurrence) < ran[1];
        });
    }));
}

// From its second occurrence on, the beginning is told so late, and the lease cannot be renewed.
void add_held_up(schedule_world& one, scheduler_node& on, const lease_options& lease,
                 millis begin_delay) {
    auto is_first = std::make_shared<std::atomic<bool>>(true);
    on.cron.add(one.note_and("j", "a", lease,
                             [&one, is_first, begin_delay](const run&) {
                                 if (!is_first->exchange(false)) return;
                                 one.journal_faults->begin_delay = begin_delay;
                                 one.faults->renewals_to_fail = 1'000;
                             }),
                {.cron = "*/5 * * * * *"});
}

// Its row says that its work never began; and once the faults are over, it is run after all.
void expect_skipped_and_run_once(schedule_world& one, scheduler_node& on) {
    on.start();
    ASSERT_TRUE(eventually([&] { return !one.rows("j", run_status::skipped).empty(); }));
    const auto row = one.rows("j", run_status::skipped).front();
    EXPECT_EQ(row.reason, "its lease ended before its work began");
    EXPECT_EQ(one.seen.size(), 1u);
    one.faults->renewals_to_fail = 0;
    one.journal_faults->begin_delay = 0ms;
    ASSERT_TRUE(eventually([&] { return one.run_of(row.id).status == run_status::completed; }));
    on.stop();
    EXPECT_EQ(std::ranges::count(one.seen.occurrences(), number(*row.occurrence)), 1);
}

// Goal: an at-most-once occurrence whose lease ends while its journal is waited for is not used up.
// Method: the answer to its beginning takes longer than its lease, which cannot be renewed.
TEST(DispatcherWithoutJournal, AnOccurrenceWhoseLeaseEndsBeforeItsWorkBeginsIsAskedForAgain) {
    schedule_world one;
    auto a = one.node("a");
    add_held_up(one, *a, {.ttl = 1'200ms, .grace = 0ms}, 1'800ms);
    expect_skipped_and_run_once(one, *a);
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(occurrences[1], occurrences[0] + 5'000);
}

// Goal: nor is one whose work comes to begin when its lease is about to end. Method: the answer
// comes between the instant at which the work would be told to stop and the end of trust.
TEST(DispatcherWithoutJournal, AnOccurrenceThatWouldBeStoppedAtOnceIsAskedForAgain) {
    schedule_world one;
    auto a = one.node("a");
    add_held_up(one, *a, {.ttl = 3s, .grace = 1s}, 2'300ms);
    expect_skipped_and_run_once(one, *a);
    EXPECT_TRUE(one.rows("j", run_status::lost).empty());
}

// Goal: what counts active runs is told of each end of what it was told of, and of no other.
// Method: a run that is resumed later loses its lease before it is announced.
TEST(DispatcherWithoutJournal, AtLeastOnceWhatWasNotAnnouncedIsNotToldAsEnded) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    add_held_up(one, *a, {.ttl = 1'200ms, .delivery = delivery::at_least_once, .grace = 0ms},
                1'800ms);
    a->start();
    ASSERT_TRUE(eventually([&] { return !one.rows("j", run_status::abandoned).empty(); }));
    const auto row = one.rows("j", run_status::abandoned).front();
    one.faults->renewals_to_fail = 0;
    one.journal_faults->begin_delay = 0ms;
    ASSERT_TRUE(eventually([&] { return one.run_of(row.id).status == run_status::completed; }));
    a->stop();
    EXPECT_EQ(ears->begun, ears->ended);
}

// Goal: no row of an occurrence is ended behind the back of the node that runs it. Method: as
// above, and the journal goes away before it can be told; an occurrence that were given back then
// would be claimed again before its row says that it is skipped.
TEST(DispatcherWithoutJournal, AnOccurrenceThatCannotBeToldAsSkippedIsNotGivenBack) {
    schedule_world one;
    auto a = one.node("a");
    add_held_up(one, *a, {.ttl = 1'200ms, .grace = 0ms}, 1'800ms);
    one.journal_faults->on_begun = [&] {
        if (one.journal_faults->begin_delay.load() > 0ms)
            one.journal_faults->fail_all = errc::unreachable;
    };
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    const auto second = one.seen.occurrences().front() + 5'000;
    const auto row_of_second = [&](run_status status) {
        return std::ranges::any_of(one.rows("j", status), [&](const auto& row) {
            return number(*row.occurrence) == second;
        });
    };
    ASSERT_TRUE(eventually([&] { return row_of_second(run_status::started); }));
    one.journal_faults->begin_delay = 0ms;
    // Until its lease has ended, and its node has waited for the journal in vain.
    const auto later = time::wall_instant{millis{second}} + 6s;
    EXPECT_TRUE(eventually([&] { return time::local_now() > later; }));
    one.faults->renewals_to_fail = 0;
    one.journal_faults->fail_all = std::nullopt;
    EXPECT_TRUE(eventually([&] { return row_of_second(run_status::skipped); }));
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    EXPECT_EQ(std::ranges::count(one.seen.occurrences(), second), 0);
    EXPECT_TRUE(row_of_second(run_status::skipped));
}

// The journal does what it is asked and its answers are lost: asking again must change nothing.
TEST(DispatcherWithoutJournal, LostAnswersOfTheJournalMakeNoSecondRun) {
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
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
    const auto& begun = one.seen;
    for (const auto& line : begun.lines()) EXPECT_EQ(one.run_of(line.what.id).attempt, 1);
}

// Goal: a job does not exceed its own bound for asking the journal first. Method: two partitions of
// a job that allows one run at a time wait for room on a full node until they are late, so that
// both ask whether others have told what became of them; the answers take their time.
TEST(DispatcherWithoutJournal, ABoundOfAJobHoldsForPartitionsThatWaitedForRoom) {
    std::atomic<bool> is_full{true};  // outlive the runs that ask them
    std::atomic<int> at_once{0}, most{0};
    schedule_world one;
    auto a = one.node("a", {.max_concurrent_runs = 2});
    for (const auto* name : {"full", "full too"})
        a->cron.add(
            one.note_and(name, "a", {.ttl = 60s, .grace = 0ms},
                         [&](const run&) { EXPECT_TRUE(eventually([&] { return !is_full; })); }),
            each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    // What it has not applied by then is past for it.
    const auto due = whole_second_in(10s);
    auto together = daily_at(due);
    together.partitions = 2;
    together.max_concurrent_runs = 1;
    together.misfire = misfire::run_once;
    std::atomic<int> ended{0};
    a->cron.add(
        one.note_and("j", "a", brief,
                     [&](const run&) {
                         const int now = ++at_once;
                         most = std::max(most.load(), now);
                         const auto end = lease_clock::now() + 500ms;
                         eventually([&] { return at_once > 1 || lease_clock::now() > end; });
                         --at_once;
                         ++ended;
                     }),
        together);
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 11s; }));
    one.journal_faults->turns_late = 20'000;
    is_full = false;
    EXPECT_TRUE(eventually([&] { return ended == 2; }));
    a->stop();
    EXPECT_EQ(most, 1);
}

// Goal: partitions that wait for their job's own bound cost the journal nothing meanwhile. Method:
// twenty of a job that allows one run at a time, of an occurrence that came due before the node
// started, so that their rows are asked for. The one that runs does so until the node has read the
// control state some times, each about a second apart.
TEST(DispatcherWithoutJournal, PartitionsThatWaitForABoundOfTheirJobAskTheJournalOnce) {
    std::atomic<bool> may_end{false};  // outlives the runs that ask it
    schedule_world one;
    const auto due = whole_second_in(8s);
    auto bounded = daily_at(due);
    bounded.partitions = 20;
    bounded.max_concurrent_runs = 1;
    const auto wait = [&](const run&) { EXPECT_TRUE(eventually([&] { return may_end.load(); })); };
    auto ears = std::make_shared<counting>();
    auto before = one.node("before", {.observer = ears});
    before->cron.add(one.note("j", "before"), bounded);
    before->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    before->stop();
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 100ms; }));
    ASSERT_EQ(one.seen.size(), 0u);
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief, wait), bounded);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    const int looks = one.journal_faults->control_reads;
    ASSERT_TRUE(eventually([&] { return one.journal_faults->control_reads > looks + 4; }));
    EXPECT_EQ(one.seen.size(), 1u);
    EXPECT_GE(one.journal_faults->occurrence_reads, 20) << "they were not to be asked for";
    EXPECT_LT(one.journal_faults->occurrence_reads, 60);
    may_end = true;
    a->stop();
}

}  // namespace
}  // namespace pawl
