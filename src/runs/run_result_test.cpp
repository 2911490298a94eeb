#include "runs/run_result.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace pawl::runs {
namespace {

work_result succeeded() {
    work_result made;
    made.succeeded = true;
    made.exit_status = 0;
    return made;
}
work_result broken() {
    work_result made;
    made.exit_status = 3;
    made.reason = "exit 3";
    return made;
}
work_result ended_by(work_ending how) {
    auto made = broken();
    made.ending = how;
    return made;
}
work_result never_began() {
    work_result made;
    made.started = false;
    return made;
}
// There was nothing to start it with.
work_result lacked() {
    auto made = never_began();
    made.reason = "no descriptor";
    return made;
}

run_context calm() { return {}; }
run_context told(stop_cause why) {
    run_context under;
    under.cause = why;
    return under;
}
run_context untrusted() {
    run_context under;
    under.trusted = false;
    under.loss = loss_reason::taken;
    return under;
}
run_context without_lease(run_context under) {
    under.has_lease = false;
    return under;
}
run_context after_an_attempt(run_context under) {
    under.has_worked = true;
    return under;
}
run_context reopening(run_context under) {
    under.failed = failing::reopens;
    return under;
}

struct row {
    const char* what;
    work_result work;
    run_context under;
    run_status once;   // at most once, or a manual one
    run_status again;  // an at-least-once occurrence
    std::string reason;
};

void PrintTo(const row& one, std::ostream* out) { *out << one.what; }

using enum run_status;

const std::vector<row>& table() {
    static const std::vector<row> rows{
        {"it has done its work", succeeded(), calm(), completed, completed, ""},
        {"it has, whatever it was told meanwhile", succeeded(), told(stop_cause::timed_out),
         completed, completed, ""},
        {"it has, before its lease ended", succeeded(), told(stop_cause::lost), completed,
         completed, ""},
        {"it says so too late", succeeded(), untrusted(), lost, abandoned,
         "its lease was lost (taken)"},
        {"it failed", broken(), calm(), failed, failed, "exit 3"},
        {"it failed, and is tried elsewhere", broken(), reopening(calm()), failed, abandoned,
         "exit 3"},
        {"it failed after its lease", broken(), untrusted(), lost, abandoned,
         "its lease was lost (taken); exit 3"},
        {"its lease was ending", broken(), told(stop_cause::lost), lost, abandoned,
         "its lease was lost (ending); exit 3"},
        {"it had no lease, and another has it", broken(), without_lease(told(stop_cause::lost)),
         lost, abandoned, "another node has run it; exit 3"},
        {"it had none, and had not begun", never_began(), without_lease(told(stop_cause::lost)),
         skipped, abandoned, "another node has run it"},
        {"its guard keeps the deadline first", ended_by(work_ending::deadline), calm(), lost,
         abandoned, "its lease was lost (ending); exit 3"},
        {"its guard was killed", ended_by(work_ending::guard_lost), calm(), failed, abandoned,
         "exit 3"},
        {"its guard was killed after its lease", ended_by(work_ending::guard_lost), untrusted(),
         lost, abandoned, "its lease was lost (taken); exit 3"},
        {"it took too long, to its deadline", ended_by(work_ending::deadline),
         told(stop_cause::timed_out), timed_out, timed_out, "it took longer than its timeout"},
        {"it is cancelled, at its deadline", ended_by(work_ending::deadline),
         told(stop_cause::cancelled), cancelled, cancelled, "cancelled"},
        {"its node goes, at its deadline", ended_by(work_ending::deadline),
         told(stop_cause::shutdown), cancelled, abandoned, "the node was shut down"},
        {"its guard is killed in a shutdown", ended_by(work_ending::guard_lost),
         told(stop_cause::shutdown), cancelled, abandoned, "the node was shut down"},
        {"it took too long", broken(), told(stop_cause::timed_out), timed_out, timed_out,
         "it took longer than its timeout"},
        {"a user cancelled it", broken(), told(stop_cause::cancelled), cancelled, cancelled,
         "cancelled"},
        {"its node goes", broken(), told(stop_cause::shutdown), cancelled, abandoned,
         "the node was shut down"},
        {"its deadline came first", never_began(), calm(), skipped, abandoned,
         "its lease ended before its work began"},
        {"its lease ended first", never_began(), untrusted(), skipped, abandoned,
         "its lease ended before its work began"},
        {"its lease was ending", never_began(), told(stop_cause::lost), skipped, abandoned,
         "its lease ended before its work began"},
        {"its node goes first", never_began(), told(stop_cause::shutdown), skipped, abandoned,
         "the node was shut down before its work began"},
        {"it is cancelled first", never_began(), told(stop_cause::cancelled), cancelled, cancelled,
         "cancelled"},
        {"it was never let begin", never_began(), told(stop_cause::timed_out), timed_out, timed_out,
         "it took longer than its timeout"},
        {"the next attempt is too late", never_began(), after_an_attempt(calm()), lost, abandoned,
         "its lease was lost (ending)"},
        {"the next attempt is too late", never_began(), after_an_attempt(untrusted()), lost,
         abandoned, "its lease was lost (taken)"},
        {"there was nothing to start it with", lacked(), calm(), skipped, abandoned,
         "no descriptor"},
        {"nor the next attempt", lacked(), after_an_attempt(calm()), failed, failed,
         "no descriptor"},
        {"its node goes between attempts", never_began(),
         after_an_attempt(told(stop_cause::shutdown)), cancelled, abandoned,
         "the node was shut down"},
    };
    return rows;
}

class RunResult : public testing::TestWithParam<row> {};

TEST_P(RunResult, IsWhatTheTableSays) {
    const auto& one = GetParam();
    for (const bool again : {false, true}) {
        auto under = one.under;
        under.is_at_least_once = again;
        const auto how = judge(one.work, under);
        EXPECT_EQ(name_of(how.status), name_of(again ? one.again : one.once));
        EXPECT_EQ(how.reason, one.reason);
        EXPECT_EQ(how.exit_status, one.work.exit_status);
    }
}

INSTANTIATE_TEST_SUITE_P(Runs, RunResult, testing::ValuesIn(table()));

TEST(RunResult, OnlyWhatIsOverIsDone) {
    for (const auto how : {completed, failed, cancelled, timed_out})
        EXPECT_EQ(settle(how, true), settlement::done) << name_of(how);
    for (const auto how : {lost, abandoned})
        EXPECT_EQ(settle(how, true), settlement::open) << name_of(how);
    // Whether or not the journal has it: the store is another.
    EXPECT_EQ(settle(completed, false), settlement::done);
}

TEST(RunResult, WhatNeverBeganIsGivenBackOnceItsRowSaysSo) {
    EXPECT_EQ(settle(skipped, true), settlement::not_started);
    EXPECT_EQ(settle(skipped, false), settlement::open);
}

TEST(RunResult, AnOccurrenceIsKnownByItsKeyAndTime) {
    run_start start{"an-id", "nightly", "job/nightly"};
    EXPECT_EQ(idempotency_key(start, begin_result{begin_outcome::resumed, "the-first"}),
              "the-first");
    start.occurrence = occurrence{1'700'000'000'000};
    EXPECT_EQ(idempotency_key(start, begin_result{}), "job/nightly@2023-11-14T22:13:20.000Z");
}

}  // namespace
}  // namespace pawl::runs
