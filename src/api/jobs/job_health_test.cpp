// Why a job does not run: what a stranger reads, as laws.
#include "api/jobs/job_health.hpp"

#include "time/rfc3339.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::int64_t at(const std::string& text) {
    const auto parsed = time::parse_rfc3339(text);
    EXPECT_TRUE(parsed) << text;
    return std::chrono::floor<millis>(*parsed).time_since_epoch().count();
}

const auto six = at("2026-11-22T06:00:00Z");
constexpr std::int64_t second = 1'000, minute = 60 * second, hour = 60 * minute;

// A job that fires at six, one agent that has room, a store that answers; five minutes past six.
struct health_setup {
    health_setup() {
        entry.name = "report";
        entry.schedule = "0 6 * * *";
        entry.zone = "UTC";
        entry.node = "node-a";
        entry.since = six - 8 * hour;
        entry.published_at = six;
        node_entry agent;
        agent.name = "node-a";
        agent.started_at = six - 30 * hour;
        agent.last_seen = six + 5 * minute;
        agent.running_max = 8;
        nodes.push_back(agent);
        parts.resize(1);
    }
    void define(const std::string& definition) { entry.definition = definition; }

    record lock(const std::string& owner, std::uint64_t token, millis remaining) {
        record one;
        one.key = documents::job_terms{entry}.key(0);
        one.owner = owner;
        one.holder = fence_token{token};
        one.last_token = fence_token{std::max<std::uint64_t>(token, 41)};
        one.remaining = remaining;
        one.acquired_at = six;
        return one;
    }
    static run_record run_of(std::int64_t occurrence, run_status status, std::uint64_t token = 41) {
        run_record one;
        one.id = "run-1";
        one.job = "report";
        one.node = "node-b";
        one.occurrence = pawl::occurrence{occurrence};
        one.status = status;
        one.token = fence_token{token};
        one.started_at = occurrence + 1'000;
        one.last_heartbeat = one.started_at;
        return one;
    }

    job_health look() {
        const documents::job_terms terms{entry};
        job_facts job;
        job.entry = &entry;
        job.terms = &terms;
        job.pause = pause ? &*pause : nullptr;
        for (const auto& one : triggers) job.triggers.push_back(&one);
        for (std::uint32_t i = 0; i < parts.size(); ++i) parts[i].partition = i;
        job.partitions = parts;
        job.resumed_at = resumed_at;
        job.failures = failures_in(runs, terms);
        shared_facts around;
        around.nodes = &nodes;
        around.store_trouble = store_trouble;
        around.now = now;
        return judge(job, around);
    }

    job_entry entry;
    std::vector<node_entry> nodes;
    std::vector<partition_facts> parts;
    std::vector<run_trigger> triggers;
    std::vector<run_record> runs;  // the newest first
    std::optional<job_pause> pause;
    std::optional<std::int64_t> resumed_at;
    std::string store_trouble;
    std::int64_t now = six + 5 * minute;
};

// -- late or not

TEST(JobHealth, AnOccurrenceThatIsDueForMoreThanTenSecondsIsLate) {
    health_setup one;
    EXPECT_EQ(one.look().state, job_state::late);
    EXPECT_EQ(one.look().since, six);
    one.now = six + late_after.count() - 1;
    EXPECT_EQ(one.look().state, job_state::idle);
    EXPECT_EQ(one.look().why, "");
    one.now = six + late_after.count();
    EXPECT_EQ(one.look().state, job_state::late);
}

// Goal: whatever became of an occurrence, it is not late. Method: each thing that may be known of
// it.
TEST(JobHealth, AnOccurrenceThatWasDealtWithIsNotLate) {
    const std::vector<std::pair<std::string, std::function<void(health_setup&)>>> ways{
        {"a row", [](health_setup& one) { one.parts[0].last_occurrence = six; }},
        {"a mark at the store",
         [](health_setup& one) {
             one.parts[0].lock = one.lock("", 0, 0ms);
             one.parts[0].lock->last_done = occurrence{six};
         }},
        {"the schedule is younger", [](health_setup& one) { one.entry.since = six + second; }},
        {"it was paused then", [](health_setup& one) { one.resumed_at = six + minute; }},
        {"it is not enabled", [](health_setup& one) { one.define(R"({"enabled": false})"); }},
        {"it has no schedule", [](health_setup& one) { one.entry.schedule.clear(); }}};
    for (const auto& [what, deal] : ways) {
        health_setup one;
        deal(one);
        EXPECT_NE(one.look().state, job_state::late) << what;
    }
}

// Goal: a job that fires often and cannot begin is late, though each occurrence gives way to the
// next. Method: every minute; the last that ran is of three minutes ago, each since then has waited
// in vain. Where none that ran is in sight, it is late at least since the first that is.
TEST(JobHealth, WhatGaveWayToTheNextOccurrenceWasNotDealtWith) {
    health_setup one;
    one.entry.schedule = "* * * * *";
    one.now = six + 30 * second;
    auto row = one.run_of(six - 2 * minute, run_status::skipped);
    row.reason = "a later firing came due before it could begin";  // as older versions wrote it
    EXPECT_TRUE(waited_in_vain(row));
    row.reason = "a later occurrence came due before it could begin";
    EXPECT_TRUE(waited_in_vain(row));
    auto later = row;
    later.occurrence = occurrence{six - minute};
    one.parts[0].add(later);
    one.parts[0].add(row);
    EXPECT_EQ(one.look().state, job_state::late);
    EXPECT_EQ(one.look().since, six - 2 * minute);

    one.parts[0].add(one.run_of(six - 3 * minute, run_status::completed));
    EXPECT_EQ(one.look().since, six - 2 * minute);

    one.parts[0].add(one.run_of(six, run_status::completed));
    EXPECT_EQ(one.look().state, job_state::idle);
}

TEST(JobHealth, ARowOfTheDayBeforeIsNoneOfThisOccurrence) {
    health_setup one;
    one.parts[0].last_occurrence = six - 24 * hour;
    EXPECT_EQ(one.look().state, job_state::late);
}

// Goal: of a job with slots only the slot whose turn it was is late, and none where a later turn of
// another slot has begun. Method: each minute over two slots; six is the turn of the second.
TEST(JobHealth, OfAJobWithSlotsTheOneWhoseTurnItWasIsLate) {
    health_setup one;
    one.entry.schedule = "* * * * *";
    one.entry.partitions = 2;
    one.define(R"({"slots": 2})");
    one.parts.resize(2);
    one.now = six + 30 * second;
    one.parts[0].last_occurrence = six - minute;
    one.parts[1].last_occurrence = six;
    EXPECT_EQ(one.look().state, job_state::idle);
    one.parts[1].last_occurrence = six - 2 * minute;
    EXPECT_EQ(one.look().state, job_state::late);
    EXPECT_EQ(one.look().since, six);
    EXPECT_EQ(one.look().late, 1u);
    EXPECT_THAT(one.look().why, HasSubstr("slot 1: "));
    one.now = six + minute + 30 * second;
    one.parts[0].last_occurrence = six + minute;
    EXPECT_EQ(one.look().state, job_state::idle);
    // Where occurrences wait for their slot it is still to run.
    one.define(R"({"slots": 2, "overlap": "queue"})");
    EXPECT_EQ(one.look().state, job_state::late);
    EXPECT_EQ(one.look().since, six);
}

TEST(JobHealth, JitterIsNoLateness) {
    health_setup one;
    one.define(R"({"jitter": "10m"})");
    EXPECT_EQ(one.look().state, job_state::idle);
    one.now = six + 11 * minute;
    EXPECT_EQ(one.look().state, job_state::late);
}

// What hold_until_expiry and delivery = "off" leave out leaves no row; nor does what agents of
// before publish under their former names.
TEST(JobHealth, AnOccurrenceThatFoundItsKeyBusyAndIsNotRememberedIsNotLate) {
    for (const auto* definition :
         {R"({"hold_until_expiry": true, "ttl": "20m"})", R"({"delivery": "off"})",
          R"({"hold": true, "ttl": "20m"})", R"({"occurrence": "off"})"}) {
        health_setup one;
        one.define(definition);
        EXPECT_EQ(one.look().state, job_state::late) << definition;
        one.parts[0].lock = one.lock("", 0, 1min);
        EXPECT_EQ(one.look().state, job_state::idle) << definition;
        // The key is free by now, and was not at six.
        one.parts[0].lock.reset();
        one.parts[0].last_run = health_setup::run_of(six - 10 * minute, run_status::completed);
        one.parts[0].last_run->completed_at = six + second;
        EXPECT_EQ(one.look().state, job_state::idle) << definition;
    }
}

// An occurrence that is not remembered is not made up for by an agent that starts later.
TEST(JobHealth, WithoutMemoryOnlyWhatIsDueSinceAnAgentStartedIsLate) {
    health_setup one;
    one.define(R"({"delivery": "off"})");
    one.nodes[0].started_at = six + second;
    EXPECT_EQ(one.look().state, job_state::idle);
}

TEST(JobHealth, AnOccurrenceBeyondItsWindowWasMissedAndIsNotLate) {
    health_setup one;
    one.define(R"({"misfire": "skip", "misfire_window": "1h"})");
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::idle);
    EXPECT_THAT(seen.why, StartsWith("its run of 2026-11-22T06:00:00Z was missed and is not "
                                     "executed: no agent could start it within 10s"));
    EXPECT_EQ(seen.since, six);
    // While no node could run anything, it is late all the same.
    one.nodes.clear();
    EXPECT_EQ(one.look().state, job_state::late);
}

TEST(JobHealth, OfManyMissedOccurrencesTheLatestThatMayStillRunIsLate) {
    health_setup one;
    one.entry.schedule = "* * * * *";
    one.define(R"({"misfire_window": "90s"})");
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::late);
    EXPECT_EQ(seen.since, six + 4 * minute);
}

// -- why it is late

// Goal: a key that a client beside the job holds is told as that, with the client's name.
// Method: a holder that is neither an agent nor a run of the job, late or not.
TEST(JobHealth, AJobWhoseKeyAnOutsiderHoldsIsBlockedAndSaysByWhomSinceWhenAndForHowLong) {
    health_setup one;
    one.parts[0].lock = one.lock("loader-7", 42, 12'300ms);
    auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::blocked);
    EXPECT_EQ(seen.since, six);
    EXPECT_EQ(seen.why,
              "lock job/report is held by loader-7 since 2026-11-22T06:00:00Z (token 42), expires "
              "in 13s unless renewed; no run of report has this token");
    ASSERT_TRUE(seen.blocked_by);
    EXPECT_EQ(seen.blocked_by->lock.owner, "loader-7");
    EXPECT_EQ(seen.blocked_by->partition, 0u);
    EXPECT_EQ(seen.blocked, 1u);
    // Every occurrence that gives way leaves a row, so nothing is late.
    one.parts[0].last_occurrence = six;
    EXPECT_EQ(one.look().state, job_state::blocked);
    one.entry.schedule.clear();
    EXPECT_EQ(one.look().state, job_state::blocked);
    one.parts[0].lock->remaining = 0ms;
    EXPECT_EQ(one.look().state, job_state::idle);
}

TEST(JobHealth, OfPartitionsTheOneThatIsHeldForLongestIsNamedAndTheOthersCounted) {
    health_setup one;
    one.entry.partitions = 3;
    one.parts.resize(3);
    for (auto& part : one.parts) part.last_occurrence = six;
    one.parts[1].lock = one.lock("late-comer", 43, 1min);
    one.parts[1].lock->acquired_at = six + minute;
    one.parts[2].lock = one.lock("loader-7", 42, 1min);
    const auto seen = one.look();
    EXPECT_EQ(seen.blocked, 2u);
    EXPECT_THAT(seen.why, StartsWith("partition 2: lock "));
    EXPECT_THAT(seen.why, HasSubstr("loader-7"));
    EXPECT_THAT(seen.why, HasSubstr("; 2 of its 3 partitions are blocked"));
}

// Goal: an agent's own lease never counts as an outsider's. Method: each thing that may be known.
TEST(JobHealth, AnAgentOrARunOfTheJobBlocksNothing) {
    const std::vector<std::pair<std::string, std::function<void(health_setup&)>>> ways{
        {"an agent whose run has no row yet",
         [](health_setup& one) { one.nodes[0].id = "holder"; }},
        {"the run that is active",
         [](health_setup& one) {
             one.parts[0].add(health_setup::run_of(six - 24 * hour, run_status::started, 42));
         }},
        {"a run that was lost and is still held",
         [](health_setup& one) {
             one.parts[0].add(health_setup::run_of(six - 24 * hour, run_status::lost, 42));
         }},
        {"a run before the last",
         [](health_setup& one) {
             one.parts[0].add(health_setup::run_of(six - 24 * hour, run_status::completed, 43));
             one.parts[0].add(health_setup::run_of(six - 48 * hour, run_status::lost, 42));
         }},
        {"a paused job wants nothing of it",
         [](health_setup& one) {
             one.pause = job_pause{"report", "the disk is full", "ann", six};
         }},
    };
    for (const auto& [what, way] : ways) {
        health_setup one;
        one.parts[0].lock = one.lock("holder", 42, 10s);
        way(one);
        EXPECT_NE(one.look().state, job_state::blocked) << what;
    }
}

TEST(JobHealth, ARunThatIsOverAndStillHeldIsNamed) {
    health_setup one;
    one.parts[0].lock = one.lock("node-b:1:1:cd", 42, 10s);
    one.parts[0].last_run = health_setup::run_of(six - 24 * hour, run_status::lost, 42);
    EXPECT_THAT(one.look().why, HasSubstr("; its run run-1 is lost"));
}

// -- failing

TEST(JobHealth, AJobThatKeepsFailingIsFailingAndSaysHowOftenAndWhy) {
    health_setup one;
    one.parts[0].last_occurrence = six;
    for (int i = 0; i < 3; ++i) {
        auto run = health_setup::run_of(six - i * hour, run_status::failed);
        run.completed_at = run.started_at + second;
        run.exit_status = 3;
        one.runs.push_back(run);
    }
    auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::failing);
    EXPECT_EQ(seen.failures.worst.count, 3u);
    EXPECT_EQ(seen.since, six - 2 * hour + 2 * second);
    EXPECT_EQ(
        seen.why,
        "its last 3 runs failed, the newest on node-b at 2026-11-22T06:00:02Z: exit status 3");
    // What says nothing of the job itself does not end it.
    one.runs.insert(one.runs.begin(), health_setup::run_of(six, run_status::skipped));
    one.runs.insert(one.runs.begin(), health_setup::run_of(six, run_status::lost));
    one.runs.insert(one.runs.begin(), health_setup::run_of(six, run_status::cancelled));
    EXPECT_EQ(one.look().failures.worst.count, 3u);
    // While it runs again it is running, and has failed all the same.
    one.parts[0].active = health_setup::run_of(six, run_status::started);
    EXPECT_EQ(one.look().state, job_state::running);
    EXPECT_EQ(one.look().failures.worst.count, 3u);
    one.parts[0].active.reset();
    one.runs.insert(one.runs.begin(), health_setup::run_of(six, run_status::completed));
    seen = one.look();
    EXPECT_EQ(seen.state, job_state::idle);
    EXPECT_EQ(seen.failures.worst.count, 0u);
}

// Goal: a partition that fails every time is seen among others that complete. Method: three
// occurrences of two partitions, of which the failing one has begun first.
TEST(JobHealth, APartitionThatKeepsFailingFailsAmongOthersThatComplete) {
    health_setup one;
    one.entry.partitions = 2;
    one.parts.resize(2);
    for (auto& part : one.parts) part.last_occurrence = six;
    const auto add = [&](std::uint32_t partition, std::int64_t occurrence, run_status status) {
        auto run = health_setup::run_of(occurrence, status);
        run.partition = partition;
        run.exit_status = 3;
        one.runs.push_back(run);
    };
    for (int i = 0; i < 3; ++i) {
        add(0, six - i * hour, run_status::completed);
        add(1, six - i * hour, run_status::failed);
    }
    auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::failing);
    EXPECT_EQ(seen.failures.worst.count, 3u);
    EXPECT_EQ(seen.why,
              "partition 1: its last 3 runs failed, the newest on node-b at "
              "2026-11-22T06:00:01Z: exit status 3");
    add(0, six - 3 * hour, run_status::failed);
    EXPECT_EQ(one.look().why, seen.why);
    one.runs[0].status = run_status::timed_out;
    EXPECT_THAT(one.look().why, HasSubstr("; 2 of its 2 partitions are failing"));
    // What has failed in a slot may complete in another one.
    one.define(R"({"partitions": 2, "slots": 2})");
    EXPECT_THAT(one.look().why, StartsWith("its last 2 runs failed"));
    one.runs[0].status = run_status::completed;
    EXPECT_EQ(one.look().failures.worst.count, 0u);
    // A partition that it has no more does not count for ever.
    one.define("{}");
    one.entry.partitions = 1;
    one.parts.resize(1);
    EXPECT_EQ(one.look().failures.worst.count, 0u);
}

TEST(JobHealth, ItSaysWhereThePreviousOccurrenceStillRuns) {
    health_setup one;
    one.define(R"({"overlap": "queue"})");
    one.parts[0].lock = one.lock("node-b:1:1:cd", 41, 10s);
    one.parts[0].active = health_setup::run_of(six - 24 * hour, run_status::started);
    one.parts[0].last_occurrence = six - 24 * hour;
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::late);
    EXPECT_EQ(seen.running, 1u);
    EXPECT_EQ(seen.why,
              "its previous run of 2026-11-21T06:00:00Z still runs on node-b since "
              "2026-11-21T06:00:01Z (run run-1)");
}

TEST(JobHealth, ItSaysUntilWhenTheKeyIsInCooldownAndWhatKeepsIt) {
    health_setup one;
    for (const auto* definition : {R"({"min_hold": "6m"})", R"({"at_least": "6m"})"}) {
        one.define(definition);
        one.parts[0].lock = one.lock("", 0, 1min);
        EXPECT_EQ(one.look().why,
                  "its lock job/report is in cooldown until 2026-11-22T06:06:00Z (min_hold = "
                  "6m)");
    }
    one.define("{}");
    EXPECT_THAT(one.look().why, HasSubstr("(after a force release, or a minimum hold time)"));
}

TEST(JobHealth, ItSaysThatNoAgentIsAlive) {
    health_setup one;
    one.nodes[0].age = 5min;
    one.nodes[0].last_seen = six;
    EXPECT_EQ(one.look().why,
              "no agent is live: node-a has been unresponsive since 2026-11-22T06:00:00Z");
    node_entry other;
    other.name = "node-b";
    other.age = 1h;
    other.last_seen = six - hour;
    one.nodes.push_back(other);
    EXPECT_THAT(one.look().why,
                HasSubstr("node-a has been unresponsive since 2026-11-22T06:00:00Z, and "
                          "1 other for longer"));
    one.nodes.clear();
    EXPECT_EQ(one.look().why, "no agent has been seen within a day: start one");
}

TEST(JobHealth, AnAgentThatDrainsTakesNoRuns) {
    health_setup one;
    one.nodes[0].draining = true;
    EXPECT_EQ(one.look().why, "no agent takes new runs: node-a is draining");
}

TEST(JobHealth, ItSaysThatEverySlotOfEveryLiveAgentIsTaken) {
    health_setup one;
    one.nodes[0].running = 8;
    EXPECT_THAT(one.look().why,
                StartsWith("every slot of every live agent is taken: 8 of 8 on node-a"));
    auto other = one.nodes[0];
    other.name = "node-b";
    other.running = 2;
    one.nodes.push_back(other);
    EXPECT_THAT(one.look().why, Not(HasSubstr("slot")));
    // Those that are unresponsive have none.
    one.nodes[1].age = 1h;
    EXPECT_THAT(one.look().why, StartsWith("every slot"));
}

TEST(JobHealth, AStoreThatDoesNotAnswerExplainsEverything) {
    health_setup one;
    one.nodes.clear();
    one.store_trouble = "redis://127.0.0.1:6379: connection refused";
    EXPECT_EQ(one.look().why,
              "the store does not answer: redis://127.0.0.1:6379: connection refused");
    // Also where no occurrence is late, because each has given way to the next.
    one.parts[0].last_occurrence = six;
    EXPECT_EQ(one.look().state, job_state::idle);
    EXPECT_THAT(one.look().why, StartsWith("the store does not answer"));
}

TEST(JobHealth, ItSaysThatNoAgentHasItInItsConfigurationAnyMore) {
    health_setup one;
    one.entry.published_at = six - hour;
    EXPECT_EQ(one.look().why,
              "no live agent has it in its configuration: node-a published it last, at "
              "2026-11-22T05:00:00Z");
}

TEST(JobHealth, ItSaysThatTheAgentThatHasItIsUnresponsiveWhileOthersLive) {
    health_setup one;
    auto other = one.nodes[0];
    other.name = "node-b";
    one.nodes[0].age = 1min;
    one.nodes[0].last_seen = six;
    one.nodes.push_back(other);
    EXPECT_EQ(
        one.look().why,
        "the agent that has it, node-a, has been unresponsive since 2026-11-22T06:00:00Z, and no "
        "other has published it since then");
}

TEST(JobHealth, WhereNothingIsInTheWayItSaysWhereToLookNext) {
    EXPECT_THAT(health_setup{}.look().why, HasSubstr("'pawl doctor'"));
}

TEST(JobHealth, OfPartitionsTheLatestIsExplainedAndTheOthersCounted) {
    health_setup one;
    one.entry.partitions = 3;
    one.parts.resize(3);
    one.parts[1].last_occurrence = six;
    one.nodes[0].id = "node-x";
    one.parts[2].lock = one.lock("node-x", 42, 10s);
    one.parts[0].last_occurrence = six - 24 * hour;
    const auto seen = one.look();
    EXPECT_EQ(seen.late, 2u);
    EXPECT_THAT(seen.why, StartsWith("partition 0: "));
    EXPECT_THAT(seen.why, HasSubstr("2 of its 3 partitions are late"));
}

TEST(JobHealth, WhatOthersHaveWrittenTakesNoLineOver) {
    health_setup one;
    one.parts[0].lock = one.lock("evil\nowner\x1b[2J", 42, 10s);
    EXPECT_THAT(one.look().why, Not(HasSubstr("\n")));
    EXPECT_THAT(one.look().why, Not(HasSubstr("\x1b")));
}

// -- the other states

TEST(JobHealth, APausedJobSaysWhoPausedItSinceWhenAndWhy) {
    health_setup one;
    one.pause = job_pause{"report", "the warehouse moves", "alice", six};
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::paused);
    EXPECT_EQ(seen.since, six);
    EXPECT_EQ(seen.why, "paused by alice since 2026-11-22T06:00:00Z: the warehouse moves");
}

TEST(JobHealth, ATriggerWaitsEvenForAPausedJobAndSaysForWhat) {
    health_setup one;
    one.pause = job_pause{"report", "r", "alice", six};
    run_trigger asked;
    asked.id = "run-2";
    asked.by = "bob";
    asked.at = six + 4 * minute;
    one.triggers.push_back(asked);
    one.parts[0].lock = one.lock("node-x", 42, 10s);
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::blocked);
    EXPECT_THAT(seen.why, StartsWith("lock job/report is held by node-x since "));
    EXPECT_THAT(seen.why,
                HasSubstr("; a run that bob queued at 2026-11-22T06:04:00Z waits for it"));
    // For a run of the job it waits as any other run does.
    one.nodes[0].id = "node-x";
    const auto in_line = one.look();
    EXPECT_EQ(in_line.state, job_state::waiting);
    EXPECT_EQ(in_line.since, asked.at);
    EXPECT_THAT(in_line.why, StartsWith("a run that bob queued at 2026-11-22T06:04:00Z waits: lock "
                                        "job/report is held by node-x since "));
}

TEST(JobHealth, ATriggerThatWasJustMadeIsPickedUpWithinSeconds) {
    health_setup one;
    one.parts[0].last_occurrence = six;
    run_trigger asked;
    asked.by = "bob";
    asked.at = one.now - second;
    one.triggers.push_back(asked);
    EXPECT_THAT(one.look().why, HasSubstr("an agent starts it within 2s"));
}

TEST(JobHealth, AnOrphanIsToBeResumed) {
    health_setup one;
    one.parts[0].last_occurrence = six;
    one.parts[0].orphan = health_setup::run_of(six, run_status::abandoned);
    one.parts[0].orphan->reason = "its node node-b became unresponsive";
    one.nodes.clear();
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::waiting);
    EXPECT_EQ(
        seen.why,
        "its run run-1 is to be resumed, as its node node-b became unresponsive: no agent has "
        "been seen within a day: start one");
}

TEST(JobHealth, ARunningJobSaysWhereUnderWhichTokenAndSinceWhen) {
    health_setup one;
    one.parts[0].last_occurrence = six;
    one.parts[0].active = health_setup::run_of(six, run_status::started);
    const auto seen = one.look();
    EXPECT_EQ(seen.state, job_state::running);
    EXPECT_EQ(seen.running, 1u);
    EXPECT_EQ(seen.why, "runs on node-b since 2026-11-22T06:00:01Z under token 41");
}

TEST(JobHealth, AJobThatIsNotEnabledSaysSo) {
    health_setup one;
    one.define(R"({"enabled": false})");
    EXPECT_EQ(one.look().state, job_state::disabled);
    EXPECT_THAT(one.look().why, HasSubstr("not enabled"));
}

// A program's job has its name as its key.
TEST(JobHealth, AProgramsJobHasNoPrefixInItsKey) {
    health_setup one;
    one.define(R"({"body": "a function of the program"})");
    one.parts[0].lock = one.lock("prog", 42, 10s);
    EXPECT_THAT(one.look().why, StartsWith("lock report is held by prog since "));
}

}  // namespace
}  // namespace pawl::api
