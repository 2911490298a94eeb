// What a runner writes, and that a stale one writes nothing.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <string>
#include <vector>

namespace pawl::conformance {

// All that can be seen of a run.
struct whole_run {
    run_record row;
    std::vector<run_event> events;
    std::string output;
};

inline whole_run whole(journal_client& by, const std::string& id) {
    return {by.show(id), by.get(by->history(id)), by.output_of(id)};
}

inline void expect_same(const whole_run& before, const whole_run& after) {
    EXPECT_EQ(before.row.status, after.row.status);
    EXPECT_EQ(number(before.row.token), number(after.row.token));
    EXPECT_EQ(before.row.reason, after.row.reason);
    EXPECT_EQ(before.row.last_heartbeat, after.row.last_heartbeat);
    EXPECT_EQ(before.row.completed_at, after.row.completed_at);
    EXPECT_EQ(before.row.exit_status, after.row.exit_status);
    EXPECT_EQ(before.row.attempt, after.row.attempt);
    EXPECT_EQ(before.row.checkpoint, after.row.checkpoint);
    EXPECT_EQ(before.row.output_size, after.row.output_size);
    EXPECT_EQ(before.events.size(), after.events.size());
    EXPECT_EQ(before.output, after.output);
}

// Every verb of a runner, each of which must call it stale.
inline void expect_stale(journal_client& by, const run_ref& who) {
    EXPECT_EQ(by.get(by->heartbeat(std::vector{who})), std::vector{heartbeat_result::stale});
    EXPECT_FALSE(by.get(by->checkpoint(who, "stale")));
    EXPECT_FALSE(
        by.get(by->append_output(who, 0, "a stale line, longer than what was there", 1000)));
    EXPECT_FALSE(by.get(by->add_event(who, "note", "stale")));
    EXPECT_FALSE(by.get(by->next_attempt(who, failed_attempt(1, "stale"))));
    EXPECT_FALSE(by.get(by->end_stale(who, ended(run_status::lost, "stale"))));
}

// Goal: the fence of the journal. Method: a run that was taken over is written to under the older
// token, under one that nobody has, and under none; nothing that can be seen of it changes.
TYPED_TEST_P(JournalLaws, AStaleRunnerIsRejectedInEveryVerbAndChangesNothing) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    mine.get(mine->checkpoint(mark_of(first), "page 1"));
    mine.get(mine->append_output(mark_of(first), 0, "line 1\n", 1000));
    mine.begin(fresh_occurrence_run("report", 1, 8, delivery::at_least_once),
               begin_outcome::resumed);
    mine.until_later_than(mine.show(first.id).last_heartbeat);
    const auto before = whole(mine, first.id);
    for (const std::uint64_t token : {7, 9, 0}) {
        const auto who = mark_of(first.id, token);
        expect_stale(mine, who);
        EXPECT_FALSE(mine.get(mine->finish(who, ended(run_status::completed))));
        expect_same(before, whole(mine, first.id));
    }
    expect_stale(mine, mark_of("no-such-run", 7));
}

TYPED_TEST_P(JournalLaws, ARunThatIsOverOrAbandonedTakesNoMore) {
    auto mine = this->open();
    for (const auto status : {run_status::completed, run_status::failed, run_status::cancelled,
                              run_status::lost, run_status::timed_out, run_status::abandoned}) {
        const auto start = fresh_run("report", 7);
        mine.begin(start);
        mine.get(mine->append_output(mark_of(start), 0, "line 1\n", 1000));
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(status, "why"))));
        mine.until_later_than(mine.show(start.id).last_heartbeat);
        const auto before = whole(mine, start.id);
        expect_stale(mine, mark_of(start));
        const auto other =
            status == run_status::completed ? run_status::failed : run_status::completed;
        EXPECT_FALSE(mine.get(mine->finish(mark_of(start), ended(other))));
        expect_same(before, whole(mine, start.id));
    }
}

TYPED_TEST_P(JournalLaws, EachEndIsWrittenDownWithItsReason) {
    auto mine = this->open();
    for (const auto status : {run_status::completed, run_status::failed, run_status::cancelled,
                              run_status::lost, run_status::timed_out}) {
        const auto start = fresh_run("report", 7);
        mine.begin(start);
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(status, "exit 3", 3))));
        const auto run = mine.show(start.id);
        EXPECT_EQ(run.status, status);
        EXPECT_EQ(run.reason, "exit 3");
        EXPECT_EQ(run.exit_status, 3);
        ASSERT_TRUE(run.completed_at);
        EXPECT_GE(*run.completed_at, run.started_at);
        const auto event = mine.get(mine->history(start.id)).back();
        EXPECT_EQ(event.kind, name_of(status));
        EXPECT_EQ(event.text, "exit 3");
        EXPECT_EQ(event.at, *run.completed_at);
    }
}

TYPED_TEST_P(JournalLaws, AnAbandonedRunHasNoEnd) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::abandoned, "no beat"))));
    const auto run = mine.show(start.id);
    EXPECT_EQ(run.status, run_status::abandoned);
    EXPECT_EQ(run.reason, "no beat");
    EXPECT_FALSE(run.completed_at);
    const auto part = mine.get(mine->read_output(start.id, 0, 10));
    ASSERT_TRUE(part);
    EXPECT_FALSE(part->over);
}

TYPED_TEST_P(JournalLaws, ARepeatedFinishIsTrueAndChangesNothing) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::failed, "exit 1", 1))));
    mine.until_later_than(*mine.show(start.id).completed_at);
    const auto before = whole(mine, start.id);
    auto other = this->open();
    EXPECT_TRUE(other.get(other->finish(mark_of(start), ended(run_status::failed, "exit 1", 1))));
    EXPECT_FALSE(other.get(other->finish(mark_of(start.id, 8), ended(run_status::failed))));
    expect_same(before, whole(mine, start.id));
}

TYPED_TEST_P(JournalLaws, AnEndThatIsNoneIsRejected) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto mark = mark_of(start);
    EXPECT_EQ(mine.rejection(mine->finish(mark, ended(run_status::started))).code, errc::rejected);
    EXPECT_EQ(mine.rejection(mine->end_stale(mark, ended(run_status::started))).code,
              errc::rejected);
    // Only its own runner knows that it never started.
    EXPECT_EQ(mine.rejection(mine->end_stale(mark, ended(run_status::skipped))).code,
              errc::rejected);
    EXPECT_EQ(mine.show(start.id).status, run_status::started);
}

// Goal: an occurrence whose work never started is run by another node. Method: its row, ended as
// skipped by its own runner, is begun by an at-most-once run with a newer token.
TYPED_TEST_P(JournalLaws, ARunThatNeverStartedIsTakenOverAsAFirstAttempt) {
    auto mine = this->open();
    const auto start = fresh_occurrence_run("report", 1, 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::skipped, "too late"))));
    auto run = mine.show(start.id);
    EXPECT_EQ(run.status, run_status::skipped);
    EXPECT_EQ(run.reason, "too late");
    EXPECT_TRUE(run.completed_at);
    mine.begin(fresh_occurrence_run("report", 1, 6), begin_outcome::superseded);
    // A copy of its beginning that was on its way until now opens it for nobody.
    mine.begin(start, begin_outcome::superseded);
    EXPECT_EQ(mine.show(start.id).status, run_status::skipped);
    const auto answer = mine.begin(fresh_occurrence_run("report", 1, 8));
    EXPECT_EQ(answer.id, start.id);
    EXPECT_EQ(answer.attempt, 1);
    EXPECT_FALSE(mine.get(mine->finish(mark_of(start), ended(run_status::lost))));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start.id, 8), ended(run_status::completed))));
    run = mine.show(start.id);
    EXPECT_EQ(run.status, run_status::completed);
    EXPECT_EQ(run.reason, "");
}

// A further attempt also has a beginning of its own, so that what it took is told without what lay
// before it.
TYPED_TEST_P(JournalLaws, TheNextAttemptIsCountedOnceHoweverOftenItIsAsked) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto began = mine.show(start.id).started_at;
    mine.until_later_than(began);
    auto other = this->open();
    for (auto* client : {&mine, &other, &mine})
        EXPECT_TRUE(
            client->get((*client)->next_attempt(mark_of(start), failed_attempt(1, "exit 1"))));
    auto run = mine.show(start.id);
    EXPECT_EQ(run.attempt, 2);
    EXPECT_GT(run.started_at, began);
    EXPECT_EQ(run.reason, "exit 1");
    EXPECT_EQ(run.exit_status, 1);
    EXPECT_EQ(run.status, run_status::started);
    EXPECT_TRUE(mine.get(mine->next_attempt(mark_of(start), failed_attempt(2, "exit 1"))));
    EXPECT_EQ(mine.show(start.id).attempt, 3);
    const auto events = mine.get(mine->history(start.id));
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[1].kind, "attempt");
    EXPECT_EQ(events[1].text, "exit 1");
    EXPECT_EQ(events[1].attempt, 2);
    EXPECT_EQ(events[2].attempt, 3);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::completed, "", 0))));
    run = mine.show(start.id);
    EXPECT_EQ(run.attempt, 3);
    EXPECT_EQ(run.reason, "");
    EXPECT_EQ(run.exit_status, 0);
}

TYPED_TEST_P(JournalLaws, HistoryIsInOrderAndARepeatedNoteIsAddedOnce) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->add_event(mark_of(start), "note", "one")));
    EXPECT_TRUE(mine.get(mine->add_event(mark_of(start), "note", "one")));
    EXPECT_TRUE(mine.get(mine->add_event(mark_of(start), "note", "two")));
    EXPECT_TRUE(mine.get(mine->add_event(mark_of(start), "note", "one\nmore")));
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(start), "x")));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::completed))));
    std::vector<std::string> told;
    std::int64_t at = 0;
    for (const auto& event : mine.get(mine->history(start.id))) {
        told.push_back(event.kind == "note" ? event.text : event.kind);
        EXPECT_GE(event.at, at);
        at = event.at;
    }
    EXPECT_EQ(told, (std::vector<std::string>{"begun", "one", "two", "one more", "checkpoint",
                                              "completed"}));
}

// Goal: a run that says much is bounded, and one still sees how it began. Method: more notes than
// are kept.
TYPED_TEST_P(JournalLaws, OfManyEventsTheFirstAndTheNewestAreKept) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    constexpr std::size_t notes = run_events_max + 25;
    for (std::size_t i = 1; i <= notes; ++i)
        EXPECT_TRUE(mine.get(mine->add_event(mark_of(start), "note", std::to_string(i))));
    const auto events = mine.get(mine->history(start.id));
    ASSERT_EQ(events.size(), run_events_max);
    EXPECT_EQ(events.front().kind, "begun");
    EXPECT_EQ(events.back().text, std::to_string(notes));
    EXPECT_EQ(events[1].text, std::to_string(notes - run_events_max + 2));
}

TYPED_TEST_P(JournalLaws, ACancelIsToldToTheRunnerAndStandsOnTheControlState) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    const auto other = fresh_run("report", 8);
    mine.begin(start);
    mine.begin(other);
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada")));
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "bob")));
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(start), mark_of(other)})),
              (std::vector{heartbeat_result::cancel_requested, heartbeat_result::alive}));
    EXPECT_EQ(mine.get(mine->read_control_state()).cancels, std::vector{start.id});
    EXPECT_TRUE(mine.show(start.id).cancel_requested);
    EXPECT_EQ(mine.show(start.id).status, run_status::started);
    const auto events = mine.get(mine->history(start.id));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].kind, "cancel_requested");
    EXPECT_EQ(events[1].text, "ada");
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::cancelled))));
    EXPECT_TRUE(mine.get(mine->read_control_state()).cancels.empty());
    EXPECT_FALSE(mine.get(mine->request_cancel(start.id, "ada")));
}

// A run that was cancelled is over for all who come: no attempt begins, and the control state has
// nothing left to do.
inline void expect_called_off(journal_client& by, const run_start& start) {
    const auto run = by.show(start.id);
    EXPECT_EQ(run.status, run_status::cancelled);
    EXPECT_TRUE(run.cancel_requested);
    ASSERT_TRUE(run.completed_at);
    EXPECT_GE(*run.completed_at, run.started_at);
    const auto before = whole(by, start.id);
    for (const std::uint64_t token : {6, 8, 9}) {
        auto next = fresh_occurrence_run("report", 1, token, delivery::at_least_once);
        const auto answer = by.begin(next, begin_outcome::already_run);
        EXPECT_EQ(answer.id, start.id);
        EXPECT_EQ(answer.status, run_status::cancelled);
    }
    expect_same(before, whole(by, start.id));
    const auto left = by.get(by->read_control_state());
    EXPECT_TRUE(left.cancels.empty());
    EXPECT_TRUE(left.orphans.empty());
    EXPECT_TRUE(by.get(by->stale_runs(10, 0)).empty());
    EXPECT_TRUE(by.get(by->read_output(start.id, 0, 10))->over);
}

TYPED_TEST_P(JournalLaws, ACancelledRunThatWasAbandonedIsOverAtOnce) {
    auto mine = this->open();
    const auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::abandoned, "drain", 5))));
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada: must not be paid")));
    const auto run = mine.show(start.id);
    EXPECT_EQ(run.reason, "cancelled by ada: must not be paid");
    EXPECT_EQ(run.exit_status, 5);
    EXPECT_EQ(mine.get(mine->history(start.id)).back().text, "ada: must not be paid");
    EXPECT_EQ(mine.kinds_of_events(start.id),
              (std::vector<std::string>{"begun", "abandoned", "cancel_requested"}));
    expect_called_off(mine, start);
    // Its answer may have been lost.
    auto other = this->open();
    EXPECT_TRUE(other.get(other->request_cancel(start.id, "ada: must not be paid")));
    EXPECT_FALSE(other.get(other->request_cancel(start.id, "bob")));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::abandoned, "drain"))));
    expect_called_off(mine, start);
}

TYPED_TEST_P(JournalLaws, ACancelAfterTheRunWasJudgedIsTheEnd) {
    auto mine = this->open();
    auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    start.heartbeat_timeout = 1ms;
    mine.begin(start);
    mine.until_stale(start.id);
    EXPECT_TRUE(mine.get(mine->end_stale(mark_of(start), ended(run_status::abandoned, "gone"))));
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada")));
    EXPECT_EQ(mine.show(start.id).reason, "cancelled by ada");
    expect_called_off(mine, start);
}

TYPED_TEST_P(JournalLaws, ARunToBeCancelledIsJudgedCancelled) {
    auto mine = this->open();
    auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    start.heartbeat_timeout = 1ms;
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada")));
    mine.until_stale(start.id);
    const auto gone = ended(run_status::abandoned, "gone");
    EXPECT_TRUE(mine.get(mine->end_stale(mark_of(start), gone)));
    EXPECT_TRUE(mine.get(mine->end_stale(mark_of(start), gone)));
    EXPECT_FALSE(
        mine.get(mine->end_stale(mark_of(start), ended(run_status::abandoned, "for other"))));
    EXPECT_EQ(mine.show(start.id).reason, "gone");
    EXPECT_EQ(mine.kinds_of_events(start.id),
              (std::vector<std::string>{"begun", "cancel_requested", "cancelled"}));
    expect_called_off(mine, start);
}

// The node ends, or the lease is too short to begin, before the runner has heard of it.
TYPED_TEST_P(JournalLaws, ARunToBeCancelledIsNotLeftToOthersByItsRunner) {
    for (const auto left : {run_status::abandoned, run_status::skipped}) {
        auto mine = this->open();
        const auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
        mine.begin(start);
        EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada")));
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(left, "drain"))));
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(left, "drain"))));
        EXPECT_EQ(mine.show(start.id).reason, "drain");
        EXPECT_EQ(mine.kinds_of_events(start.id),
                  (std::vector<std::string>{"begun", "cancel_requested", "cancelled"}));
        expect_called_off(mine, start);
        mine.get(mine->prune("report", 0, 0ms, 10));
    }
}

// Goal: a run whose node died and that is not judged yet does not begin again, either. Method: a
// newer token asks for it while it is started and to be cancelled.
TYPED_TEST_P(JournalLaws, ARunToBeCancelledIsNotResumed) {
    auto mine = this->open();
    const auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->request_cancel(start.id, "ada")));
    // A repetition by its own runner, who is told with its next beat.
    mine.begin(start);
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(start)})),
              std::vector{heartbeat_result::cancel_requested});
    mine.begin(fresh_occurrence_run("report", 1, 6, delivery::at_least_once),
               begin_outcome::superseded);
    EXPECT_EQ(mine.show(start.id).status, run_status::started);
    const auto answer = mine.begin(fresh_occurrence_run("report", 1, 8, delivery::at_least_once),
                                   begin_outcome::already_run);
    EXPECT_EQ(answer.id, start.id);
    EXPECT_EQ(answer.status, run_status::cancelled);
    EXPECT_EQ(answer.attempt, 1);
    EXPECT_EQ(mine.kinds_of_events(start.id),
              (std::vector<std::string>{"begun", "cancel_requested", "cancelled"}));
    expect_stale(mine, mark_of(start));
    expect_called_off(mine, start);
}

}  // namespace pawl::conformance
