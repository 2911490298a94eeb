// The control state: triggers, pauses, and that everybody reads the same.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace pawl::conformance {

// A start that answers a trigger.
inline run_start answer_to(const run_trigger& what, std::uint64_t token) {
    auto start = fresh_run(what.job, token);
    start.id = what.id;
    start.partition = what.partition;
    start.trigger = "manual";
    start.consumes_trigger = true;
    return start;
}

TYPED_TEST_P(JournalLaws, ATriggerStandsOnTheControlStateAsItWasAsked) {
    auto mine = this->open();
    EXPECT_TRUE(mine.get(mine->read_control_state()).triggers.empty());
    auto what = trigger_for("report");
    what.partition = 4;
    what.arguments = {"--from", "2026-01-01", "", std::string{"a\0b", 3}, "'\"%\n"};
    what.starts_from = checkpoint_source::last_saved;
    what.by = "ada@host";
    EXPECT_TRUE(mine.get(mine->add_trigger(what)));
    auto other = this->open();
    const auto triggers = other.get(other->read_control_state()).triggers;
    ASSERT_EQ(triggers.size(), 1u);
    EXPECT_EQ(triggers[0].id, what.id);
    EXPECT_EQ(triggers[0].job, "report");
    EXPECT_EQ(triggers[0].partition, 4u);
    EXPECT_EQ(triggers[0].arguments, what.arguments);
    EXPECT_EQ(triggers[0].starts_from, checkpoint_source::last_saved);
    EXPECT_EQ(triggers[0].by, "ada@host");
    EXPECT_GT(triggers[0].at, 1'600'000'000'000);
}

TYPED_TEST_P(JournalLaws, ATriggerIsAddedOnceAndRemovedOnce) {
    auto mine = this->open();
    const auto what = trigger_for("report");
    EXPECT_TRUE(mine.get(mine->add_trigger(what)));
    EXPECT_FALSE(mine.get(mine->add_trigger(what)));
    EXPECT_EQ(mine.get(mine->read_control_state()).triggers.size(), 1u);
    EXPECT_TRUE(mine.get(mine->remove_trigger(what.id)));
    EXPECT_FALSE(mine.get(mine->remove_trigger(what.id)));
    EXPECT_TRUE(mine.get(mine->read_control_state()).triggers.empty());
    const auto run = fresh_run("report", 7);
    mine.begin(run);
    auto taken = trigger_for("report");
    taken.id = run.id;
    EXPECT_FALSE(mine.get(mine->add_trigger(taken)));
    EXPECT_TRUE(mine.get(mine->read_control_state()).triggers.empty());
}

TYPED_TEST_P(JournalLaws, ATriggerIsAnsweredByARunWithItsId) {
    auto mine = this->open();
    const auto first = trigger_for("report");
    const auto second = trigger_for("report");
    EXPECT_TRUE(mine.get(mine->add_trigger(first)));
    EXPECT_TRUE(mine.get(mine->add_trigger(second)));
    const auto answer = mine.begin(answer_to(first, 7));
    EXPECT_EQ(answer.id, first.id);
    const auto left = mine.get(mine->read_control_state()).triggers;
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].id, second.id);
    EXPECT_EQ(mine.show(first.id).trigger, "manual");
    EXPECT_EQ(mine.begin(answer_to(first, 7)).id, first.id);
    const auto late = mine.begin(answer_to(first, 8), begin_outcome::already_run);
    EXPECT_EQ(late.status, run_status::started);
    EXPECT_FALSE(mine.get(mine->remove_trigger(first.id)));
}

TYPED_TEST_P(JournalLaws, ATriggerThatIsGoneBeginsNothing) {
    auto mine = this->open();
    const auto what = trigger_for("report");
    EXPECT_TRUE(mine.get(mine->add_trigger(what)));
    EXPECT_TRUE(mine.get(mine->remove_trigger(what.id)));
    const auto answer = mine.begin(answer_to(what, 7), begin_outcome::already_run);
    EXPECT_EQ(answer.id, what.id);
    EXPECT_EQ(answer.status, run_status::cancelled);
    EXPECT_FALSE(mine.get(mine->find_run(what.id)));
}

// Goal: nobody's click runs twice. Method: eight clients answer the same twenty triggers at once.
TYPED_TEST_P(JournalLaws, ATriggerIsAnsweredOnceHoweverManyRaceForIt) {
    constexpr std::size_t count = 20;
    std::vector<journal_client> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(this->open());
    std::vector<run_trigger> triggers;
    for (std::size_t i = 0; i < count; ++i) {
        triggers.push_back(trigger_for("report"));
        EXPECT_TRUE(clients[0].get(clients[0]->add_trigger(triggers.back())));
    }
    std::array<std::atomic<int>, count> begun{};
    {
        std::vector<std::jthread> racers;
        for (std::size_t i = 0; i < clients.size(); ++i)
            racers.emplace_back([&, i] {
                for (std::size_t each = 0; each < count; ++each) {
                    const auto start = answer_to(triggers[each], i + 1);
                    const auto answer = clients[i].get(clients[i]->begin(start));
                    if (answer.outcome == begin_outcome::begun) ++begun[each];
                }
            });
    }
    for (const auto& times : begun) EXPECT_EQ(times, 1);
    EXPECT_TRUE(clients[0].get(clients[0]->read_control_state()).triggers.empty());
}

TYPED_TEST_P(JournalLaws, AControlStateShowsTheOldestTriggersOfEachJobUpToItsBound) {
    auto mine = this->open();
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < control_entries_max + 3; ++i) {
        const auto what = trigger_for("report");
        EXPECT_TRUE(mine.get(mine->add_trigger(what)));
        ids.push_back(what.id);
    }
    const auto shown = mine.get(mine->read_control_state()).triggers;
    ASSERT_EQ(shown.size(), control_entries_max);
    for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i].id, ids[i]);
    EXPECT_TRUE(mine.get(mine->remove_trigger(ids[0])));
    EXPECT_EQ(mine.get(mine->read_control_state()).triggers.back().id, ids[control_entries_max]);
    // What another job has waiting is read, though it came later than more than can be read.
    const auto other = trigger_for("another"), third = trigger_for("another");
    for (const auto& what : {other, third}) EXPECT_TRUE(mine.get(mine->add_trigger(what)));
    const auto fair = mine.get(mine->read_control_state()).triggers;
    ASSERT_EQ(fair.size(), control_entries_max);
    EXPECT_EQ(fair.front().id, ids[1]);
    EXPECT_EQ(fair[control_entries_max - 3].id, ids[control_entries_max - 2]);
    EXPECT_EQ(fair[control_entries_max - 2].id, other.id);
    EXPECT_EQ(fair.back().id, third.id);
}

// Goal: runs that no node can resume, as their partitions are gone, keep no other job's waiting.
// Method: a job has left more than can be read when another leaves two.
TYPED_TEST_P(JournalLaws, AControlStateShowsTheOldestOrphansOfEachJobUpToItsBound) {
    auto mine = this->open();
    const auto leave = [&](const std::string& job, std::size_t due) {
        const auto start =
            fresh_occurrence_run(job, static_cast<std::int64_t>(due), 7, delivery::at_least_once);
        mine.begin(start);
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::abandoned))));
        return start.id;
    };
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < control_entries_max + 3; ++i) ids.push_back(leave("report", i + 1));
    const auto shown = mine.get(mine->read_control_state()).orphans;
    ASSERT_EQ(shown.size(), control_entries_max);
    for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i].id, ids[i]);
    const auto other = leave("another", 1), third = leave("another", 2);
    EXPECT_TRUE(mine.get(mine->request_cancel(ids[0], "me")));
    const auto fair = mine.get(mine->read_control_state()).orphans;
    ASSERT_EQ(fair.size(), control_entries_max);
    EXPECT_EQ(fair.front().id, ids[1]);
    EXPECT_EQ(fair[control_entries_max - 3].id, ids[control_entries_max - 2]);
    EXPECT_EQ(fair[control_entries_max - 2].id, other);
    EXPECT_EQ(fair.back().id, third);
}

TYPED_TEST_P(JournalLaws, APauseIsSeenByAllUntilItIsTakenBack) {
    auto mine = this->open();
    auto other = this->open();
    EXPECT_TRUE(mine.get(mine->pause_job("report", "the disk\nis full", "ada")));
    EXPECT_FALSE(other.get(other->pause_job("report", "something else", "bob")));
    EXPECT_TRUE(other.get(other->pause_job("backup", "", "bob")));
    const auto pauses = other.get(other->read_control_state()).pauses;
    ASSERT_EQ(pauses.size(), 2u);
    EXPECT_EQ(pauses[0].job, "backup");
    EXPECT_EQ(pauses[1].job, "report");
    EXPECT_EQ(pauses[1].reason, "the disk is full");
    EXPECT_EQ(pauses[1].by, "ada");
    EXPECT_GT(pauses[1].at, 1'600'000'000'000);
    EXPECT_TRUE(other.get(other->resume_job("report")));
    EXPECT_FALSE(mine.get(mine->resume_job("report")));
    EXPECT_EQ(mine.get(mine->read_control_state()).pauses.size(), 1u);
}

}  // namespace pawl::conformance
