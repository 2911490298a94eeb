// What needs attention, as laws.
#include "api/monitoring/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t now = 1'795'305'600'000;  // 2026-11-22T00:00:00Z
constexpr std::int64_t minute = 60'000, hour = 60 * minute;

run_record run_of(const std::string& job, run_status status, std::int64_t ended) {
    run_record one;
    one.id = "run-of-" + job;
    one.job = job;
    one.node = "node-a";
    one.status = status;
    one.started_at = ended - minute;
    one.last_heartbeat = ended;
    one.completed_at = ended;
    return one;
}

record held(const std::string& key, std::int64_t since, std::uint64_t token) {
    record one;
    one.key = key;
    one.owner = "node-a:1:2:ab";
    one.holder = one.last_token = fence_token{token};
    one.acquired_at = since;
    one.remaining = 10s;
    return one;
}

attention_facts quiet() {
    attention_facts seen;
    seen.now = now;
    node_entry node;
    node.name = "node-a";
    seen.nodes.push_back(node);
    return seen;
}

std::vector<attention> of_kind(const attention_facts& seen, const std::string& kind) {
    auto all = attention_of(seen);
    std::erase_if(all, [&](const attention& one) { return one.kind != kind; });
    return all;
}

TEST(Attention, WhereAllIsWellNothingNeedsIt) { EXPECT_THAT(attention_of(quiet()), IsEmpty()); }

TEST(Attention, TheWorstComesFirst) {
    auto seen = quiet();
    seen.lost.push_back(run_of("report", run_status::lost, now - minute));
    seen.store_trouble = "connection refused";
    const auto all = attention_of(seen);
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].kind, "store_down");
    EXPECT_EQ(all[0].level, attention::severity::fail);
    EXPECT_EQ(all[0].runbook, "store-down");
    EXPECT_EQ(all[1].kind, "run_lost");
}

TEST(Attention, WithoutAnyAgentAliveNothingFires) {
    auto seen = quiet();
    seen.nodes[0].age = 1min;
    seen.nodes[0].last_seen = now - minute;
    job_entry entry;
    entry.name = "report";
    seen.jobs.push_back({&entry, nullptr, {}});
    const auto all = of_kind(seen, "node_unresponsive");
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].level, attention::severity::fail);
    EXPECT_THAT(all[1].text, HasSubstr("node-a has been unresponsive since 2026-11-21T23:59:00Z"));
    EXPECT_EQ(all[1].link, "/nodes");
}

TEST(Attention, ANodeThatHasNotReadTheControlControlStateIsCritical) {
    auto seen = quiet();
    seen.node = "node-a";
    seen.knows_pauses = false;
    const auto all = of_kind(seen, "control_state_unread");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all.front().level, attention::severity::fail);
    EXPECT_EQ(all.front().subject, "node-a");
    EXPECT_EQ(all.front().runbook, "store-down");
    EXPECT_THAT(all.front().text, HasSubstr("node-a starts no scheduled run"));
}

TEST(Attention, ALateJobSaysWhyAndLeadsToItsPage) {
    auto seen = quiet();
    job_entry entry;
    entry.name = "a b/c";
    job_health how;
    how.state = job_state::late;
    how.why = "every slot is taken";
    how.since = now - minute;
    seen.jobs.push_back({&entry, nullptr, how});
    const auto all = of_kind(seen, "job_late");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].text, "a b/c is late since 2026-11-21T23:59:00Z: every slot is taken");
    EXPECT_EQ(all[0].link, "/jobs/a%20b%2Fc");
    EXPECT_EQ(all[0].runbook, "late-runs");
}

// One failure is worth a look, three in a row are no accident, and a success ends both.
TEST(Attention, OnlyWhatHasFailedSinceTheLastSuccessCounts) {
    auto seen = quiet();
    for (int i = 0; i < 3; ++i)
        seen.recent.push_back(run_of("bad", run_status::failed, now - i * minute));
    seen.recent[0].exit_status = 3;
    seen.recent.push_back(run_of("once", run_status::timed_out, now));
    seen.recent.push_back(run_of("mended", run_status::completed, now));
    seen.recent.push_back(run_of("mended", run_status::failed, now - minute));
    // Neither says how the work went.
    seen.recent.insert(seen.recent.begin(), run_of("bad", run_status::skipped, now));
    seen.recent.insert(seen.recent.begin(), run_of("bad", run_status::started, now));
    const auto all = of_kind(seen, "job_failing");
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].level, attention::severity::fail);
    EXPECT_THAT(all[0].text, HasSubstr("the last 3 runs of bad failed, the newest on node-a"));
    EXPECT_THAT(all[0].text, HasSubstr("exit status 3"));
    EXPECT_EQ(all[0].link, "/runs/run-of-bad");
    EXPECT_EQ(all[1].level, attention::severity::warn);
    EXPECT_EQ(all[1].subject, "once");
}

// Goal: of jobs counts what each was judged by, though the newest rows of all tell less.
// Method: one of whose runs one is among those, and one of which none is.
TEST(Attention, FailuresOfJobsAreToldAsTheyWereJudgedTheWorstFirst) {
    auto seen = quiet();
    job_entry once, nightly;
    once.name = "once";
    nightly.name = "nightly";
    job_health how;
    how.failures.worst.count = 1;
    how.failures.worst.newest = failed_run{"run-1", "node-a", "exit status 3", now, {}};
    seen.jobs.push_back({&once, nullptr, how});
    seen.recent.push_back(run_of("once", run_status::failed, now));
    how.failures.worst.count = 20;
    how.failures.worst.newest = failed_run{"run-2", "node-b", "exit status 4", now - hour, 3};
    seen.jobs.push_back({&nightly, nullptr, how});
    const auto all = of_kind(seen, "job_failing");
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].text,
              "the last 20 runs of partition 3 of nightly failed, the newest on node-b at "
              "2026-11-21T23:00:00Z: exit status 4. Read its output");
    EXPECT_EQ(all[0].link, "/runs/run-2");
    EXPECT_EQ(all[1].subject, "once");
}

// A node that dies with a run on it says nothing of the job, which has failed all the same.
TEST(Attention, ALostRunDoesNotHideTheFailuresBeforeIt) {
    auto seen = quiet();
    seen.recent.push_back(run_of("a", run_status::lost, now));
    for (int i = 1; i <= 7; ++i)
        seen.recent.push_back(run_of("a", run_status::failed, now - i * minute));
    const auto found = of_kind(seen, "job_failing");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].level, attention::severity::fail);
    EXPECT_THAT(found[0].text, HasSubstr("the last 7 runs of a failed"));
}

// Goal: the loss of most of the nodes is not the loss of one.
// Method: one, then two, of three die; and two that died long ago.
TEST(Attention, WhereMostNodesAreUnresponsiveItIsCritical) {
    auto seen = quiet();
    seen.nodes[0].last_seen = now;
    for (const auto* name : {"node-b", "node-c"}) {
        node_entry other;
        other.name = name;
        other.last_seen = now - minute;
        seen.nodes.push_back(other);
    }
    seen.nodes[1].age = 60s;
    ASSERT_EQ(of_kind(seen, "node_unresponsive").size(), 1u);
    EXPECT_EQ(of_kind(seen, "node_unresponsive")[0].level, attention::severity::warn);
    seen.nodes[2].age = 60s;
    for (const auto& one : of_kind(seen, "node_unresponsive"))
        EXPECT_EQ(one.level, attention::severity::fail) << one.subject;
    for (auto* one : {&seen.nodes[1], &seen.nodes[2]}) one->last_seen = now - 5 * hour;
    for (const auto& one : of_kind(seen, "node_unresponsive"))
        EXPECT_EQ(one.level, attention::severity::warn) << one.subject;
}

TEST(Attention, ABlockedJobLeadsToItsLockAndToForceRelease) {
    auto seen = quiet();
    job_entry report;
    report.name = "report";
    judged_job one{&report};
    one.how.state = job_state::blocked;
    one.how.blocked_by = blockage{0, held("job/report", now - minute, 42)};
    one.how.blocked_by->lock.owner = "loader-7";
    seen.jobs.push_back(one);
    const auto found = of_kind(seen, "job_blocked");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].level, attention::severity::fail);
    EXPECT_EQ(found[0].text,
              "report is blocked since 2026-11-21T23:59:00Z: loader-7 holds its lock job/report "
              "(token 42), which is no run of the job. Wait, stop that client, or force-release "
              "the lock");
    EXPECT_EQ(found[0].link, "/jobs/report");
    ASSERT_EQ(found[0].steps.size(), 2u);
    EXPECT_EQ(found[0].steps[0].link, "/locks/job%2Freport");
    EXPECT_EQ(found[0].steps[1].link, "/locks/job%2Freport?action=force-release");
}

TEST(Attention, WhatIsLongAgoIsHistory) {
    auto seen = quiet();
    seen.recent.push_back(run_of("report", run_status::lost, now - 2 * hour));
    audit_entry forced;
    forced.action = "lock.release";
    forced.target = "k";
    forced.at = now - 2 * hour;
    seen.audit.push_back(forced);
    EXPECT_THAT(attention_of(seen), IsEmpty());
    seen.audit[0].at = now - minute;
    EXPECT_THAT(of_kind(seen, "forced_release"), SizeIs(1));
}

// A run that is known to go on may hold its key for as long as it likes.
TEST(Attention, AKeyThatIsHeldForLongByNoKnownRunIsWorthALook) {
    auto seen = quiet();
    seen.locks.push_back(held("job/long", now - 2 * hour, 7));
    seen.locks.push_back(held("job/stuck 1", now - 2 * hour, 8));
    seen.locks.push_back(held("fresh", now - minute, 9));
    seen.busy_tokens.push_back(7);
    const auto all = of_kind(seen, "lock_old");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].subject, "job/stuck 1");
    EXPECT_EQ(all[0].link, "/locks/job%2Fstuck%201");
    EXPECT_EQ(all[0].runbook, "stuck-key");
    EXPECT_THAT(all[0].text, HasSubstr("under token 8"));
}

TEST(Attention, ManyWaitersAreADebt) {
    auto seen = quiet();
    seen.locks.push_back(held("k", now - minute, 7));
    seen.locks[0].waiters = many_waiters - 1;
    EXPECT_THAT(of_kind(seen, "lock_waiters"), IsEmpty());
    seen.locks[0].waiters = many_waiters;
    EXPECT_THAT(of_kind(seen, "lock_waiters"), SizeIs(1));
}

TEST(Attention, AnOrphanIsGivenAMinuteToBeResumed) {
    auto seen = quiet();
    seen.orphans.push_back(run_of("report", run_status::abandoned, now - 30'000));
    EXPECT_THAT(attention_of(seen), IsEmpty());
    seen.orphans[0].completed_at = now - 2 * minute;
    const auto all = of_kind(seen, "orphans");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].link, "/jobs/report");
}

TEST(Attention, OfEachKindTenAreShownAndTheRestIsCounted) {
    auto seen = quiet();
    for (int i = 0; i < 25; ++i)
        seen.stale.push_back(run_of("j" + std::to_string(i), run_status::started, now - minute));
    const auto all = of_kind(seen, "run_stale");
    ASSERT_THAT(all, SizeIs(attention_of_a_kind_max + 1));
    EXPECT_EQ(all.back().text, "15 more runs are stale");
    EXPECT_EQ(all.back().link, "/runs?status=started");
}

TEST(Attention, AJobThatRanWithoutALeaseIsToldOnce) {
    auto seen = quiet();
    audit_entry one;
    one.actor = "node-b";
    one.action = "job.fail_open";
    one.target = "report";
    one.at = now - minute;
    seen.audit = {one, one, one};
    const auto all = of_kind(seen, "fail_open");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].level, attention::severity::fail);
    EXPECT_EQ(all[0].runbook, "fail-open");
}

TEST(Attention, ACommandThatRanWithoutALeaseIsToldToo) {
    auto seen = quiet();
    audit_entry one;
    one.actor = "root@node-b";
    one.action = "exec.fail_open";
    one.target = "invoices/nightly";
    one.at = now - minute;
    seen.audit = {one, one};
    const auto all = of_kind(seen, "fail_open");
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].level, attention::severity::fail);
    EXPECT_EQ(all[0].subject, "invoices/nightly");
    EXPECT_EQ(all[0].link, "/locks/invoices%2Fnightly");
}

// Goal: a link of the web UI, whatever a key is called. Method: the document of one.
TEST(Attention, ItsDocumentHasWhatTheContractNames) {
    auto seen = quiet();
    seen.leases_lost = 2;
    const auto all = attention_of(seen);
    ASSERT_THAT(all, SizeIs(1));
    const auto made = json_of(all[0]);
    for (const auto* name : {"level", "kind", "subject", "text", "link", "runbook"})
        EXPECT_TRUE(made.contains(name)) << name;
    EXPECT_EQ(made.at("level"), "warn");
    EXPECT_EQ(made.at("runbook"), "lost-leases");
}

}  // namespace
}  // namespace pawl::api
