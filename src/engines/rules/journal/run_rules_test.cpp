#include "engines/rules/journal/run_rules.hpp"

#include <gtest/gtest.h>

namespace pawl::journals {
namespace {

run_start start_with(std::uint64_t token, delivery mode) {
    run_start start{"id-" + std::to_string(token), "report", "job/report"};
    start.token = fence_token{token};
    start.delivery = mode;
    start.occurrence = occurrence{1};
    return start;
}

run_row row_in(run_status status, std::uint64_t token) {
    run_row row;
    row.record.id = "row";
    row.record.job = "report";
    row.record.occurrence = occurrence{1};
    row.record.token = fence_token{token};
    row.record.status = status;
    return row;
}

begin_outcome outcome_of(run_status status, std::uint64_t held, delivery mode,
                         std::uint64_t offered) {
    const auto decided =
        begin(row_in(status, held), start_with(offered, mode), false, "", 1000).value();
    EXPECT_EQ(decided.write == begin_write::nothing,
              !decided.event.has_value());  // what is written is told
    return decided.answer.outcome;
}

// Goal: every combination is decided, and as the contract has it. Method: all statuses, both
// modes, and a token that is older, the same and newer.
TEST(RunRules, WhoMayTakeARowOverIsDecidedInEveryCase) {
    using enum begin_outcome;
    constexpr auto once = delivery::at_most_once;
    constexpr auto again = delivery::at_least_once;
    for (const auto status : {run_status::completed, run_status::failed, run_status::cancelled,
                              run_status::lost, run_status::timed_out})
        for (const auto mode : {once, again})
            for (const std::uint64_t token : {4, 5, 6})
                EXPECT_EQ(outcome_of(status, 5, mode, token), already_run) << name_of(status);
    for (const auto mode : {once, again}) {
        EXPECT_EQ(outcome_of(run_status::skipped, 5, mode, 4), superseded);
        EXPECT_EQ(outcome_of(run_status::skipped, 5, mode, 5), superseded);
        EXPECT_EQ(outcome_of(run_status::skipped, 5, mode, 6), begun);
        // A run without a lease has no token that could tell it apart.
        EXPECT_EQ(outcome_of(run_status::skipped, 0, mode, 0), begun);
        // Under the same token it is the same claimer, who asks again.
        EXPECT_EQ(outcome_of(run_status::started, 5, mode, 5), begun);
    }
    EXPECT_EQ(outcome_of(run_status::started, 5, once, 4), already_run);
    EXPECT_EQ(outcome_of(run_status::started, 5, once, 6), already_run);
    EXPECT_EQ(outcome_of(run_status::started, 5, again, 4), superseded);
    EXPECT_EQ(outcome_of(run_status::started, 5, again, 6), resumed);
    EXPECT_EQ(outcome_of(run_status::abandoned, 5, once, 5), already_run);
    EXPECT_EQ(outcome_of(run_status::abandoned, 5, once, 6), already_run);
    EXPECT_EQ(outcome_of(run_status::abandoned, 5, again, 4), superseded);
    EXPECT_EQ(outcome_of(run_status::abandoned, 5, again, 5), superseded);
    EXPECT_EQ(outcome_of(run_status::abandoned, 5, again, 6), resumed);
    EXPECT_EQ(outcome_of(run_status::started, 0, again, 0), superseded);
}

TEST(RunRules, ARunToBeCancelledIsTakenOverByNone) {
    for (const auto status : {run_status::started, run_status::abandoned, run_status::skipped})
        for (const auto mode : {delivery::at_most_once, delivery::at_least_once}) {
            auto row = row_in(status, 5);
            row.record.cancel_requested = true;
            const auto decided = begin(row, start_with(6, mode), false, "", 1000).value();
            EXPECT_EQ(decided.answer.outcome, begin_outcome::already_run) << name_of(status);
            const bool ends = mode == delivery::at_least_once && status != run_status::skipped;
            EXPECT_EQ(decided.write == begin_write::update, ends) << name_of(status);
            if (!ends) continue;
            EXPECT_EQ(decided.answer.status, run_status::cancelled);
            EXPECT_EQ(decided.row.record.status, run_status::cancelled);
            EXPECT_EQ(decided.row.record.completed_at, 1000);
            EXPECT_EQ(decided.row.record.token, fence_token{5});
        }
}

// An earlier pawl left such rows.
TEST(RunRules, ARowThatWasOnlyToldToBeCancelledIsEndedByTheNextRequest) {
    auto row = row_in(run_status::abandoned, 5);
    row.record.cancel_requested = true;
    const auto did = request_cancel(row, "ada", 1000);
    EXPECT_TRUE(did.answer && did.written);
    EXPECT_EQ(row.record.status, run_status::cancelled);
    EXPECT_EQ(row.record.reason, "cancelled by ada");
}

TEST(RunRules, ATriggerThatIsGoneBeginsNothing) {
    auto start = start_with(5, delivery::at_most_once);
    start.occurrence.reset();
    start.consumes_trigger = true;
    EXPECT_EQ(begin(std::nullopt, start, true, "", 1).value().write, begin_write::insert);
    const auto gone = begin(std::nullopt, start, false, "", 1).value();
    EXPECT_EQ(gone.answer.outcome, begin_outcome::already_run);
    EXPECT_EQ(gone.answer.status, run_status::cancelled);
    EXPECT_EQ(gone.write, begin_write::nothing);
}

TEST(RunRules, OnlyAFreshRunIsGivenWhatOthersSaved) {
    auto start = start_with(6, delivery::at_least_once);
    EXPECT_EQ(begin(std::nullopt, start, false, "saved", 1).value().answer.checkpoint, "");
    start.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(begin(std::nullopt, start, false, "saved", 1).value().answer.checkpoint, "saved");
    auto row = row_in(run_status::abandoned, 5);
    row.record.checkpoint = "own";
    EXPECT_EQ(begin(row, start, false, "saved", 1).value().answer.checkpoint, "own");
}

TEST(RunRules, AttemptsAreBounded) {
    auto row = row_in(run_status::started, 5);
    row.record.attempt = attempts_max;
    run_end last;
    last.attempt = attempts_max;
    const auto rejected = next_attempt(row, fence_token{5}, last, 1);
    ASSERT_TRUE(rejected.has_error());
    EXPECT_EQ(rejected.error().code, errc::rejected);
    const auto resumed = begin(row, start_with(6, delivery::at_least_once), false, "", 1).value();
    EXPECT_EQ(resumed.answer.attempt, attempts_max);
}

TEST(RunRules, SilenceBeginsAfterWhatTheRunSaid) {
    auto row = row_in(run_status::started, 5);
    row.record.last_heartbeat = 1000;
    row.heartbeat_timeout = millis{50};
    EXPECT_FALSE(is_stale(row, 1050));
    EXPECT_TRUE(is_stale(row, 1051));
    EXPECT_FALSE(is_stale(row, 0));  // a clock that was set back
    row.record.status = run_status::completed;
    EXPECT_FALSE(is_stale(row, 5000));
}

TEST(RunRules, AChunkGoesWhereItBelongs) {
    const auto next = plan_output(10, 10, 5, 100);
    EXPECT_EQ(next.skip, 0u);
    EXPECT_EQ(next.offset, 10u);
    EXPECT_EQ(next.size, 15u);
    EXPECT_EQ(next.floor, 0u);
    const auto overlap = plan_output(10, 8, 5, 4);
    EXPECT_EQ(overlap.skip, 2u);
    EXPECT_EQ(overlap.offset, 10u);
    EXPECT_EQ(overlap.size, 13u);
    EXPECT_EQ(overlap.floor, 9u);
    const auto known = plan_output(10, 2, 5, 100);
    EXPECT_EQ(known.skip, 5u);
    EXPECT_EQ(known.size, 10u);
    const auto gap = plan_output(10, 20, 5, 100);
    EXPECT_EQ(gap.offset, 20u);
    EXPECT_EQ(gap.size, 25u);
}

}  // namespace
}  // namespace pawl::journals
