// Signs of life, and what becomes of runs that give none.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <string>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(JournalLaws, AHeartbeatMovesTheLastSignOfLifeByTheJournalsClock) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto before = mine.show(start.id);
    mine.until_later_than(before.last_heartbeat);
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(start)})),
              std::vector{heartbeat_result::alive});
    const auto after = mine.show(start.id);
    EXPECT_GT(after.last_heartbeat, before.last_heartbeat);
    EXPECT_EQ(after.started_at, before.started_at);
    EXPECT_EQ(mine.kinds_of_events(start.id).size(), 1u);
}

TYPED_TEST_P(JournalLaws, ABatchIsAnsweredRunByRunInOrder) {
    auto mine = this->open();
    const auto alive = fresh_run("report", 7);
    const auto cancelled = fresh_run("report", 8);
    const auto over = fresh_run("report", 9);
    for (const auto& start : {alive, cancelled, over}) mine.begin(start);
    mine.get(mine->request_cancel(cancelled.id, "me"));
    mine.get(mine->finish(mark_of(over), ended(run_status::completed)));
    const std::vector<run_ref> marks{mark_of(over),      mark_of(alive),       mark_of("none", 1),
                                     mark_of(cancelled), mark_of(alive.id, 6), mark_of(alive)};
    EXPECT_EQ(mine.get(mine->heartbeat(marks)),
              (std::vector{heartbeat_result::stale, heartbeat_result::alive,
                           heartbeat_result::stale, heartbeat_result::cancel_requested,
                           heartbeat_result::stale, heartbeat_result::alive}));
    EXPECT_TRUE(mine.get(mine->heartbeat({})).empty());
}

TYPED_TEST_P(JournalLaws, FiveHundredRunsBeatAtOnce) {
    constexpr std::size_t runs = 500;
    auto mine = this->open();
    std::vector<run_ref> marks;
    for (std::size_t i = 0; i < runs; ++i) {
        const auto start = fresh_run("report", i + 1);
        mine.begin(start);
        marks.push_back(mark_of(start));
    }
    mine.until_later_than(mine.show(marks.back().id).last_heartbeat);
    marks[123].token = fence_token{1'000'000};
    mine.get(mine->request_cancel(marks[321].id, "me"));
    const auto answers = mine.get(mine->heartbeat(marks));
    ASSERT_EQ(answers.size(), runs);
    for (std::size_t i = 0; i < runs; ++i) {
        const auto expected = i == 123   ? heartbeat_result::stale
                              : i == 321 ? heartbeat_result::cancel_requested
                                         : heartbeat_result::alive;
        EXPECT_EQ(answers[i], expected) << i;
    }
    for (const auto& run : mine.all({}, page_limit_max))
        EXPECT_EQ(run.last_heartbeat > run.started_at, run.id != marks[123].id);
}

TYPED_TEST_P(JournalLaws, ARunIsStaleAfterTheSilenceItSpokeOf) {
    auto mine = this->open();
    auto quick = fresh_run("report", 7);
    quick.heartbeat_timeout = 20ms;
    auto patient = fresh_run("report", 8);
    patient.heartbeat_timeout = 1h;
    mine.begin(patient);
    mine.begin(quick);
    mine.until_stale(quick.id);
    const auto stale = mine.get(mine->stale_runs(100, 0));
    ASSERT_EQ(stale.size(), 1u);
    EXPECT_EQ(stale[0].id, quick.id);
    EXPECT_EQ(stale[0].job, "report");
    EXPECT_EQ(number(stale[0].token), 7u);
    EXPECT_EQ(stale[0].status, run_status::started);
    // It is only late: when it speaks again, it goes on.
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(quick)})),
              std::vector{heartbeat_result::alive});
    EXPECT_TRUE(mine.get(mine->finish(mark_of(quick), ended(run_status::completed))));
    EXPECT_TRUE(mine.get(mine->stale_runs(100, 0)).empty());
}

TYPED_TEST_P(JournalLaws, AFurtherAttemptHasTheSilenceOfItsOwnRunner) {
    auto mine = this->open();
    auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    first.heartbeat_timeout = 1h;
    mine.begin(first);
    auto second = fresh_occurrence_run("report", 1, 8, delivery::at_least_once);
    second.heartbeat_timeout = 10ms;
    mine.begin(second, begin_outcome::resumed);
    mine.until_stale(first.id);
}

TYPED_TEST_P(JournalLaws, StaleRunsAreListedUpToALimit) {
    auto mine = this->open();
    std::string last;
    for (std::uint64_t i = 1; i <= 5; ++i) {
        auto start = fresh_run("report", i);
        start.heartbeat_timeout = 1ms;
        mine.begin(start);
        last = start.id;
    }
    mine.until_stale(last);
    EXPECT_EQ(mine.get(mine->stale_runs(3, 0)).size(), 3u);
    EXPECT_EQ(mine.get(mine->stale_runs(100, 0)).size(), 5u);
    // Page by page, each of them once.
    const auto all = mine.get(mine->stale_runs(100, 0));
    std::vector<std::string> told;
    for (std::size_t skip = 0; skip < 6; skip += 2)
        for (const auto& one : mine.get(mine->stale_runs(2, skip))) told.push_back(one.id);
    ASSERT_EQ(told.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(told[i], all[i].id);
    EXPECT_TRUE(mine.get(mine->stale_runs(2, 5)).empty());
}

TYPED_TEST_P(JournalLaws, AStaleRunIsJudgedOnceAndItsRunnerIsRejected) {
    auto mine = this->open();
    auto start = fresh_run("report", 7);
    start.heartbeat_timeout = 1ms;
    mine.begin(start);
    mine.until_stale(start.id);
    const auto judged = ended(run_status::lost, "its node was lost");
    EXPECT_FALSE(mine.get(mine->end_stale(mark_of(start.id, 6), judged)));
    EXPECT_EQ(mine.show(start.id).status, run_status::started);
    EXPECT_TRUE(mine.get(mine->end_stale(mark_of(start), judged)));
    EXPECT_TRUE(mine.get(mine->end_stale(mark_of(start), judged)));
    EXPECT_FALSE(mine.get(mine->end_stale(mark_of(start), ended(run_status::lost, "for another"))));
    EXPECT_FALSE(mine.get(mine->end_stale(mark_of(start), ended(run_status::abandoned))));
    const auto run = mine.show(start.id);
    EXPECT_EQ(run.status, run_status::lost);
    EXPECT_EQ(run.reason, "its node was lost");
    EXPECT_TRUE(run.completed_at);
    EXPECT_FALSE(mine.get(mine->finish(mark_of(start), ended(run_status::completed))));
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(start)})),
              std::vector{heartbeat_result::stale});
    EXPECT_EQ(mine.show(start.id).status, run_status::lost);
    EXPECT_EQ(mine.kinds_of_events(start.id), (std::vector<std::string>{"begun", "lost"}));
}

TYPED_TEST_P(JournalLaws, ARunThatIsResponsiveIsNotJudged) {
    auto mine = this->open();
    auto start = fresh_run("report", 7);
    start.heartbeat_timeout = 1h;
    mine.begin(start);
    EXPECT_FALSE(mine.get(mine->end_stale(mark_of(start), ended(run_status::lost, "too early"))));
    EXPECT_EQ(mine.show(start.id).status, run_status::started);
    EXPECT_EQ(mine.show(start.id).reason, "");
}

TYPED_TEST_P(JournalLaws, ARunJudgedAbandonedIsAnOrphanUntilItIsResumed) {
    auto mine = this->open();
    auto again = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    auto once = fresh_occurrence_run("report", 2, 7);
    const std::string half(checkpoint_bytes_max, 'h');
    for (auto* start : {&again, &once}) {
        start->heartbeat_timeout = 1ms;
        mine.begin(*start);
        mine.get(mine->checkpoint(mark_of(*start), half));
        mine.until_stale(start->id);
        EXPECT_TRUE(
            mine.get(mine->end_stale(mark_of(*start), ended(run_status::abandoned, "gone"))));
    }
    const auto orphans = mine.get(mine->read_control_state()).orphans;
    ASSERT_EQ(orphans.size(), 1u);
    EXPECT_EQ(orphans[0].id, again.id);
    EXPECT_EQ(orphans[0].reason, "gone");
    EXPECT_EQ(orphans[0].key, again.key);
    EXPECT_EQ(orphans[0].trigger, "schedule");
    EXPECT_EQ(orphans[0].occurrence, again.occurrence);
    EXPECT_EQ(number(orphans[0].token), 7u);
    EXPECT_EQ(orphans[0].delivery, delivery::at_least_once);
    EXPECT_GT(orphans[0].last_heartbeat, 1'600'000'000'000);
    // Each node reads them each second.
    EXPECT_EQ(orphans[0].checkpoint, "");
    auto next = fresh_occurrence_run("report", 1, 8, delivery::at_least_once);
    EXPECT_EQ(mine.begin(next, begin_outcome::resumed).checkpoint, half);
    EXPECT_TRUE(mine.get(mine->read_control_state()).orphans.empty());
}

}  // namespace pawl::conformance
