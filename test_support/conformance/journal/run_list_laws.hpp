// Lists of runs, and their removal.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace pawl::conformance {

inline std::vector<std::string> ids_of(const std::vector<run_record>& runs) {
    std::vector<std::string> ids;
    for (const auto& run : runs) ids.push_back(run.id);
    return ids;
}

// So many runs of a job under rising tokens; the newest first, as lists have them.
inline std::vector<std::string> begin_many(journal_client& by, const std::string& job, int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
        const auto start = fresh_run(job, static_cast<std::uint64_t>(i) + 1);
        by.begin(start);
        ids.insert(ids.begin(), start.id);
    }
    return ids;
}

TYPED_TEST_P(JournalLaws, PagesOfRunsAreTheNewestFirstAndCompleteAtEverySize) {
    auto mine = this->open();
    EXPECT_TRUE(mine.all({}, 10).empty());
    const auto ids = begin_many(mine, "report", 12);
    for (const std::size_t limit : {1, 2, 5, 11, 12, 13, 1000})
        EXPECT_EQ(ids_of(mine.all({}, limit)), ids) << limit;
    const auto page = mine.get(mine->list_runs({}, "", 12));
    EXPECT_EQ(page.next, "");
}

TYPED_TEST_P(JournalLaws, AListedRunIsAsItIsWhenShown) {
    auto mine = this->open();
    auto start = fresh_occurrence_run("report", 5, 7, delivery::at_least_once);
    start.partition = 2;
    mine.begin(start);
    mine.get(mine->checkpoint(mark_of(start), "page"));
    mine.get(mine->append_output(mark_of(start), 0, "line", 100));
    mine.get(mine->request_cancel(start.id, "me"));
    mine.get(mine->finish(mark_of(start), ended(run_status::cancelled, "asked", 143)));
    const auto shown = mine.show(start.id);
    const auto listed = mine.all({}, 10);
    ASSERT_EQ(listed.size(), 1u);
    const auto& run = listed[0];
    EXPECT_EQ(run.id, shown.id);
    EXPECT_EQ(run.partition, 2u);
    EXPECT_EQ(run.key, shown.key);
    EXPECT_EQ(run.owner, shown.owner);
    EXPECT_EQ(run.occurrence, shown.occurrence);
    EXPECT_EQ(run.delivery, shown.delivery);
    EXPECT_EQ(run.trigger, shown.trigger);
    EXPECT_EQ(run.status, run_status::cancelled);
    EXPECT_EQ(run.reason, "asked");
    EXPECT_EQ(run.started_at, shown.started_at);
    EXPECT_EQ(run.completed_at, shown.completed_at);
    EXPECT_EQ(run.exit_status, 143);
    EXPECT_EQ(run.checkpoint, "page");
    EXPECT_EQ(run.output_size, 4u);
    EXPECT_TRUE(run.cancel_requested);
}

TYPED_TEST_P(JournalLaws, FiltersNarrowAListAloneAndTogether) {
    auto mine = this->open();
    const auto begin = [&](const std::string& job, const std::string& node, run_status status) {
        auto start = fresh_run(job, 7);
        start.node = node;
        mine.begin(start);
        if (status != run_status::started) mine.get(mine->finish(mark_of(start), ended(status)));
        return start.id;
    };
    const auto a1 = begin("a", "n1", run_status::started);
    const auto a2 = begin("a", "n2", run_status::failed);
    const auto b1 = begin("b", "n1", run_status::failed);
    const auto a3 = begin("a", "n1", run_status::failed);
    const auto orphan = begin("b", "n2", run_status::abandoned);
    using ids = std::vector<std::string>;
    const auto listed = [&](std::optional<std::string> job, std::optional<run_status> status,
                            std::optional<std::string> node) {
        run_filter which;
        which.job = std::move(job);
        which.status = status;
        which.node = std::move(node);
        const auto all = ids_of(mine.all(which, 100));
        EXPECT_EQ(ids_of(mine.all(which, 1)), all);
        return all;
    };
    EXPECT_EQ(listed("a", {}, {}), (ids{a3, a2, a1}));
    EXPECT_EQ(listed({}, run_status::failed, {}), (ids{a3, b1, a2}));
    EXPECT_EQ(listed({}, {}, "n1"), (ids{a3, b1, a1}));
    EXPECT_EQ(listed("a", run_status::failed, {}), (ids{a3, a2}));
    EXPECT_EQ(listed("a", run_status::failed, "n1"), (ids{a3}));
    EXPECT_EQ(listed("b", {}, "n2"), (ids{orphan}));
    EXPECT_EQ(listed({}, run_status::abandoned, {}), (ids{orphan}));
    EXPECT_EQ(listed("c", {}, {}), ids{});
    EXPECT_EQ(listed({}, run_status::lost, {}), ids{});
}

// Goal: paging is stable. Method: read a page, begin more runs and take one over, go on: the rest
// is what it would have been.
TYPED_TEST_P(JournalLaws, PagesAreCompleteWhileRunsAreAdded) {
    auto mine = this->open();
    const auto old = begin_many(mine, "report", 6);
    const auto first = mine.get(mine->list_runs({}, "", 2));
    begin_many(mine, "report", 3);
    const auto second = mine.get(mine->list_runs({}, first.next, 2));
    begin_many(mine, "backup", 3);
    const auto third = mine.get(mine->list_runs({}, second.next, 2));
    auto seen = ids_of(first.records);
    for (const auto* page : {&second, &third})
        for (const auto& id : ids_of(page->records)) seen.push_back(id);
    EXPECT_EQ(seen, old);
    EXPECT_EQ(third.next, "");
}

TYPED_TEST_P(JournalLaws, ARunThatIsTakenOverKeepsItsPlace) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    mine.begin(first);
    const auto second = fresh_occurrence_run("report", 2, 8);
    mine.begin(second);
    mine.begin(fresh_occurrence_run("report", 1, 9, delivery::at_least_once),
               begin_outcome::resumed);
    EXPECT_EQ(ids_of(mine.all({}, 10)), (std::vector<std::string>{second.id, first.id}));
}

TYPED_TEST_P(JournalLaws, ACursorThatNoPageGaveIsRejected) {
    auto mine = this->open();
    for (const auto* cursor : {"x", "'; DROP TABLE run; --", "-1", "1e9", " 1", "*"})
        EXPECT_EQ(mine.rejection(mine->list_runs({}, cursor, 10)).code, errc::rejected) << cursor;
}

TYPED_TEST_P(JournalLaws, PruningKeepsTheNewestThatAreOver) {
    auto mine = this->open();
    auto ids = begin_many(mine, "report", 6);
    const auto other = begin_many(mine, "backup", 2);
    for (std::size_t i = 0; i < ids.size(); ++i)
        mine.get(
            mine->finish(mark_of(ids[ids.size() - 1 - i], i + 1), ended(run_status::completed)));
    for (std::size_t i = 0; i < other.size(); ++i)
        mine.get(mine->finish(mark_of(other[other.size() - 1 - i], i + 1),
                              ended(run_status::completed)));
    EXPECT_EQ(mine.get(mine->prune("report", 6, 0ms, 100)), 0u);
    EXPECT_EQ(mine.get(mine->prune("report", 4, 0ms, 1)), 1u);
    run_filter which;
    which.job = "report";
    ids.pop_back();
    EXPECT_EQ(ids_of(mine.all(which, 100)), ids);
    EXPECT_EQ(mine.get(mine->prune("report", 4, 0ms, 100)), 1u);
    ids.pop_back();
    EXPECT_EQ(ids_of(mine.all(which, 100)), ids);
    EXPECT_EQ(mine.get(mine->prune("report", 0, 0ms, 100)), 4u);
    EXPECT_EQ(ids_of(mine.all({}, 100)), other);
    EXPECT_EQ(mine.get(mine->prune("none", 0, 0ms, 100)), 0u);
}

TYPED_TEST_P(JournalLaws, PruningByAgeTakesThoseThatEndedLongAgo) {
    auto mine = this->open();
    const auto old = fresh_run("report", 1);
    mine.begin(old);
    mine.get(mine->finish(mark_of(old), ended(run_status::failed)));
    EXPECT_EQ(mine.get(mine->prune("report", 100, 1h, 100)), 0u);
    mine.until_later_than(*mine.show(old.id).completed_at + 1);
    EXPECT_EQ(mine.get(mine->prune("report", 100, 1ms, 100)), 1u);
    EXPECT_FALSE(mine.get(mine->find_run(old.id)));
}

TYPED_TEST_P(JournalLaws, WhatIsNotOverIsNeverPruned) {
    auto mine = this->open();
    const auto runs = fresh_run("report", 1);
    const auto orphan = fresh_run("report", 2);
    const auto over = fresh_run("report", 3);
    for (const auto& start : {runs, orphan, over}) mine.begin(start);
    mine.get(mine->finish(mark_of(orphan), ended(run_status::abandoned)));
    mine.get(mine->finish(mark_of(over), ended(run_status::lost)));
    mine.until_later_than(*mine.show(over.id).completed_at + 1);
    EXPECT_EQ(mine.get(mine->prune("report", 0, 1ms, 100)), 1u);
    EXPECT_EQ(ids_of(mine.all({}, 100)), (std::vector<std::string>{orphan.id, runs.id}));
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(runs)})),
              std::vector{heartbeat_result::alive});
}

TYPED_TEST_P(JournalLaws, WithARunGoAllThatBelongsToItButWhatItsJobSaved) {
    auto mine = this->open();
    const auto start = fresh_occurrence_run("report", 1, 7);
    mine.begin(start);
    mine.get(mine->checkpoint(mark_of(start), "page 12"));
    mine.get(mine->append_output(mark_of(start), 0, "line", 100));
    mine.get(mine->finish(mark_of(start), ended(run_status::completed)));
    EXPECT_EQ(mine.get(mine->prune("report", 0, 0ms, 100)), 1u);
    EXPECT_FALSE(mine.get(mine->find_run(start.id)));
    EXPECT_FALSE(mine.get(mine->find_occurrence("report", 0, occurrence{1})));
    EXPECT_TRUE(mine.get(mine->history(start.id)).empty());
    EXPECT_FALSE(mine.get(mine->read_output(start.id, 0, 100)));
    // The occurrence is forgotten: its lease is what keeps it from running twice.
    auto again = fresh_occurrence_run("report", 1, 8);
    again.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(again).checkpoint, "page 12");
    EXPECT_EQ(mine.output_of(again.id), "");
    EXPECT_EQ(mine.kinds_of_events(again.id).size(), 1u);
}

}  // namespace pawl::conformance
