// How a run begins: one row for each occurrence, and who may take it over.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(JournalLaws, ARunIsWrittenDownAsItBegan) {
    auto mine = this->open();
    auto start = fresh_occurrence_run("report", 1'700'000'000'123, 7, delivery::at_least_once);
    start.partition = 3;
    const auto answer = mine.begin(start);
    EXPECT_EQ(answer.id, start.id);
    EXPECT_EQ(answer.attempt, 1);
    EXPECT_EQ(answer.checkpoint, "");
    EXPECT_EQ(answer.status, run_status::started);
    EXPECT_EQ(answer.output_size, 0u);
    auto other = this->open();
    const auto run = other.show(start.id);
    EXPECT_EQ(run.id, start.id);
    EXPECT_EQ(run.job, "report");
    EXPECT_EQ(run.partition, 3u);
    EXPECT_EQ(run.key, start.key);
    EXPECT_EQ(run.owner, start.owner);
    EXPECT_EQ(run.node, start.node);
    EXPECT_EQ(number(run.token), 7u);
    ASSERT_TRUE(run.occurrence);
    EXPECT_EQ(number(*run.occurrence), 1'700'000'000'123);
    EXPECT_EQ(run.delivery, delivery::at_least_once);
    EXPECT_EQ(run.trigger, "schedule");
    EXPECT_EQ(run.status, run_status::started);
    EXPECT_EQ(run.reason, "");
    EXPECT_GT(run.started_at, 1'600'000'000'000);
    EXPECT_EQ(run.last_heartbeat, run.started_at);
    EXPECT_FALSE(run.completed_at);
    EXPECT_FALSE(run.exit_status);
    EXPECT_FALSE(run.cancel_requested);
    const auto found = other.get(other->find_occurrence("report", 3, *start.occurrence));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->id, start.id);
    const auto events = other.get(other->history(start.id));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, "begun");
    EXPECT_EQ(events[0].node, start.node);
    EXPECT_EQ(number(events[0].token), 7u);
    EXPECT_EQ(events[0].attempt, 1);
    EXPECT_EQ(events[0].at, run.started_at);
}

TYPED_TEST_P(JournalLaws, AnUnknownRunIsNotThere) {
    auto mine = this->open();
    EXPECT_FALSE(mine.get(mine->find_run("none")));
    EXPECT_FALSE(mine.get(mine->find_occurrence("report", 0, occurrence{1})));
    EXPECT_FALSE(mine.get(mine->read_output("none", 0, 100)));
    EXPECT_TRUE(mine.get(mine->history("none")).empty());
    EXPECT_FALSE(mine.get(mine->request_cancel("none", "me")));
}

// Goal: an answer that was lost can be asked for again. Method: the same start through two clients,
// with and without an occurrence, and with a token of 0.
TYPED_TEST_P(JournalLaws, ARepeatedBeginGivesTheSameAnswer) {
    auto mine = this->open();
    auto other = this->open();
    for (const auto& start : {fresh_occurrence_run("report", 1, 7), fresh_run("report", 8),
                              fresh_occurrence_run("report", 2, 0), fresh_run("report", 0)}) {
        const auto first = mine.begin(start);
        const auto again = other.begin(start);
        EXPECT_EQ(again.id, first.id);
        EXPECT_EQ(again.attempt, 1);
        EXPECT_EQ(mine.kinds_of_events(start.id), std::vector<std::string>{"begun"});
    }
    EXPECT_EQ(mine.all({}, 100).size(), 4u);
}

TYPED_TEST_P(JournalLaws, AtMostOnceAnOccurrenceBegunByAnotherNodeHasRunAlready) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7);
    mine.begin(first);
    for (const std::uint64_t token : {6, 7, 8}) {
        auto second = fresh_occurrence_run("report", 1, token);
        if (token == 7) second.token = fence_token{70};
        const auto answer = mine.begin(second, begin_outcome::already_run);
        EXPECT_EQ(answer.id, first.id);
        EXPECT_EQ(answer.status, run_status::started);
    }
    EXPECT_EQ(mine.show(first.id).attempt, 1);
    EXPECT_EQ(number(mine.show(first.id).token), 7u);
}

TYPED_TEST_P(JournalLaws, AtLeastOnceANewerTokenResumesTheOccurrence) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    const auto before = mine.show(first.id);
    auto second = fresh_occurrence_run("report", 1, 8, delivery::at_least_once);
    second.node = "node-b";
    second.owner = "host-b:1:2:y";
    const auto answer = mine.begin(second, begin_outcome::resumed);
    EXPECT_EQ(answer.id, first.id);
    EXPECT_EQ(answer.attempt, 2);
    EXPECT_EQ(answer.status, run_status::started);
    const auto run = mine.show(first.id);
    EXPECT_EQ(run.attempt, 2);
    EXPECT_EQ(number(run.token), 8u);
    EXPECT_EQ(run.node, "node-b");
    EXPECT_EQ(run.owner, "host-b:1:2:y");
    EXPECT_EQ(run.started_at, before.started_at);
    EXPECT_FALSE(mine.get(mine->find_run(second.id)));
    EXPECT_EQ(mine.kinds_of_events(first.id), (std::vector<std::string>{"begun", "resumed"}));
    const auto event = mine.get(mine->history(first.id)).back();
    EXPECT_EQ(event.node, "node-b");
    EXPECT_EQ(number(event.token), 8u);
    EXPECT_EQ(event.attempt, 2);
}

TYPED_TEST_P(JournalLaws, AtLeastOnceANotNewerTokenIsSuperseded) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    const auto older = fresh_occurrence_run("report", 1, 6, delivery::at_least_once);
    EXPECT_EQ(mine.begin(older, begin_outcome::superseded).id, first.id);
    EXPECT_EQ(number(mine.show(first.id).token), 7u);
    EXPECT_EQ(mine.show(first.id).attempt, 1);
    EXPECT_EQ(mine.kinds_of_events(first.id).size(), 1u);
    // Given up by its runner: the same token may not take it up again either.
    EXPECT_TRUE(mine.get(mine->finish(mark_of(first), ended(run_status::abandoned))));
    mine.begin(first, begin_outcome::superseded);
    EXPECT_EQ(mine.show(first.id).status, run_status::abandoned);
}

TYPED_TEST_P(JournalLaws, ARepeatedResumptionGivesTheSameAnswer) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    const auto second = fresh_occurrence_run("report", 1, 8, delivery::at_least_once);
    mine.begin(first);
    mine.begin(second, begin_outcome::resumed);
    const auto again = mine.begin(second, begin_outcome::resumed);
    EXPECT_EQ(again.id, first.id);
    EXPECT_EQ(again.attempt, 2);
    EXPECT_EQ(mine.show(first.id).attempt, 2);
    EXPECT_EQ(mine.kinds_of_events(first.id).size(), 2u);
    mine.begin(first, begin_outcome::superseded);
}

TYPED_TEST_P(JournalLaws, AResumedAttemptKeepsIdCheckpointAndOutput) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(first), "page 12")));
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(first), 0, "hello ", 1000)));
    const auto second = fresh_occurrence_run("report", 1, 9, delivery::at_least_once);
    const auto answer = mine.begin(second, begin_outcome::resumed);
    EXPECT_EQ(answer.id, first.id);
    EXPECT_EQ(answer.checkpoint, "page 12");
    EXPECT_EQ(answer.output_size, 6u);
    const auto mark = mark_of(first.id, 9);
    EXPECT_TRUE(mine.get(mine->append_output(mark, answer.output_size, "world", 1000)));
    EXPECT_EQ(mine.output_of(first.id), "hello world");
}

TYPED_TEST_P(JournalLaws, AnOccurrenceThatIsOverHasRunAlready) {
    auto mine = this->open();
    std::int64_t due = 0;
    for (const auto status : {run_status::completed, run_status::failed, run_status::cancelled,
                              run_status::lost, run_status::timed_out}) {
        const auto first = fresh_occurrence_run("report", ++due, 7, delivery::at_least_once);
        mine.begin(first);
        EXPECT_TRUE(mine.get(mine->finish(mark_of(first), ended(status))));
        for (const auto mode : {delivery::at_least_once, delivery::at_most_once}) {
            const auto second = fresh_occurrence_run("report", due, 8, mode);
            const auto answer = mine.begin(second, begin_outcome::already_run);
            EXPECT_EQ(answer.id, first.id);
            EXPECT_EQ(answer.status, status);
        }
        EXPECT_EQ(number(mine.show(first.id).token), 7u);
    }
}

TYPED_TEST_P(JournalLaws, AnAbandonedRunIsResumedAtLeastOnceOnly) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(first), ended(run_status::abandoned, "lost"))));
    const auto never = fresh_occurrence_run("report", 1, 8);
    EXPECT_EQ(mine.begin(never, begin_outcome::already_run).status, run_status::abandoned);
    const auto second = fresh_occurrence_run("report", 1, 9, delivery::at_least_once);
    EXPECT_EQ(mine.begin(second, begin_outcome::resumed).id, first.id);
    const auto run = mine.show(first.id);
    EXPECT_EQ(run.status, run_status::started);
    EXPECT_EQ(run.reason, "");
    EXPECT_FALSE(run.completed_at);
    EXPECT_GE(run.last_heartbeat, run.started_at);
}

TYPED_TEST_P(JournalLaws, AnOrphanWithoutAnOccurrenceIsResumedUnderItsId) {
    auto mine = this->open();
    auto first = fresh_run("report", 7);
    first.delivery = delivery::at_least_once;
    mine.begin(first);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(first), ended(run_status::abandoned))));
    auto second = first;
    second.token = fence_token{8};
    const auto answer = mine.begin(second, begin_outcome::resumed);
    EXPECT_EQ(answer.id, first.id);
    EXPECT_EQ(answer.attempt, 2);
    EXPECT_EQ(mine.begin(second, begin_outcome::resumed).attempt, 2);
}

TYPED_TEST_P(JournalLaws, ASkippedOccurrenceIsTakenOverAsAFirstAttempt) {
    auto mine = this->open();
    const auto skipped = fresh_occurrence_run("report", 1, 7);
    EXPECT_TRUE(mine.get(mine->skip(skipped, "the previous run still ran")));
    auto run = mine.show(skipped.id);
    EXPECT_EQ(run.status, run_status::skipped);
    EXPECT_EQ(run.reason, "the previous run still ran");
    EXPECT_TRUE(run.completed_at);
    auto late = fresh_occurrence_run("report", 1, 8);
    late.trigger = "manual";
    const auto answer = mine.begin(late);
    EXPECT_EQ(answer.id, skipped.id);
    EXPECT_EQ(answer.attempt, 1);
    EXPECT_EQ(answer.status, run_status::started);
    EXPECT_EQ(mine.begin(late).id, skipped.id);
    run = mine.show(skipped.id);
    EXPECT_EQ(run.status, run_status::started);
    EXPECT_EQ(run.reason, "");
    EXPECT_EQ(run.trigger, "manual");
    EXPECT_FALSE(run.completed_at);
    EXPECT_EQ(mine.kinds_of_events(skipped.id), (std::vector<std::string>{"skipped", "begun"}));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(skipped.id, 8), ended(run_status::completed))));
}

TYPED_TEST_P(JournalLaws, ASkippedOccurrenceIsNotTakenOverByAnOlderToken) {
    auto mine = this->open();
    const auto skipped = fresh_occurrence_run("report", 1, 7);
    EXPECT_TRUE(mine.get(mine->skip(skipped, "too late")));
    mine.begin(fresh_occurrence_run("report", 1, 6), begin_outcome::superseded);
    EXPECT_EQ(mine.show(skipped.id).status, run_status::skipped);
    // That of whoever skipped it: a beginning that was on its way meanwhile.
    mine.begin(fresh_occurrence_run("report", 1, 7), begin_outcome::superseded);
    EXPECT_EQ(mine.begin(fresh_occurrence_run("report", 1, 8)).id, skipped.id);
    // Without a lease there is no token that could tell them apart.
    const auto unleased = fresh_occurrence_run("report", 2, 0);
    EXPECT_TRUE(mine.get(mine->skip(unleased, "too late")));
    EXPECT_EQ(mine.begin(fresh_occurrence_run("report", 2, 0)).id, unleased.id);
}

TYPED_TEST_P(JournalLaws, ASkipIsWrittenOnceAndNeverOverARun) {
    auto mine = this->open();
    const auto skipped = fresh_occurrence_run("report", 1, 0);
    EXPECT_TRUE(mine.get(mine->skip(skipped, "too late")));
    EXPECT_TRUE(mine.get(mine->skip(skipped, "too late")));
    EXPECT_FALSE(mine.get(mine->skip(fresh_occurrence_run("report", 1, 9), "again")));
    EXPECT_EQ(mine.show(skipped.id).reason, "too late");
    EXPECT_EQ(mine.kinds_of_events(skipped.id).size(), 1u);
    const auto begun = fresh_occurrence_run("report", 2, 1);
    mine.begin(begun);
    EXPECT_FALSE(mine.get(mine->skip(fresh_occurrence_run("report", 2, 9), "too late")));
    EXPECT_EQ(mine.show(begun.id).status, run_status::started);
    EXPECT_EQ(mine.rejection(mine->skip(fresh_run("report", 1), "no occurrence")).code,
              errc::rejected);
}

TYPED_TEST_P(JournalLaws, ARunWithoutALeaseResumesNothing) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 0, delivery::at_least_once);
    mine.begin(first);
    const auto second = fresh_occurrence_run("report", 1, 0, delivery::at_least_once);
    EXPECT_EQ(mine.begin(second, begin_outcome::superseded).id, first.id);
    const auto leased = fresh_occurrence_run("report", 1, 1, delivery::at_least_once);
    EXPECT_EQ(mine.begin(leased, begin_outcome::resumed).id, first.id);
}

TYPED_TEST_P(JournalLaws, PartitionsAndOccurrencesHaveRunsOfTheirOwn) {
    auto mine = this->open();
    auto first = fresh_occurrence_run("report", 1, 7);
    auto partition = fresh_occurrence_run("report", 1, 7);
    partition.partition = 1;
    const auto later = fresh_occurrence_run("report", 2, 7);
    const auto other = fresh_occurrence_run("report/x", 1, 7);
    const auto early = fresh_occurrence_run("report", -5'000'000'000'000, 7);
    for (const auto& start : {first, partition, later, other, early}) mine.begin(start);
    for (const auto& start : {first, partition, later, other, early}) {
        const auto found =
            mine.get(mine->find_occurrence(start.job, start.partition, *start.occurrence));
        ASSERT_TRUE(found);
        EXPECT_EQ(found->id, start.id);
    }
    // Runs without an occurrence are each their own.
    mine.begin(fresh_run("report", 7));
    mine.begin(fresh_run("report", 7));
    EXPECT_EQ(mine.all({}, 100).size(), 7u);
}

TYPED_TEST_P(JournalLaws, TheIdOfAnotherRunIsRejected) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7);
    mine.begin(first);
    auto other_occurrence = fresh_occurrence_run("report", 2, 8);
    auto other_job = fresh_run("backup", 8);
    auto no_occurrence = fresh_run("report", 8);
    for (auto* start : {&other_occurrence, &other_job, &no_occurrence}) {
        start->id = first.id;
        EXPECT_EQ(mine.rejection(mine->begin(*start)).code, errc::rejected);
    }
    EXPECT_EQ(mine.rejection(mine->skip(other_occurrence, "late")).code, errc::rejected);
    EXPECT_EQ(mine.all({}, 100).size(), 1u);
    EXPECT_EQ(number(mine.show(first.id).token), 7u);
}

TYPED_TEST_P(JournalLaws, ARunWithoutIdOrJobIsRejected) {
    auto mine = this->open();
    auto nameless = fresh_run("", 1);
    auto endless = fresh_run(std::string(job_name_bytes_max + 1, 'j'), 1);
    auto without_id = fresh_run("report", 1);
    without_id.id.clear();
    for (const auto& start : {nameless, endless, without_id})
        EXPECT_EQ(mine.rejection(mine->begin(start)).code, errc::rejected);
    const auto longest = fresh_run(std::string(job_name_bytes_max, 'j'), 1);
    mine.begin(longest);
    EXPECT_EQ(mine.show(longest.id).job, longest.job);
}

// Goal: no text breaks a database or a terminal. Method: names with quotes, percent signs and
// umlauts come back as they are; a reason with control characters, bytes that are no UTF-8 and too
// many bytes comes back as one line that is cut between two characters.
TYPED_TEST_P(JournalLaws, OddTextsAreKeptOrMadeOneLine) {
    auto mine = this->open();
    auto start = fresh_occurrence_run(
        "B\xc3\xbc"
        "cher 'n' \"%_\\ \xf0\x9f\x94\x92",
        1, 7);
    start.node = "k\xc3\xb6ln";
    start.owner = "a'b\"c\\d";
    mine.begin(start);
    const auto run = mine.show(start.id);
    EXPECT_EQ(run.job, start.job);
    EXPECT_EQ(run.node, start.node);
    EXPECT_EQ(run.owner, start.owner);
    std::string reason = "two\nlines\tand \xff and '";
    while (reason.size() < reason_bytes_max + 100) reason += "\xe2\x82\xac";
    EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::failed, reason, -1))));
    const auto told = mine.show(start.id).reason;
    EXPECT_TRUE(told.starts_with("two lines and ? and '\xe2\x82\xac")) << told;
    EXPECT_LE(told.size(), reason_bytes_max);
    EXPECT_GT(told.size(), reason_bytes_max - 3);
    EXPECT_TRUE(told.ends_with("\xe2\x82\xac"));
    EXPECT_EQ(mine.show(start.id).exit_status, -1);
}

// Goal: uniqueness under contention. Method: eight threads over eight clients begin the same forty
// occurrences, at once; each is begun once, and the others hear who has it.
TYPED_TEST_P(JournalLaws, AnOccurrenceIsBegunOnceHoweverManyRaceForIt) {
    constexpr std::size_t occurrences = 40;
    std::vector<journal_client> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(this->open());
    std::array<std::atomic<int>, occurrences> begun{};
    {
        std::vector<std::jthread> racers;
        for (std::size_t i = 0; i < clients.size(); ++i)
            racers.emplace_back([&, i] {
                for (std::size_t due = 0; due < occurrences; ++due) {
                    const auto start =
                        fresh_occurrence_run("report", static_cast<std::int64_t>(due), i + 1);
                    const auto answer = clients[i].get(clients[i]->begin(start));
                    if (answer.outcome == begin_outcome::begun) {
                        ++begun[due];
                        EXPECT_EQ(answer.id, start.id);
                    } else {
                        EXPECT_EQ(answer.outcome, begin_outcome::already_run);
                    }
                }
            });
    }
    for (const auto& times : begun) EXPECT_EQ(times, 1);
    EXPECT_EQ(clients.front().all({}, 7).size(), occurrences);
}

TYPED_TEST_P(JournalLaws, AnOccurrenceIsBegunOnceAcrossProcesses) {
    if (TypeParam::reach() == store_reach::one_process) GTEST_SKIP() << "reaches one process only";
    auto mine = this->open();
    race what;
    what.engine = TypeParam::name();
    what.address = this->engine().address();
    what.name_space = this->settings().name_space;
    what.job = "report";
    what.occurrences = 50;
    const auto times = race_in_children(4, what);
    ASSERT_EQ(times.size(), 50u);
    for (const auto each : times) EXPECT_EQ(each, 1);
    EXPECT_EQ(mine.all({}, 100).size(), 50u);
}

// Goal: a take-over is one step. Method: eight claimants with tokens 1 to 8 race for one occurrence
// at least once; attempts are as many as those who were let in, and the highest token has it.
TYPED_TEST_P(JournalLaws, AnOccurrenceIsResumedByOneOfManyWhoRace) {
    std::vector<journal_client> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(this->open());
    std::atomic<int> let_in{0};
    {
        std::vector<std::jthread> racers;
        for (std::size_t i = 0; i < clients.size(); ++i)
            racers.emplace_back([&, i] {
                const auto start =
                    fresh_occurrence_run("report", 1, i + 1, delivery::at_least_once);
                const auto answer = clients[i].get(clients[i]->begin(start));
                if (answer.outcome != begin_outcome::superseded) ++let_in;
            });
    }
    const auto run =
        clients.front().get(clients.front()->find_occurrence("report", 0, occurrence{1}));
    ASSERT_TRUE(run);
    EXPECT_EQ(run->attempt, let_in);
    EXPECT_EQ(number(run->token), 8u);
}

}  // namespace pawl::conformance
