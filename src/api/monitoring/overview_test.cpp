// The overview, the nodes and the audit over HTTP: on a store and a journal in memory.
#include "api/monitoring/overview.hpp"

#include "api/monitoring/audit_routes.hpp"
#include "api/monitoring/node_routes.hpp"
#include "api/monitoring/overview_routes.hpp"
#include "test_support/faults/api_world.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl::api {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

routes both(shared_context around) {
    auto all = node_routes(around);
    for (auto& one : audit_routes(around)) all.push_back(std::move(one));
    auto more = overview_routes(around);
    std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

struct control_world : api_world {
    control_world() : api_world{both}, others{open()} { beat("node-a"); }

    void beat(const std::string& name) {
        node_entry node;
        node.id = name + ":1:2:ab";
        node.name = name;
        node.running_max = 4;
        journal([&](pawl::journal& records) { return records.node_heartbeat(node); });
    }
    void publish(const std::vector<std::string>& names, const std::string& schedule = "") {
        std::vector<job_entry> entries;
        for (const auto& name : names) {
            job_entry entry;
            entry.name = name;
            entry.schedule = schedule;
            entry.zone = "UTC";
            entry.definition = "{}";
            entry.node = "node-a";
            entries.push_back(entry);
        }
        journal([&](pawl::journal& records) { return records.publish(entries); });
    }
    void run(const std::string& id, const std::string& job, std::optional<run_status> how) {
        run_start start{id, job, "job/" + job};
        start.node = "node-a";
        start.token = fence_token{7};
        start.trigger = "schedule";
        journal([&](pawl::journal& records) { return records.begin(start); });
        if (!how) return;
        run_end end;
        end.status = *how;
        end.exit_status = 3;
        run_ref who{id, fence_token{7}};
        journal([&](pawl::journal& records) { return records.finish(who, end); });
    }
    void append_audit(int count) {
        for (int i = 1; i <= count; ++i) {
            audit_draft what;
            what.actor = "alice";
            what.action = "job.pause";
            what.target = "job-" + std::to_string(i);
            journal([&](pawl::journal& records) { return records.append_audit(what); });
        }
    }
    json::object read_overview() {
        const auto answer = ask({"GET", "/api/v1/overview"});
        EXPECT_EQ(answer.status, 200u);
        auto seen = json::parse(*answer.shared_body).as_object();
        last_seen_ = std::string{seen.at("as_of").as_string()};
        return seen;
    }
    // What is worked out anew.
    json::object next_overview() {
        const auto begun = lease_clock::now();
        const auto last = last_seen_;
        for (;;) {
            auto seen = read_overview();
            if (last_seen_ != last) return seen;
            if (lease_clock::now() - begun > 120s) throw std::runtime_error{"no other overview"};
            std::this_thread::sleep_for(50ms);
        }
    }
    int journal_questions() const { return where().journal_faults->operations.load(); }
    int store_questions() const { return where().faults->operations.load(); }

    locks others;

private:
    std::string last_seen_;

    locks open() {
        const auto make = [settings = where().settings](net::loop& loop) {
            return pawl::memory::make_memory_store(loop, settings);
        };
        return locks{std::make_unique<runtime::core>(make, where().settings, open_options{})};
    }
};

std::int64_t counted(const json::object& overview, std::string_view what) {
    return overview.at("counts").at(what).to_number<std::int64_t>();
}

std::vector<std::string> kinds_in(const json::object& overview) {
    std::vector<std::string> kinds;
    for (const auto& one : overview.at("attention").as_array())
        kinds.emplace_back(one.at("kind").as_string());
    return kinds;
}

// -- the overview

TEST(Overview, ItCountsWhatThereIs) {
    control_world world;
    world.publish({"a", "b", "c"});
    world.run("1", "a", std::nullopt);
    world.run("2", "b", run_status::completed);
    auto held = *world.others.try_acquire("k", {.ttl = 60s});
    world.others.try_acquire("l", {.ttl = 60s, .min_hold = 60s}).value().release();
    // One of these no node has any more.
    for (const auto* job : {"c", "gone"})
        world.journal(
            [&](pawl::journal& records) { return records.pause_job(job, "later", "alice"); });
    const auto seen = world.read_overview();
    EXPECT_EQ(counted(seen, "locks_held"), 1);
    EXPECT_EQ(counted(seen, "locks_in_cooldown"), 1);
    EXPECT_EQ(counted(seen, "jobs"), 3);
    EXPECT_EQ(counted(seen, "jobs_paused"), 1);
    EXPECT_EQ(counted(seen, "nodes_live"), 1);
    EXPECT_EQ(counted(seen, "runs_active"), 1);
    EXPECT_EQ(seen.at("active").as_array().at(0).at("id"), "1");
    EXPECT_THAT(kinds_in(seen), ElementsAre("job_paused"));
    EXPECT_EQ(seen.at("store").at("up"), true);
}

// Goal: a client who holds any number of keys hides no job's lock, and the count says that there
// are more. Method: as many keys as are counted, which come before all others.
TEST(Overview, NoClientHidesTheLocksOfJobsByItsOwn) {
    control_world world;
    world.publish({"report"});
    EXPECT_EQ(world.read_overview().at("counts").at("locks_more"), false);
    constexpr int counted_max = 20'000;
    std::vector<std::string> keys;
    for (int i = 0; i < counted_max; ++i) keys.push_back("!/" + std::to_string(i));
    keys.emplace_back("job/report");
    keys.emplace_back("z");
    world.hold(std::move(keys));
    const auto seen = world.next_overview();
    EXPECT_EQ(counted(seen, "locks_held"), counted_max + 1);
    EXPECT_EQ(seen.at("counts").at("locks_more"), true);
}

TEST(Overview, WhatFailsIsToldWithWhereToLook) {
    control_world world;
    world.publish({"a"});
    world.run("1", "a", run_status::failed);
    const auto seen = world.read_overview();
    ASSERT_THAT(kinds_in(seen), ElementsAre("job_failing"));
    const auto& one = seen.at("attention").as_array().at(0);
    EXPECT_THAT(std::string{one.at("text").as_string()}, HasSubstr("exit status 3"));
    EXPECT_EQ(one.at("link"), "/runs/1");
}

// Goal: a job that fails once a night is seen beside one that runs each second. Method: more rows
// of the busy one than are read of all jobs, as each status in which they hide others.
TEST(Overview, WhatFailsIsToldHoweverManyRunsCameAfterIt) {
    for (const auto how : {run_status::completed, run_status::skipped, run_status::failed}) {
        control_world world;
        world.publish({"bad", "busy"});
        for (const auto* id : {"a", "b", "c"}) world.run(id, "bad", run_status::failed);
        for (int i = 0; i < 301; ++i) world.run(std::to_string(i), "busy", how);
        const auto seen = world.read_overview();
        EXPECT_EQ(counted(seen, "jobs_failing"), how == run_status::failed ? 2 : 1);
        const auto text = json::serialize(seen.at("attention"));
        EXPECT_THAT(text, HasSubstr("the last 3 runs of bad failed"));
    }
}

TEST(Overview, AJobThatIsMendedFailsNoMore) {
    control_world world;
    world.publish({"bad", "busy"});
    world.run("a", "bad", run_status::failed);
    for (int i = 0; i < 301; ++i) world.run(std::to_string(i), "busy", run_status::completed);
    ASSERT_EQ(counted(world.read_overview(), "jobs_failing"), 1);
    world.run("b", "bad", run_status::completed);
    EXPECT_EQ(counted(world.next_overview(), "jobs_failing"), 0);
}

// Goal: a job that failed once and has recovered costs no question at each look. Method: sixty of
// them behind more rows of another than are read of all; questions counted when what was found at
// the first look is too old for those that may fail.
TEST(Overview, ANodeThatHasRecoveredIsNotAskedAboutForEver) {
    control_world world;
    std::vector<std::string> names{"busy"};
    for (int i = 0; i < 60; ++i) {
        names.push_back("mended-" + std::to_string(i));
        world.run(std::to_string(i) + "-1", names.back(), run_status::failed);
        world.run(std::to_string(i) + "-2", names.back(), run_status::completed);
    }
    world.publish(names);
    for (int i = 0; i < 301; ++i) world.run(std::to_string(i), "busy", run_status::completed);
    auto before = world.journal_questions();
    EXPECT_EQ(counted(world.read_overview(), "jobs_failing"), 0);
    EXPECT_GE(world.journal_questions() - before, 60);
    std::this_thread::sleep_for(11s);
    before = world.journal_questions();
    EXPECT_EQ(counted(world.next_overview(), "jobs_failing"), 0);
    EXPECT_LE(world.journal_questions() - before, 40);
}

// Goal: a journal without an index by status is not read to its end at each look. Method: one that
// never comes to an end, beside more rows of another job than are read of all.
TEST(Overview, AJournalWithoutAnIndexByStatusIsAskedByItOnce) {
    control_world world;
    world.publish({"bad", "busy", "worse"});
    world.run("a", "bad", run_status::failed);
    world.run("b", "bad", run_status::lost);
    for (int i = 0; i < 301; ++i) world.run(std::to_string(i), "busy", run_status::completed);
    auto& pages = world.where().journal_faults->pages_before_the_last;
    pages = 1'000;
    const auto first = world.read_overview();
    EXPECT_EQ(pages, 997);  // failed, timed out, lost
    EXPECT_THAT(kinds_in(first), UnorderedElementsAre("job_failing", "run_lost"));
    // What was found goes on, and the newest rows tell more.
    world.run("c", "worse", run_status::failed);
    world.run("d", "worse", run_status::lost);
    const auto next = world.next_overview();
    EXPECT_EQ(pages, 997);
    EXPECT_EQ(counted(next, "jobs_failing"), 2);
    const auto text = json::serialize(next.at("attention"));
    EXPECT_THAT(text, HasSubstr("a run of bad on node-a was lost"));
    EXPECT_THAT(text, HasSubstr("a run of worse on node-a was lost"));
}

// Goal: that a job was well while it was not due does not hide that it is late. Method: a hundred
// that have been asked about for another reason, and are due then.
TEST(Overview, AllThatAreLateAreCountedWhateverWasFoundBefore) {
    constexpr int count = 100;
    control_world world;
    std::vector<std::string> names;
    const auto done =
        std::chrono::floor<millis>((time::wall_now() - 90s).time_since_epoch()).count();
    for (int i = 0; i < count; ++i) {
        names.push_back("job-" + std::to_string(i));
        world.run(names.back(), names.back(), run_status::failed);
        world.others
            .try_acquire("job/" + names.back(), {.ttl = 60s, .occurrence = occurrence{done}})
            .value()
            .release();
    }
    world.publish(names, "* * * * *");
    // Each look asks about 64 of those that have failed.
    for (int looks = 0; looks < 2; ++looks) world.next_overview();
    world.where().journal_faults->jobs_older_by = std::chrono::hours{1};
    EXPECT_EQ(counted(world.next_overview(), "jobs_late"), count);
}

TEST(Overview, ALostRunIsToldHoweverManyRunsCameAfterIt) {
    control_world world;
    world.publish({"bad", "busy"});
    world.run("a", "bad", run_status::lost);
    for (int i = 0; i < 301; ++i) world.run(std::to_string(i), "busy", run_status::skipped);
    EXPECT_THAT(kinds_in(world.read_overview()), ElementsAre("run_lost"));
}

TEST(Overview, ABlockedPartitionIsSeenWhicheverOfManyItIs) {
    control_world world;
    job_entry wide;
    wide.name = "wide";
    wide.partitions = 1'000;
    wide.definition = "{}";
    wide.node = "node-a";
    world.journal([&](pawl::journal& records) { return records.publish(std::vector{wide}); });
    const auto held = world.others.try_acquire("job/wide/900", {.ttl = 60s});
    EXPECT_EQ(counted(world.read_overview(), "jobs_blocked"), 1);
}

TEST(Overview, AStoreAndAJournalThatAreAwayAreTheFirstThingSaid) {
    control_world world;
    world.publish({"a"});
    world.where().faults->fail_all = errc::unreachable;
    world.where().journal_faults->fail_all = errc::unreachable;
    const auto seen = world.read_overview();
    EXPECT_THAT(kinds_in(seen), ElementsAre("store_down", "journal_down"));
    EXPECT_EQ(seen.at("store").at("up"), false);
}

// Goal: two hundred viewers cost one look. Method: every question counted.
TEST(Overview, AllWhoAskWithinASecondAreGivenOneAnswer) {
    control_world world;
    world.publish({"a", "b"});
    std::vector<std::future<http::response>> all;
    const auto before = world.journal_questions();
    for (int i = 0; i < 200; ++i) all.push_back(world.begin({"GET", "/api/v1/overview"}));
    std::vector<std::shared_ptr<const std::string>> texts;
    for (auto& one : all) texts.push_back(one.get().shared_body);
    // One look asks less than twenty questions; a slow machine may take a second look, or a third.
    EXPECT_LE(world.journal_questions() - before, 60);
    EXPECT_EQ(texts.front(), texts.at(1));
}

// Goal: many jobs and locks cost many rows, and not many questions. Method: questions counted, for
// two thousand jobs that fire once a year, and locks that stand for them.
TEST(Overview, ItAsksNoQuestionForEachJob) {
    control_world world;
    std::vector<std::string> names;
    for (int i = 0; i < 2'000; ++i) names.push_back("job-" + std::to_string(i));
    world.publish(names, "0 0 1 1 *");
    for (int i = 0; i < 3'000; ++i)
        world.others.try_acquire("lock-" + std::to_string(i), {.ttl = 60s}).value().release();
    const auto journal_before = world.journal_questions();
    const auto store_before = world.store_questions();
    const auto seen = world.read_overview();
    EXPECT_EQ(counted(seen, "jobs"), 2'000);
    // Some are asked about in turn, and those are few.
    EXPECT_LE(world.journal_questions() - journal_before, 40);
    EXPECT_LE(world.store_questions() - store_before, 20);
}

// -- nodes

TEST(ControlRoutes, NodesAreListedWithWhatTheyAre) {
    control_world world;
    world.beat("node-b");
    const auto answer = world.ask({"GET", "/api/v1/nodes"});
    ASSERT_EQ(answer.status, 200u);
    const auto document = json_in(answer);
    ASSERT_THAT(document.at("nodes").as_array(), SizeIs(2));
    EXPECT_EQ(document.at("nodes").at(0).at("name"), "node-a");
    EXPECT_EQ(document.at("nodes").at(0).at("state"), "live");
    EXPECT_EQ(world.ask({"GET", "/api/v1/nodes?name=x"}).status, 400u);
}

// -- the audit

TEST(ControlRoutes, TheAuditIsListedNewestFirstByPagesToTheEnd) {
    control_world world;
    world.append_audit(5);
    std::vector<std::string> all;
    std::string after;
    do {
        const auto page = world.ask({"GET", "/api/v1/audit?limit=2&after=" + after});
        ASSERT_EQ(page.status, 200u) << page.body;
        const auto audit = json_in(page).at("audit").as_array();
        for (const auto& one : audit) all.emplace_back(one.at("target").as_string());
        after = text_in(page, "next");
    } while (!after.empty());
    EXPECT_THAT(all, ElementsAre("job-5", "job-4", "job-3", "job-2", "job-1"));
    // Nothing comes before the first.
    EXPECT_THAT(json_in(world.ask({"GET", "/api/v1/audit?after=1"})).at("audit").as_array(),
                IsEmpty());
    for (const auto* after_what : {"0", "-1", "x"})
        EXPECT_EQ(world.ask({"GET", std::string{"/api/v1/audit?after="} + after_what}).status,
                  400u);
}

TEST(ControlRoutes, AWholeChainIsVerified) {
    control_world world;
    const auto empty = world.ask({"GET", "/api/v1/audit/verification"});
    EXPECT_EQ(number_in(empty, "verified"), 0);
    control_world other;
    other.append_audit(2'500);
    const auto answer = other.ask({"GET", "/api/v1/audit/verification"});
    ASSERT_EQ(answer.status, 200u) << answer.body;
    EXPECT_EQ(number_in(answer, "verified"), 2'500);
    EXPECT_TRUE(json_in(answer).at("broken_at").is_null());
    EXPECT_EQ(text_in(answer, "detail"), "the chain holds: 2500 entries");
}

TEST(ControlRoutes, AllWhoAskForAVerificationWaitForOneWalk) {
    control_world world;
    world.append_audit(1'200);
    const auto before = world.journal_questions();
    std::vector<std::future<http::response>> all;
    for (int i = 0; i < 20; ++i) all.push_back(world.begin({"GET", "/api/v1/audit/verification"}));
    for (auto& one : all) EXPECT_EQ(number_in(one.get(), "verified"), 1'200);
    // One walk reads two pages; a slow machine may begin a second one, or a third.
    EXPECT_LE(world.journal_questions() - before, 6);
}

// Goal: a user who asks without pause takes a small part of the agent's time. Method: a walk of at
// least 300 ms, asked for until there is another, which is not before ten times as long.
TEST(ControlRoutes, AVerificationIsKeptForLongerTheLongerItTook) {
    control_world world;
    world.append_audit(1);
    world.where().journal_faults->audit_delay = millis{300};
    const auto verify = [&] {
        return text_in(world.ask({"GET", "/api/v1/audit/verification"}), "as_of");
    };
    const auto first = verify();
    const auto begun = lease_clock::now();
    while (verify() == first) ASSERT_LT(lease_clock::now() - begun, std::chrono::seconds{120});
    EXPECT_GE(lease_clock::now() - begun, std::chrono::seconds{2});
}

TEST(ControlRoutes, AJournalThatIsAwayIsSaid) {
    control_world world;
    world.where().journal_faults->fail_all = errc::unreachable;
    for (const auto* path : {"/api/v1/nodes", "/api/v1/audit", "/api/v1/audit/verification"})
        EXPECT_EQ(world.ask({"GET", path}).status, 503u) << path;
}

}  // namespace
}  // namespace pawl::api
