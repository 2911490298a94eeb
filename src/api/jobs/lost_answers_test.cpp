#include "api/jobs/job_routes.hpp"
#include "api/jobs/run_routes.hpp"
#include "documents/documents.hpp"
#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace pawl::api {
namespace {

using namespace testing;

routes changing_routes(shared_context around) {
    auto all = job_routes(around);
    auto runs = run_routes(around);
    std::move(runs.begin(), runs.end(), std::back_inserter(all));
    return all;
}

// A job that is paused, one that is not, a run that is queued and one that has started.
struct changing_world : api_world {
    changing_world() : api_world{changing_routes} {
        std::vector<job_entry> jobs(2);
        jobs[0].name = "open";
        jobs[1].name = "paused";
        for (auto& one : jobs) {
            one.definition = "{}";
            one.node = "node-a";
        }
        journal([&](pawl::journal& records) { return records.publish(jobs); });
        journal([](pawl::journal& records) { return records.pause_job("paused", "why", "bob"); });
        run_trigger queued;
        queued.id = "queued";
        queued.job = "open";
        journal([&](pawl::journal& records) { return records.add_trigger(queued); });
        run_start start{"started", "open", "job/open"};
        start.node = "node-a";
        start.token = fence_token{1};
        start.trigger = "manual";
        journal([&](pawl::journal& records) { return records.begin(start); });
    }

    http::response change(const std::string& what, int answers_lost) {
        where().journal_faults->changes_to_lose = answers_lost;
        auto made = ask({"POST", "/api/v1/" + what, R"({"reason": "because"})"});
        where().journal_faults->changes_to_lose = 0;
        return made;
    }
    http::response run(int answers_lost) {
        where().journal_faults->changes_to_lose = answers_lost;
        auto made = ask({"POST", "/api/v1/jobs/open/runs", R"({"resume": true})"});
        where().journal_faults->changes_to_lose = 0;
        return made;
    }
    control_state seen() {
        return journal([](pawl::journal& records) { return records.read_control_state(); });
    }
};

// Goal: a change whose answer is lost is made once, and its user is in the audit. Method: the
// journal makes each, and says once that it does not know.
TEST(LostAnswers, AChangeIsAskedForOnceMoreAndAudited) {
    changing_world world;
    EXPECT_EQ(json_in(world.change("jobs/open/pause", 1)).at("changed"), true);
    EXPECT_EQ(json_in(world.change("jobs/paused/resume", 1)).at("changed"), true);
    EXPECT_EQ(json_in(world.change("runs/queued/cancel", 1)).at("withdrawn"), true);
    EXPECT_EQ(json_in(world.change("runs/started/cancel", 1)).at("cancel_requested"), true);
    EXPECT_EQ(world.run(1).status, 202u);

    const auto seen = world.seen();
    ASSERT_THAT(seen.pauses, SizeIs(1));
    EXPECT_EQ(seen.pauses[0].job, "open");
    EXPECT_THAT(seen.cancels, ElementsAre("started"));
    EXPECT_THAT(seen.triggers, SizeIs(1)) << "one run was asked for";
    const std::string doubt = "(whether it took effect is not known) ";
    EXPECT_THAT(world.audited(),
                ElementsAre("alice job.run open resume", "alice run.cancel started open: because",
                            "alice run.cancel queued " + doubt + "open: because",
                            "alice job.resume paused " + doubt + "because",
                            "alice job.pause open " + doubt + "because"));
}

// Goal: where it stays unknown, the user is told so, and not that nothing was done; it is in the
// audit as well. Method: the same, with both answers lost.
TEST(LostAnswers, WhatStaysUnknownIsSaidAndAudited) {
    changing_world world;
    for (const auto* what :
         {"jobs/open/pause", "jobs/paused/resume", "runs/queued/cancel", "runs/started/cancel"}) {
        const auto told = world.change(what, 2);
        EXPECT_EQ(told.status, 503u) << what;
        EXPECT_THAT(text_in(told, "detail"), HasSubstr("did not say whether")) << what;
        EXPECT_EQ(field_in(told, "Retry-After"), "1") << what;
    }
    const auto told = world.run(2);
    EXPECT_EQ(told.status, 503u);
    // The same request again would queue another run.
    EXPECT_EQ(field_in(told, "Retry-After"), "");
    const auto seen = world.seen();
    ASSERT_THAT(seen.triggers, SizeIs(1));
    EXPECT_EQ(json_in(told).at("ids").as_array(), boost::json::array{seen.triggers[0].id});
    const std::string doubt = "(whether it took effect is not known) ";
    EXPECT_THAT(world.audited(),
                ElementsAre("alice job.run open (whether it was queued is not known): resume",
                            "alice run.cancel started " + doubt + "open: because",
                            "alice run.cancel queued " + doubt + "open: because",
                            "alice job.resume paused " + doubt + "because",
                            "alice job.pause open " + doubt + "because"));
}

// Goal: a request of which some partitions were queued is in the audit with all that they run with.
// Method: both answers for the first of three are lost.
TEST(LostAnswers, ARunOfSomePartitionsIsAuditedWithItsArguments) {
    changing_world world;
    job_entry wide;
    wide.name = "wide";
    wide.partitions = 3;
    wide.definition = R"({"arguments": true})";
    wide.node = "node-a";
    world.journal(
        [&](pawl::journal& records) { return records.publish(std::vector<job_entry>{wide}); });
    world.where().journal_faults->changes_to_lose = 2;
    const auto told =
        world.ask({"POST", "/api/v1/jobs/wide/runs", R"({"resume": true, "args": ["--day=1"]})"});
    world.where().journal_faults->changes_to_lose = 0;
    EXPECT_EQ(told.status, 503u);
    const auto audited = world.audited();
    ASSERT_THAT(audited, SizeIs(1));
    EXPECT_THAT(audited[0], StartsWith("alice job.run wide only 1 of 3 partitions (whether the "
                                       "last was queued is not known): resume, arguments "));
    EXPECT_THAT(audited[0], HasSubstr("--day=1"));
}

// Goal: what had no effect is told as that, and is in no audit. Method: the journal is away.
TEST(LostAnswers, WhatHadNoEffectIsNotAudited) {
    changing_world world;
    world.where().journal_faults->fail_all = errc::unreachable;
    EXPECT_EQ(world.ask({"POST", "/api/v1/jobs/paused/resume", "{}"}).status, 503u);
    world.where().journal_faults->fail_all = std::nullopt;
    EXPECT_THAT(world.audited(), IsEmpty());
    EXPECT_THAT(world.seen().pauses, SizeIs(1));
}

// Goal: what changes while a list is read is not older than the list, so that a page takes the
// event that tells it. Method: a clock that is read when the first of the list has been read.
TEST(Lists, AListIsOfTheTimeBeforeItsFirstLook) {
    changing_world world;
    std::string changed;
    world.on_loop([&] {
        world.where().journal_faults->on_runs_read = [&] {
            changed = documents::now_text();
            while (documents::now_text() == changed) std::this_thread::yield();
        };
    });
    for (const auto* list : {"/api/v1/runs", "/api/v1/jobs", "/api/v1/jobs/open"}) {
        changed.clear();
        const auto told = world.ask({"GET", list});
        ASSERT_EQ(told.status, 200u) << list;
        ASSERT_FALSE(changed.empty()) << list;
        EXPECT_LE(text_in(told, "as_of"), changed) << list;
    }
    world.on_loop([&] { world.where().journal_faults->on_runs_read = {}; });
}

}  // namespace
}  // namespace pawl::api
