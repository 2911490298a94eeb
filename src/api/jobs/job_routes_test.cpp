// Jobs over HTTP, on a store and a journal in memory that fail when told to.
#include "api/jobs/job_routes.hpp"

#include "api/jobs/job_reading.hpp"
#include "api/limits/change_limit.hpp"
#include "api/request/list_writer.hpp"
#include "engines/rules/journal/control_limits.hpp"
#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using namespace testing;

struct job_world : api_world {
    job_world() : api_world{job_routes}, others{open()} { beat(0); }

    void publish(const std::string& name, const std::string& definition = "{}",
                 std::uint32_t partitions = 1) {
        job_entry entry;
        entry.name = name;
        entry.partitions = partitions;
        entry.definition = definition;
        entry.node = "node-a";
        journal(
            [&](pawl::journal& records) { return records.publish(std::vector<job_entry>{entry}); });
    }
    void beat(std::uint32_t running) {
        node_entry node;
        node.id = "node-a:1:2:ab";
        node.name = "node-a";
        node.running = running;
        node.running_max = 4;
        journal([&](pawl::journal& records) { return records.node_heartbeat(node); });
    }
    void begin_run(const std::string& id, const std::string& job, std::uint64_t token,
                   const std::string& saved = {}, std::uint32_t partition = 0) {
        run_start start{id, job, "job/" + job};
        start.node = "node-a";
        start.token = fence_token{token};
        start.partition = partition;
        start.trigger = "manual";
        journal([&](pawl::journal& records) { return records.begin(start); });
        run_ref who{id, fence_token{token}};
        if (!saved.empty())
            journal([&](pawl::journal& records) { return records.checkpoint(who, saved); });
    }
    void end_run(const std::string& id, std::uint64_t token, run_end end = {}) {
        run_ref who{id, fence_token{token}};
        journal([&](pawl::journal& records) { return records.finish(who, end); });
    }
    control_state seen() {
        return journal([](pawl::journal& records) { return records.read_control_state(); });
    }
    std::uint64_t hold(const std::string& key) {
        auto got = others.try_acquire(key, {.ttl = 60s});
        held.push_back(std::move(*got));
        return number(held.back().token());
    }

    locks others;
    std::vector<lease> held;

private:
    locks open() {
        const auto make = [settings = where().settings](net::loop& loop) {
            return pawl::memory::make_memory_store(loop, settings);
        };
        return locks{std::make_unique<runtime::core>(make, where().settings, open_options{})};
    }
};

std::vector<std::string> names_in(const http::response& from) {
    std::vector<std::string> names;
    const auto jobs = json_in(from).at("jobs").as_array();
    for (const auto& one : jobs) names.emplace_back(one.at("name").as_string());
    return names;
}

std::string detail_of(const http::response& from) { return text_in(from, "detail"); }

// -- to look at

TEST(JobRoutes, JobsAreListedByPagesToTheEnd) {
    job_world world;
    for (const auto* name : {"c", "a", "e", "b", "d"}) world.publish(name);
    EXPECT_THAT(world.on_all_pages("/api/v1/jobs", names_in), ElementsAre("a", "b", "c", "d", "e"));
}

// Goal: what one page takes is bounded, whatever the last runs have saved. Method: more checkpoints
// than fit; the pages have each job once.
TEST(JobRoutes, APageOfLongCheckpointsEndsWhereItIsFull) {
    job_world world;
    const std::string text(checkpoint_bytes_max, 'c');
    std::vector<std::string> published;
    for (int i = 100; i < 180; ++i) {
        published.push_back("job-" + std::to_string(i));
        world.publish(published.back());
        world.begin_run(std::to_string(i), published.back(), 7, text);
    }
    int pages = 0;
    const auto read = [&](const http::response& page) {
        EXPECT_LT(page.body.size(), page_bytes_max + 2 * checkpoint_bytes_max);
        ++pages;
        return names_in(page);
    };
    const auto listed = world.on_all_pages("/api/v1/jobs", read, 1'000);
    EXPECT_GE(pages, 2);
    EXPECT_EQ(listed, published);
}

TEST(JobRoutes, AListThatHasNotChangedIsNotSentAgain) {
    job_world world;
    world.publish("a");
    const auto first = world.ask({"GET", "/api/v1/jobs"});
    asked again{"GET", "/api/v1/jobs"};
    again.if_none_match = field_in(first, "ETag");
    EXPECT_EQ(world.ask(again).status, 304u);
    world.publish("b");
    EXPECT_EQ(world.ask(again).status, 200u);
}

TEST(JobRoutes, AsManyOfTheLastRunsAreShownAsAreAskedFor) {
    job_world world;
    world.publish("a");
    for (int i = 1; i <= 4; ++i) {
        world.begin_run("run-" + std::to_string(i), "a", static_cast<std::uint64_t>(i));
        world.end_run("run-" + std::to_string(i), static_cast<std::uint64_t>(i));
    }
    const auto strip = [&](const std::string& query) {
        const auto page = world.ask({"GET", "/api/v1/jobs" + query});
        return json_in(page).at("jobs").at(0).at("recent").as_array();
    };
    EXPECT_THAT(strip(""), IsEmpty());
    ASSERT_THAT(strip("?runs=3"), SizeIs(3));
    EXPECT_EQ(strip("?runs=3").at(0).at("id"), "run-4");
}

TEST(JobRoutes, OneJobShowsItsPartitionsWithTheirKeysAndRuns) {
    job_world world;
    world.publish("p", R"({"command": ["x"]})", 100);
    const auto token = world.hold("job/p/99");
    world.hold("job/q");
    world.begin_run("run-99", "p", token, "half", 99);
    const auto shown = world.ask({"GET", "/api/v1/jobs/p"});
    ASSERT_EQ(shown.status, 200u) << shown.body;
    const auto document = json_in(shown);
    const auto& parts = document.at("partition_states").as_array();
    ASSERT_EQ(parts.size(), 100u);
    EXPECT_EQ(parts[99].at("key"), "job/p/99");
    EXPECT_EQ(parts[99].at("lock").at("owner").as_string(), world.others.owner());
    EXPECT_EQ(parts[99].at("run").at("id"), "run-99");
    EXPECT_TRUE(parts[98].at("lock").is_null());
    EXPECT_EQ(number_in(shown, "running"), 1);
    EXPECT_EQ(text_in(shown, "state"), "running");
    EXPECT_EQ(number_in(shown, "fence_token"), static_cast<std::int64_t>(token));
}

TEST(JobRoutes, AnUnknownJobIsAnsweredWithTheNearestName) {
    job_world world;
    world.publish("daily-report");
    for (const auto& what : {asked{"GET", "/api/v1/jobs/dayly-report"},
                             asked{"POST", "/api/v1/jobs/dayly-report/runs"},
                             asked{"POST", "/api/v1/jobs/dayly-report/pause", R"({"reason": "r"})"},
                             asked{"POST", "/api/v1/jobs/dayly-report/resume"}}) {
        const auto answer = world.ask(what);
        EXPECT_EQ(answer.status, 404u) << what.target;
        EXPECT_EQ(detail_of(answer),
                  "no agent has published a job 'dayly-report': did you mean 'daily-report'?");
    }
    EXPECT_THAT(world.audited(), IsEmpty());
}

TEST(JobRoutes, WhatIsWrongWithTheQueryIsSaid) {
    job_world world;
    const auto rejected = [&](const std::string& query) {
        const auto answer = world.ask({"GET", "/api/v1/jobs?" + query});
        EXPECT_EQ(answer.status, 400u) << query;
        return detail_of(answer);
    };
    EXPECT_THAT(rejected("limits=3"), HasSubstr("did you mean 'limit'?"));
    EXPECT_EQ(rejected("runs=31"), "runs is '31'; expected an integer from 0 to 30");
    EXPECT_THAT(rejected("runs=x"), HasSubstr("runs is 'x'"));
    rejected("limit=0");
}

TEST(JobRoutes, WhatAJobWaitsForIsSaidInItsList) {
    job_world world;
    world.publish("a");
    world.hold("job/a");
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs"}).status, 202u);
    const auto one = json_in(world.ask({"GET", "/api/v1/jobs"})).at("jobs").at(0);
    EXPECT_EQ(one.at("state"), "blocked");
    EXPECT_THAT(std::string{one.at("why").as_string()}, HasSubstr("alice queued at"));
    EXPECT_THAT(std::string{one.at("why").as_string()},
                HasSubstr("lock job/a is held by " + world.others.owner() + " since"));
    EXPECT_EQ(one.at("blocked_by").at("owner").as_string(), world.others.owner());
    EXPECT_EQ(one.at("consecutive_failures"), 0);
}

// Goal: what a job skips while it runs hides no failure. Method: more skipped rows than a list
// reads of a job, behind them one that failed.
TEST(JobRoutes, AJobThatFailedIsFailingBehindTheRunsThatItSkipped) {
    job_world world;
    world.publish("a");
    run_end end;
    end.status = run_status::failed;
    end.exit_status = 3;
    world.begin_run("bad", "a", 1);
    world.end_run("bad", 1, end);
    end.status = run_status::skipped;
    for (std::uint64_t i = 2; i < 40; ++i) {
        world.begin_run(std::to_string(i), "a", i);
        world.end_run(std::to_string(i), i, end);
    }
    const auto one = json_in(world.ask({"GET", "/api/v1/jobs?runs=16"})).at("jobs").at(0);
    EXPECT_EQ(one.at("state"), "failing");
    EXPECT_EQ(one.at("consecutive_failures"), 1);
    EXPECT_THAT(one.at("recent").as_array(), SizeIs(16));
}

// Goal: a list sees what happens in any partition. Method: of a job with more partitions than a
// list looks at one by one, three behind those: held by a stranger, running, waited for.
TEST(JobRoutes, AnyOfManyPartitionsIsSeenInTheList) {
    job_world world;
    world.publish("wide", R"({"command": ["x"]})", 1'000);
    const auto look = [&] {
        return json_in(world.ask({"GET", "/api/v1/jobs"})).at("jobs").at(0).as_object();
    };
    EXPECT_EQ(look().at("state"), "idle");
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/wide/runs", R"({"partition": 800})"}).status, 202u);
    EXPECT_EQ(look().at("state"), "waiting");
    EXPECT_THAT(std::string{look().at("why").as_string()}, HasSubstr("partition 800: "));
    const auto token = world.hold("job/wide/700");
    world.begin_run("run-700", "wide", token, {}, 700);
    EXPECT_EQ(look().at("running"), 1);
    EXPECT_TRUE(look().at("blocked_by").is_null());
    world.hold("job/wide/900");
    EXPECT_EQ(look().at("state"), "blocked");
    EXPECT_EQ(look().at("blocked_by").at("partition"), 900);
}

// Goal: what a list looks at is bounded. Method: more partitions than that, of jobs that are held
// in their last one; the first of them are seen, and the page of the last.
TEST(JobRoutes, OfTooManyPartitionsThoseOfTheFirstJobsAreSeenInTheList) {
    job_world world;
    constexpr std::uint32_t wide = 1'024;
    const std::size_t seen = other_keys_max / (wide - partitions_listed_max);
    for (std::size_t i = 0; i < seen + 2; ++i) {
        const auto name = "job-" + std::to_string(100 + i);
        world.publish(name, R"({"command": ["x"]})", wide);
        world.hold("job/" + name + "/1023");
    }
    const auto answer = world.ask({"GET", "/api/v1/jobs"});
    const auto jobs = json_in(answer).at("jobs").as_array();
    std::size_t blocked = 0;
    for (const auto& one : jobs)
        if (one.at("state") == "blocked") ++blocked;
    EXPECT_EQ(blocked, seen);
    EXPECT_EQ(jobs.at(0).at("state"), "blocked");
    const auto last = std::string{jobs.at(seen + 1).at("name").as_string()};
    EXPECT_EQ(text_in(world.ask({"GET", "/api/v1/jobs/" + last}), "state"), "blocked");
}

TEST(JobRoutes, AStoreThatIsAwayIsTheReasonAndNoReasonToShowNothing) {
    job_world world;
    world.publish("a");
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs"}).status, 202u);
    world.where().faults->fail_all = errc::unreachable;
    for (const auto* path : {"/api/v1/jobs", "/api/v1/jobs/a"}) {
        const auto answer = world.ask({"GET", path});
        EXPECT_EQ(answer.status, 200u) << answer.body;
        EXPECT_THAT(answer.body, HasSubstr("the store does not answer"));
    }
    EXPECT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs", R"({"dry_run": true})"}).status, 503u);
}

TEST(JobRoutes, AJournalThatIsAwayIsSaidAndMayBeAskedAgain) {
    job_world world;
    world.publish("a");
    world.where().journal_faults->fail_all = errc::unreachable;
    for (const auto& what : {asked{"GET", "/api/v1/jobs"}, asked{"GET", "/api/v1/jobs/a"},
                             asked{"POST", "/api/v1/jobs/a/runs"},
                             asked{"POST", "/api/v1/jobs/a/pause", R"({"reason": "r"})"},
                             asked{"POST", "/api/v1/jobs/a/resume"}}) {
        const auto answer = world.ask(what);
        EXPECT_EQ(answer.status, 503u) << what.target;
        EXPECT_EQ(field_in(answer, "Retry-After"), "1");
    }
}

// -- to run

TEST(JobRoutes, ARunIsAskedForOnTheControlStateAndAudited) {
    job_world world;
    world.publish("a", R"({"arguments": ["--day", "x*"]})", 2);
    const auto answer =
        world.ask({"POST", "/api/v1/jobs/a/runs", R"({"resume": true, "args": ["--day", "x y"]})"});
    ASSERT_EQ(answer.status, 202u) << answer.body;
    const auto control_state = world.seen();
    ASSERT_THAT(control_state.triggers, SizeIs(2));
    std::vector<std::string> ids;
    const auto given = json_in(answer).at("ids").as_array();
    for (const auto& one : given) ids.emplace_back(one.as_string());
    EXPECT_THAT(ids, ElementsAre(control_state.triggers[0].id, control_state.triggers[1].id));
    EXPECT_EQ(control_state.triggers[0].by, "alice");
    EXPECT_THAT(control_state.triggers[0].arguments, ElementsAre("--day", "x y"));
    EXPECT_EQ(control_state.triggers[0].starts_from, checkpoint_source::last_saved);
    EXPECT_EQ(control_state.triggers[1].partition, 1u);
    EXPECT_THAT(world.audited(), ElementsAre("alice job.run a resume, arguments '--day' 'x y'"));
}

// An argument may be an option, and an option a command: `tar --checkpoint-action=exec=sh`.
TEST(JobRoutes, ArgumentsThatTheJobDoesNotAllowAreRejected) {
    job_world world;
    world.publish("none", R"({"arguments": false})");
    world.publish("older");
    world.publish("some", R"({"arguments": ["--day=*"]})");
    for (const std::string job : {"none", "older", "some"}) {
        const auto target = "/api/v1/jobs/" + job + "/runs";
        for (const std::string dry : {"true", "false"}) {
            const auto answer =
                world.ask({"POST", target,
                           R"({"args": ["--day=1", "--checkpoint-action=exec=sh"], "dry_run": )" +
                               dry + "}"});
            EXPECT_EQ(answer.status, 403u) << job;
            EXPECT_THAT(detail_of(answer), HasSubstr("allowed for job '" + job + "'"));
        }
    }
    EXPECT_THAT(world.seen().triggers, IsEmpty());
    EXPECT_EQ(world.ask({"POST", "/api/v1/jobs/some/runs", R"({"args": ["--day=1"]})"}).status,
              202u);
}

// Goal: a form offers the field for arguments only where it is of use. Method: the list and the job
// itself tell the rule that a request is held to.
TEST(JobRoutes, AJobTellsWhichArgumentsItTakes) {
    job_world world;
    world.publish("any", R"({"arguments": true})");
    world.publish("function", R"({"body": "of a program"})");
    world.publish("none", R"({"arguments": false})");
    world.publish("older");
    world.publish("some", R"({"arguments": ["--day=*", "-v"]})");
    std::vector<std::string> listed;
    const auto jobs = json_in(world.ask({"GET", "/api/v1/jobs"})).at("jobs").as_array();
    for (const auto& one : jobs) {
        const auto name = std::string{one.at("name").as_string()};
        listed.push_back(json::serialize(one.at("arguments")));
        EXPECT_EQ(json_in(world.ask({"GET", "/api/v1/jobs/" + name})).at("arguments"),
                  one.at("arguments"))
            << name;
    }
    EXPECT_THAT(listed, ElementsAre("true", "true", "false", "false", R"(["--day=*","-v"])"));
}

TEST(JobRoutes, OnePartitionMayBeAskedFor) {
    job_world world;
    world.publish("a", "{}", 4);
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs", R"({"partition": 3})"}).status, 202u);
    ASSERT_THAT(world.seen().triggers, SizeIs(1));
    EXPECT_EQ(world.seen().triggers[0].partition, 3u);
    const auto answer = world.ask({"POST", "/api/v1/jobs/a/runs", R"({"partition": 4})"});
    EXPECT_EQ(answer.status, 400u);
    EXPECT_EQ(detail_of(answer), "partition is 4; the job 'a' has partitions 0 to 3");
}

// Goal: a manual run of a job with slots is one run, and waits for no slot while another is free.
// Method: of three one is held; then more are queued than there are slots.
TEST(JobRoutes, ARunOfAJobWithSlotsIsQueuedForAFreeOne) {
    job_world world;
    world.publish("a", R"({"slots": 3})", 3);
    world.hold("job/a/0");
    const auto dry = world.ask({"POST", "/api/v1/jobs/a/runs", R"({"dry_run": true})"});
    ASSERT_EQ(dry.status, 200u) << dry.body;
    const auto planned = json_in(dry).at("runs").as_array();
    ASSERT_THAT(planned, SizeIs(1));
    EXPECT_EQ(planned[0].at("key"), "job/a/1");
    EXPECT_TRUE(planned[0].at("lease").is_null());
    std::vector<std::uint32_t> slots;
    for (int i = 0; i < 4; ++i) {
        const auto answer = world.ask({"POST", "/api/v1/jobs/a/runs", "{}"});
        ASSERT_EQ(answer.status, 202u) << answer.body;
        EXPECT_THAT(json_in(answer).at("ids").as_array(), SizeIs(1));
        slots.push_back(world.seen().triggers.back().partition);
    }
    EXPECT_THAT(slots, ElementsAre(1u, 2u, 0u, 1u));
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs", R"({"partition": 2})"}).status, 202u);
    EXPECT_EQ(world.seen().triggers.back().partition, 2u);
    const auto answer = world.ask({"POST", "/api/v1/jobs/a/runs", R"({"partition": 3})"});
    EXPECT_EQ(answer.status, 400u);
    EXPECT_EQ(detail_of(answer), "partition is 3; the job 'a' has slots 0 to 2");
}

// A checkpoint is saved for the job and the slot, so the run that goes on from it runs there.
TEST(JobRoutes, ARunThatResumesAJobWithSlotsIsQueuedWhereTheLastCheckpointIs) {
    job_world world;
    world.publish("a", R"({"slots": 3})", 3);
    world.begin_run("run-1", "a", 1, "page 3", 2);
    world.end_run("run-1", 1);
    world.begin_run("run-2", "a", 2, "", 0);
    world.end_run("run-2", 2);
    ASSERT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs", R"({"resume": true})"}).status, 202u);
    EXPECT_EQ(world.seen().triggers.back().partition, 2u);
}

TEST(JobRoutes, AJobWithSlotsSaysSo) {
    job_world world;
    world.publish("a", R"({"slots": 2})", 2);
    world.publish("b", R"({"partitions": 2, "slots": 1})", 2);
    const auto a = json_in(world.ask({"GET", "/api/v1/jobs/a"}));
    EXPECT_EQ(a.at("partitions"), 1);
    EXPECT_EQ(a.at("slots"), 2);
    EXPECT_EQ(a.at("partition_states").at(1).at("key"), "job/a/1");
    const auto b = json_in(world.ask({"GET", "/api/v1/jobs/b"}));
    EXPECT_EQ(b.at("partitions"), 2);
    EXPECT_EQ(b.at("slots"), 1);
}

TEST(JobRoutes, ADryRunTellsAllAndAsksForNothing) {
    job_world world;
    world.publish("a", R"({"command": ["/bin/report"], "enabled": false, "arguments": true})");
    world.begin_run("run-1", "a", 1, "page 3");
    world.end_run("run-1", 1);
    const auto token = world.hold("job/a");
    const auto answer = world.ask(
        {"POST", "/api/v1/jobs/a/runs", R"({"dry_run": true, "resume": true, "args": ["--x"]})"});
    ASSERT_EQ(answer.status, 200u) << answer.body;
    const auto document = json_in(answer);
    EXPECT_EQ(json::serialize(document.at("command")), R"(["/bin/report","--x"])");
    EXPECT_EQ(number_in(answer, "live_nodes"), 1);
    const auto& run = document.at("runs").at(0);
    EXPECT_EQ(run.at("key"), "job/a");
    EXPECT_EQ(run.at("checkpoint"), "page 3");
    EXPECT_EQ(run.at("lease").at("fence_token").to_number<std::uint64_t>(), token);
    EXPECT_THAT(world.seen().triggers, IsEmpty());
    EXPECT_THAT(world.audited(), IsEmpty());
}

TEST(JobRoutes, AJobThatIsNotEnabledIsNotRun) {
    job_world world;
    world.publish("a", R"({"enabled": false})");
    const auto answer = world.ask({"POST", "/api/v1/jobs/a/runs"});
    EXPECT_EQ(answer.status, 409u);
    EXPECT_THAT(detail_of(answer), HasSubstr("not enabled"));
    EXPECT_THAT(world.seen().triggers, IsEmpty());
}

TEST(JobRoutes, ArgumentsHaveTheirBounds) {
    job_world world;
    world.publish("a", R"({"arguments": true})");
    const auto asked_with = [&](const json::array& args) {
        json::object body;
        body["args"] = args;
        return world.ask({"POST", "/api/v1/jobs/a/runs", json::serialize(body)});
    };
    EXPECT_EQ(asked_with(json::array(100, "x")).status, 202u);
    EXPECT_EQ(asked_with(json::array(101, "x")).status, 400u);
    EXPECT_EQ(asked_with({std::string(4096, 'x')}).status, 202u);
    EXPECT_EQ(detail_of(asked_with({"", std::string(4097, 'x')})),
              "args[1] has 4097 bytes; an argument has at most 4096");
    EXPECT_THAT(detail_of(asked_with({std::string("a\0b", 3)})), HasSubstr("args[0] holds a zero"));
    EXPECT_THAT(detail_of(asked_with(json::array(17, json::value(std::string(4096, 'x'))))),
                HasSubstr("args have 69632 bytes together; at most 65536 are taken"));
    EXPECT_EQ(asked_with({1}).status, 400u);
    const auto misspelt = world.ask({"POST", "/api/v1/jobs/a/runs", R"({"dryrun": true})"});
    EXPECT_EQ(misspelt.status, 400u);
    EXPECT_THAT(detail_of(misspelt), HasSubstr("dry_run"));
}

// -- to pause and resume

TEST(JobRoutes, APauseIsWrittenOnTheControlStateOnceAndAudited) {
    job_world world;
    world.publish("a");
    const asked pause{"POST", "/api/v1/jobs/a/pause", R"({"reason": "the warehouse moves"})"};
    EXPECT_EQ(json::serialize(json_in(world.ask(pause))),
              R"({"name":"a","paused":true,"changed":true})");
    EXPECT_EQ(json_in(world.ask(pause)).at("changed"), false);
    const auto shown = world.ask({"GET", "/api/v1/jobs/a"});
    EXPECT_EQ(text_in(shown, "state"), "paused");
    EXPECT_THAT(text_in(shown, "why"), HasSubstr("paused by alice since"));
    EXPECT_EQ(json_in(shown).at("paused").at("reason"), "the warehouse moves");
    const asked resume{"POST", "/api/v1/jobs/a/resume", R"({"reason": "it has moved"})"};
    EXPECT_EQ(json_in(world.ask(resume)).at("changed"), true);
    EXPECT_EQ(json_in(world.ask({"POST", "/api/v1/jobs/a/resume"})).at("changed"), false);
    EXPECT_THAT(world.audited(), ElementsAre("alice job.resume a it has moved",
                                             "alice job.pause a the warehouse moves"));
}

// Goal: no job is told to be paused that nodes go on running, as they read so many pauses and no
// more. Method: as many as there may be; one more, one that is paused already, and one in the place
// of another.
TEST(JobRoutes, APauseThatNoNodeWouldReadIsRejected) {
    job_world world;
    for (std::size_t i = 0; i < journals::pauses_max; ++i) {
        const auto name = "a-" + std::to_string(i);
        world.journal(
            [&](pawl::journal& records) { return records.pause_job(name, "all", "alice"); });
    }
    world.publish("a-7");
    world.publish("z");
    const auto pause = [&](const std::string& job) {
        return world.ask({"POST", "/api/v1/jobs/" + job + "/pause", R"({"reason": "too many"})"});
    };
    const auto rejected = pause("z");
    EXPECT_EQ(rejected.status, 409u);
    EXPECT_THAT(detail_of(rejected), HasSubstr("900 jobs are paused, and at most 900 can be"));
    EXPECT_NE(text_in(world.ask({"GET", "/api/v1/jobs/z"}), "state"), "paused");
    EXPECT_EQ(json_in(pause("a-7")).at("changed"), false);
    world.ask({"POST", "/api/v1/jobs/a-9/resume"});
    EXPECT_EQ(json_in(pause("z")).at("changed"), true);
    EXPECT_LT(world.seen().pauses.size(), control_entries_max);
}

// Goal: who has runs queued without end is told, and no other is kept waiting by it. Method: as
// many of one job as a node reads at a look; then more of it, of another job, and all partitions.
TEST(JobRoutes, OfManyQueuedRunsAJobMayHaveOne) {
    job_world world;
    world.publish("many");
    world.publish("few");
    for (std::size_t i = 0; i < control_entries_max; ++i) {
        run_trigger what;
        what.id = "run-" + std::to_string(i);
        what.job = "many";
        world.journal([&](pawl::journal& records) { return records.add_trigger(what); });
    }
    const auto request = [&](const std::string& job) {
        return world.ask({"POST", "/api/v1/jobs/" + job + "/runs", "{}"});
    };
    const auto rejected = request("many");
    EXPECT_EQ(rejected.status, 409u);
    EXPECT_THAT(detail_of(rejected),
                HasSubstr("1000 runs or more are queued, 1000 of them of this"));
    EXPECT_EQ(request("few").status, 202u);
    EXPECT_EQ(world.seen().triggers.back().job, "few");
    EXPECT_EQ(request("few").status, 409u);
    world.publish("wide", "{}", 2);
    EXPECT_EQ(request("wide").status, 409u);
}

// Goal: what every node reads each second is bounded, however many ask at once. Method: as many
// requests as would be twice the bound of a job, at once; then of other jobs up to that of all.
TEST(JobRoutes, ArgumentsOfQueuedRunsHaveABound) {
    job_world world;
    const auto request = [&](const std::string& job, std::size_t texts) {
        json::object body;
        body["args"] = json::array(texts, json::value(std::string(3'999, 'x')));
        return asked{"POST", "/api/v1/jobs/" + job + "/runs", json::serialize(body)};
    };
    for (const auto* job : {"a", "b", "c", "d", "e"}) world.publish(job, R"({"arguments": true})");
    // 60,000 bytes each, so that 17 fit.
    std::vector<std::future<http::response>> all;
    for (int i = 0; i < 34; ++i) all.push_back(world.begin(request("a", 15)));
    std::map<unsigned, int> statuses;
    for (auto& one : all) ++statuses[one.get().status];
    EXPECT_THAT(statuses, ElementsAre(Pair(202u, 17), Pair(409u, 17)));
    EXPECT_EQ(detail_of(world.ask(request("a", 15))),
              "the arguments of queued runs of this job have 1020000 bytes, and these 60000; at "
              "most 1048576 may wait: pass the name of a file, wait until some have begun, cancel "
              "what is not wanted any more, or start agents");
    EXPECT_EQ(world.ask(request("a", 0)).status, 202u);
    for (const auto* job : {"b", "c", "d"})
        for (int i = 0; i < 17; ++i) ASSERT_EQ(world.ask(request(job, 15)).status, 202u);
    EXPECT_EQ(world.ask(request("e", 15)).status, 202u);
    EXPECT_THAT(detail_of(world.ask(request("e", 15))),
                HasSubstr("of all jobs have 4140000 bytes"));
    // There is room again as soon as one is taken away.
    const auto first = world.seen().triggers.front().id;
    world.journal([&](pawl::journal& records) { return records.remove_trigger(first); });
    EXPECT_EQ(world.ask(request("e", 15)).status, 202u);
}

// Each partition is given the arguments, so they count as often.
TEST(JobRoutes, ArgumentsCountForEachPartition) {
    job_world world;
    world.publish("wide", R"({"arguments": true})", 18);
    json::object body;
    body["args"] = json::array(15, json::value(std::string(3'999, 'x')));
    EXPECT_THAT(detail_of(world.ask({"POST", "/api/v1/jobs/wide/runs", json::serialize(body)})),
                HasSubstr("have 0 bytes, and these 1080000"));
    body["partition"] = 3;
    EXPECT_EQ(world.ask({"POST", "/api/v1/jobs/wide/runs", json::serialize(body)}).status, 202u);
}

// Goal: a preview shows the last checkpoint of each partition, or says that they do not fit.
// Method: partition 0 has saved something before the newest hundred rows; then each has saved much.
TEST(JobRoutes, ADryRunFindsCheckpointsBehindManyRows) {
    job_world world;
    world.publish("wide", "{}", 40);
    world.begin_run("first", "wide", 1, "long ago", 0);
    for (std::uint64_t i = 2; i < 200; ++i)
        world.begin_run("run-" + std::to_string(i), "wide", i, "",
                        static_cast<std::uint32_t>(i % 40));
    const asked preview{"POST", "/api/v1/jobs/wide/runs", R"({"dry_run": true, "resume": true})"};
    const auto shown = json_in(world.ask(preview)).at("runs").as_array();
    ASSERT_EQ(shown.size(), 40u);
    EXPECT_EQ(shown[0].at("checkpoint"), "long ago");
    EXPECT_EQ(shown[1].at("checkpoint"), "");
    const std::string text(checkpoint_bytes_max, 'c');
    for (std::uint64_t i = 200; i < 240; ++i)
        world.begin_run("run-" + std::to_string(i), "wide", i, text,
                        static_cast<std::uint32_t>(i % 40));
    const auto rejected = world.ask(preview);
    EXPECT_EQ(rejected.status, 409u);
    EXPECT_EQ(detail_of(rejected),
              "the last checkpoints of the partitions have more than 2097152 bytes together; name "
              "one with partition");
    const asked one{"POST", "/api/v1/jobs/wide/runs",
                    R"({"dry_run": true, "resume": true, "partition": 7})"};
    EXPECT_EQ(json_in(world.ask(one)).at("runs").at(0).at("checkpoint"), json::value(text));
}

TEST(JobRoutes, APauseNeedsAReasonThatIsKeptWhole) {
    job_world world;
    world.publish("a");
    const std::string most(1024, 'x');
    for (const auto& body :
         {std::string{"{}"}, std::string{R"({"reason": " "})"}, std::string{R"({"reason": 1})"},
          R"({"reason": "x)" + most + R"("})"}) {
        const auto answer = world.ask({"POST", "/api/v1/jobs/a/pause", body});
        EXPECT_EQ(answer.status, 400u) << body;
        EXPECT_THAT(detail_of(answer), HasSubstr("reason"));
    }
    const auto kept = world.ask({"POST", "/api/v1/jobs/a/pause", R"({"reason": ")" + most + "\"}"});
    EXPECT_EQ(kept.status, 200u);
    EXPECT_EQ(world.seen().pauses.at(0).reason, most);
}

// Goal: no user swells the audit. What changes nothing is not in it, and not counted; alternating
// ends after so many times, and for this user alone.
TEST(JobRoutes, PausingInALoopEndsAndIsAuditedUntilThen) {
    job_world world;
    world.publish("a");
    const auto ask = [&](const std::string& verb) {
        return world.ask({"POST", "/api/v1/jobs/a/" + verb, R"({"reason": "loop"})"});
    };
    const auto audited = [&] {
        const auto last =
            world.journal([](pawl::journal& records) { return records.list_audit(0, 1); });
        return last.empty() ? std::uint64_t{0} : last.front().sequence;
    };
    EXPECT_EQ(ask("pause").status, 200u);
    const auto once = audited();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(json_in(ask("pause")).at("changed"), false);
    EXPECT_EQ(audited(), once);
    for (std::size_t i = 1; i < changes_per_hour_max; ++i)
        ASSERT_EQ(ask(i % 2 == 1 ? "resume" : "pause").status, 200u) << i;
    const auto all = audited();
    EXPECT_EQ(all - once, changes_per_hour_max - 1);
    const auto rejected = ask("pause");
    EXPECT_EQ(rejected.status, 429u);
    EXPECT_GT(std::stoi(field_in(rejected, "Retry-After")), 3'000);
    EXPECT_EQ(ask("resume").status, 429u);
    EXPECT_EQ(world.ask({"POST", "/api/v1/jobs/a/runs", "{}"}).status, 429u);
    asked other{"POST", "/api/v1/jobs/a/resume", "{}"};
    other.caller = "bob";
    EXPECT_EQ(audited(), all);
    EXPECT_EQ(world.ask(other).status, 200u);
}

}  // namespace
}  // namespace pawl::api
