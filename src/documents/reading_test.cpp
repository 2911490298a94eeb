#include "documents/reading.hpp"

#include "documents/documents.hpp"
#include "documents/job_terms.hpp"

#include <pawl/partition.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::documents {
namespace {

namespace json = boost::json;

constexpr std::int64_t noon = 1'795'348'800'000;

run_record some_run() {
    run_record run;
    run.id = "7b0c";
    run.job = "a/b \"c\"";
    run.partition = 3;
    run.key = "job/a";
    run.owner = "node-a:1";
    run.node = "node-a";
    run.token = fence_token{(1ULL << 53) - 1};
    run.occurrence = occurrence{noon + 1};
    run.trigger = "schedule";
    run.status = run_status::timed_out;
    run.reason = "too long";
    run.started_at = noon;
    run.completed_at = noon + 250;
    run.last_heartbeat = noon + 249;
    run.exit_status = -1;
    run.attempt = 2;
    run.checkpoint = "line\nline";
    run.output_size = 1ULL << 40;
    run.cancel_requested = true;
    return run;
}

// Goal: a command prints the same from an agent's answer as from the store's. Method: what is read
// from the JSON of a record has the same JSON again, with everything given and with nothing.
TEST(Reading, GivesBackWhatWasWritten) {
    for (const auto& run : {some_run(), run_record{}}) {
        const auto read = run_of(json_of(run));
        ASSERT_TRUE(read.has_value()) << read.error().detail;
        EXPECT_EQ(json_of(*read), json_of(run));
    }
    record held;
    held.key = "job/a";
    held.owner = "node-a:1";
    held.holder = held.last_token = fence_token{42};
    held.remaining = millis{1'500};
    held.acquired_at = noon;
    held.last_done = occurrence{noon};
    held.waiters = 2;
    record in_cooldown = held;
    in_cooldown.holder = fence_token{0};
    for (const auto& lock : {held, in_cooldown, record{}}) {
        const auto read = lock_of(json_of(lock));
        ASSERT_TRUE(read.has_value()) << read.error().detail;
        EXPECT_EQ(json_of(*read), json_of(lock));
        EXPECT_EQ(state_of(*read), state_of(lock));
        EXPECT_EQ(read->holder, lock.holder);
    }
    const run_event event{noon, "begun", "text", "node-a", fence_token{4}, 2};
    EXPECT_EQ(json_of(event_of(json_of(event)).value()), json_of(event));
    const audit_entry entry{3, noon, "alice", "job.run", "a", "b", std::string(64, '0'), "ff"};
    EXPECT_EQ(json_of(audit_of(json_of(entry)).value()), json_of(entry));
}

// Goal: the state of a node is the one that the journal's clock gave it. Method: each state, with
// an agent whose clock is a minute early or late.
TEST(Reading, ANodeKeepsItsStateWhateverTheClocksSay) {
    node_entry live;
    live.name = "node-a";
    live.last_seen = noon;
    live.running_max = 8;
    live.version = "0.1.0+tzdata.2026a";
    node_entry draining = live;
    draining.draining = true;
    node_entry unresponsive = live;
    unresponsive.age = millis{60'000};
    for (const auto& node : {live, draining, unresponsive})
        for (const auto as_of : {noon - 60'000, noon, noon + 60'000}) {
            const auto read = node_of(json_of(node), as_of);
            ASSERT_TRUE(read.has_value()) << read.error().detail;
            EXPECT_EQ(json_of(*read), json_of(node));
        }
}

TEST(Reading, AJobKeepsItsDefinitionAndItsPause) {
    job_entry job;
    job.name = "echo";
    job.schedule = "@every 1s";
    job.zone = "UTC";
    job.partitions = 2;
    job.definition = R"({"command":["true"],"enabled":true})";
    job.node = "node-a";
    job.published_at = noon;
    const job_pause pause{"echo", "quiet", "alice", noon};
    const std::chrono::system_clock::time_point now{millis{noon}};
    const auto written = json_of(job, &pause, nullptr, now);
    const auto read = job_of(written);
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    const auto paused = pause_of(written.at("paused"), "echo");
    ASSERT_TRUE(paused.has_value() && paused->has_value());
    EXPECT_EQ(json_of(*read, &**paused, nullptr, now), written);
    EXPECT_FALSE(pause_of(nullptr, "echo")->has_value());
}

// Its document counts its slots apart, its entry all keys; an earlier agent knows no slots.
TEST(Reading, AJobKeepsItsSlots) {
    job_entry job;
    job.name = "echo";
    job.partitions = 3;
    job.definition = R"({"slots":3,"partitions":1})";
    auto written = json_of(job, nullptr, nullptr, std::chrono::system_clock::time_point{});
    EXPECT_EQ(written.at("slots"), 3);
    EXPECT_EQ(written.at("partitions"), 1);
    EXPECT_EQ(job_of(written)->partitions, 3u);
    written.erase("slots");
    EXPECT_EQ(job_of(written)->partitions, 1u);
}

// Goal: an answer that is none is told by the member that is wrong, and never used. Method: every
// member of a run is left out, and given another type.
TEST(Reading, AMemberThatIsMissingOrWrongIsNamed) {
    const auto whole = json_of(some_run());
    for (const auto& member : whole) {
        auto wrong = whole;
        wrong[member.key()] = json::array{};
        const auto rejected = run_of(wrong);
        ASSERT_TRUE(rejected.has_error()) << member.key();
        EXPECT_EQ(rejected.error().code, errc::protocol);
        EXPECT_NE(rejected.error().detail.find(member.key()), std::string::npos)
            << rejected.error().detail;
    }
    for (const auto* needed : {"id", "status", "started_at", "fence_token", "cancel_requested"}) {
        auto short_of = whole;
        short_of.erase(needed);
        EXPECT_TRUE(run_of(short_of).has_error()) << needed;
    }
    auto later = whole;
    later["of_a_newer_version"] = 1;
    EXPECT_TRUE(run_of(later).has_value());
    later["fence_token"] = 1ULL << 53;
    EXPECT_TRUE(run_of(later).has_error());
    EXPECT_TRUE(run_of(json::array{}).has_error());
    EXPECT_TRUE(lock_of("text").has_error());
}

// Goal: what another program has published costs no memory. Method: a row of four billion
// partitions.
TEST(JobTerms, PartitionsAreAsManyAsAJobMayHave) {
    job_entry entry;
    entry.name = "j";
    entry.definition = "{}";
    entry.partitions = UINT32_MAX;
    EXPECT_EQ(job_terms{entry}.partitions, partitions_max);
    entry.partitions = 0;
    EXPECT_EQ(job_terms{entry}.partitions, 1u);
}

}  // namespace
}  // namespace pawl::documents
