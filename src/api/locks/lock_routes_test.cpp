// Locks as people see them over HTTP, and their release by force.
#include "api/locks/lock_routes.hpp"
#include "base/identity.hpp"
#include "base/percent.hpp"
#include "engines/memory/store/memory_store.hpp"

#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct lock_world : api_world {
    explicit lock_world(api_store where = {})
        : api_world{lock_routes, std::move(where)}, others{open()} {}

    // What some other process holds.
    lease hold(const std::string& key, millis ttl = 1min) {
        auto got = others.try_acquire(key, {.ttl = ttl});
        return std::move(*got);
    }
    http::response release(const std::string& key, fence_token token,
                           const std::string& more = R"(, "reason": "node-a is gone")") {
        return ask({"POST", "/api/v1/locks/release",
                    R"({"key": ")" + key + R"(", "fence_token": )" + std::to_string(number(token)) +
                        more + "}"});
    }
    std::vector<audit_entry> audited() {
        return journal([](pawl::journal& records) { return records.list_audit(0, 100); });
    }
    void begin_run(const std::string& job, const std::string& key, fence_token token,
                   std::uint32_t partition) {
        run_start start{"run-of-" + key, job, key};
        start.token = token;
        start.partition = partition;
        start.trigger = "schedule";
        journal([&](pawl::journal& records) { return records.begin(start); });
    }

    locks others;

private:
    locks open() {
        const auto make = [where = where().settings](net::loop& loop) {
            return pawl::memory::make_memory_store(loop, where);
        };
        return locks{std::make_unique<runtime::core>(make, where().settings, open_options{})};
    }
};

std::vector<std::string> keys_in(const http::response& from) {
    std::vector<std::string> keys;
    const auto document = json_in(from);
    for (const auto& one : document.at("locks").as_array())
        keys.emplace_back(one.at("key").as_string());
    return keys;
}

TEST(JobOf, TheJobAndThePartitionStandInTheKey) {
    const auto plain = job_of("job/report"), part = job_of("job/report/12");
    ASSERT_TRUE(plain && part);
    EXPECT_EQ(plain->job, "report");
    EXPECT_EQ(plain->partition, 0u);
    EXPECT_EQ(part->job, "report");
    EXPECT_EQ(part->partition, 12u);
    for (const auto* key : {"report", "job/", "job//1", "job/a/b", "job/a/1x", "job/a/",
                            "job/a/1/2", "job/a/-1", "jobs/a"})
        EXPECT_FALSE(job_of(key)) << key;
}

TEST(LockRoutes, LocksAreListedByPages) {
    lock_world world;
    std::vector<lease> held;
    for (const auto* key : {"a/1", "a/2", "a/3", "b/1"}) held.push_back(world.hold(key));
    const auto first = world.ask({"GET", "/api/v1/locks?prefix=a/&limit=2"});
    ASSERT_EQ(first.status, 200u) << first.body;
    EXPECT_THAT(keys_in(first), ElementsAre("a/1", "a/2"));
    const auto second = world.ask({"GET", "/api/v1/locks?prefix=a/&limit=2&after=" +
                                              base::percent_encode(text_in(first, "next"))});
    EXPECT_THAT(keys_in(second), ElementsAre("a/3"));
    EXPECT_EQ(text_in(second, "next"), "");
    EXPECT_EQ(keys_in(world.ask({"GET", "/api/v1/locks"})).size(), 4u);
    for (const auto* limit : {"0", "1001", "-1", "ten"})
        EXPECT_EQ(world.ask({"GET", std::string{"/api/v1/locks?limit="} + limit}).status, 400u);
}

// A misspelt filter would show every lock.
TEST(LockRoutes, AParameterThatThereIsNotIsRejected) {
    lock_world world;
    for (const auto* path : {"/api/v1/locks?prefx=a/", "/api/locks/active?prefix=a/"}) {
        const auto answer = world.ask({"GET", path});
        EXPECT_EQ(answer.status, 400u) << path;
        EXPECT_THAT(text_in(answer, "detail"), HasSubstr("there is no parameter 'pref")) << path;
    }
}

TEST(LockRoutes, AListThatHasNotChangedIsNotSentAgain) {
    lock_world world;
    world.hold("k").release();
    const auto first = world.ask({"GET", "/api/v1/locks"});
    asked again{"GET", "/api/v1/locks"};
    again.if_none_match = field_in(first, "ETag");
    ASSERT_NE(again.if_none_match, "");
    EXPECT_EQ(world.ask(again).status, 304u);
    world.hold("l").release();
    EXPECT_EQ(world.ask(again).status, 200u);
}

TEST(LockRoutes, OnlyWhatIsHeldIsActive) {
    lock_world world;
    std::vector<lease> held;
    for (int i = 0; i < 10; ++i) {
        auto one = world.hold("k" + std::to_string(i));
        if (i % 2 == 0)
            one.release();
        else
            held.push_back(std::move(one));
    }
    EXPECT_THAT(keys_in(world.ask({"GET", "/api/locks/active"})),
                ElementsAre("k1", "k3", "k5", "k7", "k9"));
    // Every page but the last is full, and no lock is on two of them, or on none.
    std::vector<std::string> seen;
    std::string after;
    do {
        const auto page = world.ask({"GET", "/api/locks/active?limit=2&after=" + after});
        const auto some = keys_in(page);
        seen.insert(seen.end(), some.begin(), some.end());
        after = text_in(page, "next");
        if (!after.empty()) {
            EXPECT_EQ(some.size(), 2u);
        }
    } while (!after.empty());
    EXPECT_THAT(seen, ElementsAre("k1", "k3", "k5", "k7", "k9"));
}

TEST(LockRoutes, ALockIsShownWithTheRunThatHoldsIt) {
    lock_world world;
    const auto held = world.hold("job/report/3");
    world.begin_run("report", "job/report/3", held.token(), 3);
    for (const auto* path : {"/api/v1/locks/job/report/3", "/api/v1/locks/job%2Freport%2F3"}) {
        const auto shown = world.ask({"GET", path});
        ASSERT_EQ(shown.status, 200u) << shown.body;
        EXPECT_EQ(text_in(shown, "job"), "report");
        EXPECT_EQ(number_in(shown, "partition"), 3);
        EXPECT_EQ(json_in(shown).at("run").at("id").as_string(), "run-of-job/report/3");
        EXPECT_EQ(static_cast<std::uint64_t>(number_in(shown, "newest_token")),
                  number(held.token()));
        EXPECT_FALSE(json_in(shown).contains("run_unknown"));
    }
}

TEST(LockRoutes, ARunUnderAnOlderTokenDoesNotHoldTheLock) {
    lock_world world;
    auto first = world.hold("job/report");
    world.begin_run("report", "job/report", first.token(), 0);
    first.release();
    const auto second = world.hold("job/report");
    const auto shown = world.ask({"GET", "/api/v1/locks/job/report"});
    EXPECT_TRUE(json_in(shown).at("run").is_null());
    EXPECT_TRUE(json_in(shown).at("held").as_bool());
}

TEST(LockRoutes, ALockThatIsNoJobsHasTheRunOfItsKey) {
    lock_world world;
    const auto held = world.hold("nightly");
    world.begin_run("nightly", "nightly", held.token(), 0);
    const auto shown = world.ask({"GET", "/api/v1/locks/nightly"});
    EXPECT_TRUE(json_in(shown).at("job").is_null());
    EXPECT_EQ(json_in(shown).at("run").at("id").as_string(), "run-of-nightly");
}

// `pawl exec gpu --slots 4`, and the partitions of a program.
TEST(LockRoutes, ALockOfASlotHasTheRunOfItsName) {
    lock_world world;
    const auto held = world.hold("gpu/2");
    world.begin_run("gpu", "gpu/2", held.token(), 2);
    const auto shown = world.ask({"GET", "/api/v1/locks/gpu/2"});
    EXPECT_EQ(json_in(shown).at("run").at("id").as_string(), "run-of-gpu/2");
    const auto of_a_year = world.hold("invoices/2026");
    world.begin_run("invoices/2026", "invoices/2026", of_a_year.token(), 0);
    const auto other = world.ask({"GET", "/api/v1/locks/invoices/2026"});
    EXPECT_EQ(json_in(other).at("run").at("id").as_string(), "run-of-invoices/2026");
}

// The operator on call wants to see the lock also when the journal is down.
TEST(LockRoutes, AJournalThatIsDownHidesNoLock) {
    lock_world world;
    const auto held = world.hold("job/report");
    world.where().journal_faults->fail_all = errc::unreachable;
    const auto shown = world.ask({"GET", "/api/v1/locks/job/report"});
    ASSERT_EQ(shown.status, 200u) << shown.body;
    EXPECT_TRUE(json_in(shown).at("run").is_null());
    EXPECT_NE(text_in(shown, "run_unknown"), "");
}

TEST(LockRoutes, AKeyThatWasNeverLockedIs404) {
    lock_world world;
    const auto told = world.ask({"GET", "/api/v1/locks/nothing"});
    EXPECT_EQ(told.status, 404u);
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("'nothing'"));
    EXPECT_EQ(world.release("nothing", fence_token{1}).status, 404u);
    EXPECT_EQ(world.ask({"POST", "/api/locks/release", R"({"key": "nothing"})"}).status, 404u);
}

TEST(LockRoutes, AForcedReleaseKeepsTheKeyForWhatIsLeftOfTheLease) {
    lock_world world;
    const auto held = world.hold("k");
    const auto done = world.release("k", held.token());
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(static_cast<std::uint64_t>(number_in(done, "fence_token")), number(held.token()));
    EXPECT_EQ(text_in(done, "owner"), held.owner());
    EXPECT_EQ(text_in(done, "reason"), "node-a is gone");
    EXPECT_GT(number_in(done, "free_in_ms"), 50'000);
    const auto after = world.inspect("k");
    EXPECT_EQ(number(after->holder), 0u);
    EXPECT_GT(after->remaining, 50s);
    // The token is burnt: a guard that reads the store rejects its holder at once.
    EXPECT_GT(number(after->last_token), number(held.token()));
}

// Goal: a long lease of a run does not keep its key for all that is left of it, where the run's
// agent will hear of the forced release; and does where that is not known.
// Method: a lease of five minutes, with and without an agent that is heard of.
TEST(LockRoutes, AForcedReleaseOfARunThatWillHearOfItWaitsForThatAndItsGrace) {
    for (const bool heard : {true, false}) {
        lock_world world;
        const auto held = world.hold("job/report", 5min);
        job_entry entry;
        entry.name = "report";
        // The run may have begun before it was told to renew so often.
        entry.definition = R"({"ttl": "5m", "grace": "3s", "renew_fraction": 0.05})";
        world.journal(
            [&](pawl::journal& records) { return records.publish(std::vector<job_entry>{entry}); });
        world.begin_run("report", "job/report", held.token(), 0);
        node_entry agent;
        agent.id = heard ? held.owner() : "another";
        agent.name = "node-a";
        world.journal([&](pawl::journal& records) { return records.node_heartbeat(agent); });
        // A renewal with its jitter, what an answer may take, and the grace.
        constexpr auto enough = 112'200 + 2'000 + 3'000;
        const auto shown = world.ask({"GET", "/api/v1/locks/job/report"});
        const auto done = world.release("job/report", held.token());
        ASSERT_EQ(done.status, 200u) << done.body;
        const auto kept = world.inspect("job/report")->remaining.count();
        if (heard) {
            EXPECT_EQ(number_in(shown, "cooldown_ms"), enough);
            EXPECT_LE(kept, enough);
            EXPECT_GT(kept, enough - 60'000);
        } else {
            EXPECT_GT(number_in(shown, "cooldown_ms"), 240'000);
            EXPECT_GT(kept, 240'000);
        }
    }
}

// Goal: rule 5 holds for a lease that is renewed after it was looked at, as its holder trusts the
// renewed one. Method: the look tells what was left before the renewal.
TEST(LockRoutes, AForcedReleaseLastsForALeaseThatIsRenewedMeanwhile) {
    lock_world world;
    const auto held = world.hold("k");
    world.on_loop([&] {
        world.hooks().after_inspect = [&](result<std::optional<record>>& answer) {
            (*answer)->remaining = 5ms;
            world.hooks().after_inspect = {};
        };
    });
    const auto done = world.release("k", held.token());
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_GT(number_in(done, "free_in_ms"), 50'000);
    EXPECT_GT(world.inspect("k")->remaining, 50s);
}

TEST(LockRoutes, AForcedReleaseWithoutDelayFreesTheKeyAtOnce) {
    lock_world world;
    const auto held = world.hold("k");
    const auto done = world.release("k", held.token(), R"(, "reason": "it is dead", "now": true)");
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(number_in(done, "free_in_ms"), 0);
    EXPECT_EQ(world.inspect("k")->remaining, 0ms);
    EXPECT_THAT(world.log(), Contains(HasSubstr("two may run")));
}

// Goal: who has seen the holder dead ends the cooldown that a release has left. Method: it is asked
// for by the old token, without saying so, and rightly.
TEST(LockRoutes, ACooldownIsEndedByTheNewestTokenAndInSoManyWords) {
    lock_world world;
    const auto held = world.hold("k");
    ASSERT_EQ(world.release("k", held.token()).status, 200u);
    const auto newest = world.inspect("k")->last_token;
    const std::string now = R"(, "reason": "it is switched off", "now": true)";
    EXPECT_EQ(world.release("k", held.token(), now).status, 409u);
    const auto told = world.release("k", newest);
    EXPECT_EQ(told.status, 409u) << told.body;
    EXPECT_THAT(text_in(told, "detail"), HasSubstr(R"(to free it at once, set "now" to true)"));
    EXPECT_GT(world.inspect("k")->remaining, 30s);

    const auto done = world.release("k", newest, now);
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(number_in(done, "free_in_ms"), 0);
    EXPECT_EQ(text_in(done, "owner"), "");
    EXPECT_EQ(world.inspect("k")->remaining, 0ms);
    EXPECT_EQ(world.release("k", world.inspect("k")->last_token, now).status, 409u);
    EXPECT_EQ(world.audited()[0].detail,
              "cooldown after token " + std::to_string(number(newest)) + ": it is switched off");
    EXPECT_THAT(world.log(), Contains(HasSubstr("cooldown force-ended key=k token=")));
}

// Goal: what the next holder has left is not taken for a wait. Method: he is granted the key before
// it is looked at again.
TEST(LockRoutes, AKeyThatIsHeldAgainAlreadyWasFreeAtOnce) {
    lock_world world;
    const auto held = world.hold("k");
    world.on_loop([&] {
        world.hooks().after_force_release = [&](result<bool>&) {
            world.hooks().after_inspect = [](result<std::optional<record>>& answer) {
                (*answer)->holder = (*answer)->last_token = fence_token{1'700'000'000'000'000};
                (*answer)->remaining = 30s;
            };
        };
    });
    const auto done = world.release("k", held.token(), R"(, "reason": "it is dead", "now": true)");
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(number_in(done, "free_in_ms"), 0);
}

TEST(LockRoutes, AForcedReleaseIsAuditedCountedAndSaid) {
    lock_world world;
    const auto held = world.hold("k");
    ASSERT_EQ(world.release("k", held.token()).status, 200u);
    const auto entries = world.audited();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].actor, "alice");
    EXPECT_EQ(entries[0].action, "lock.release");
    EXPECT_EQ(entries[0].target, "k");
    EXPECT_EQ(entries[0].detail, "token " + std::to_string(number(held.token())) + " of " +
                                     held.owner() + ": node-a is gone");
    EXPECT_THAT(world.metrics(), HasSubstr("pawl_lock_forced_release_total 1"));
    EXPECT_THAT(world.log(), Contains(HasSubstr("lock force-released key=k owner=")));
}

TEST(LockRoutes, AForcedReleaseNeedsNoJournal) {
    lock_world world{api_store{.keeps_journal = false}};
    const auto held = world.hold("k");
    EXPECT_TRUE(json_in(world.ask({"GET", "/api/v1/locks/k"})).at("run").is_null());
    EXPECT_EQ(world.release("k", held.token()).status, 200u);
    EXPECT_THAT(world.log(), Contains(HasSubstr("was not audited: this agent keeps no journal")));
}

// Goal: an operator force-releases only whom he was shown.
TEST(LockRoutes, AKeyThatHasPassedOnIsNotReleased) {
    lock_world world;
    auto first = world.hold("k");
    const auto shown = first.token();
    first.release();
    const auto second = world.hold("k");
    const auto told = world.release("k", shown);
    ASSERT_EQ(told.status, 409u) << told.body;
    EXPECT_EQ(static_cast<std::uint64_t>(number_in(told, "newest")), number(second.token()));
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("has passed on from token"));
    EXPECT_EQ(world.inspect("k")->holder, second.token());
    EXPECT_THAT(world.audited(), IsEmpty());
}

// The same when it passes on between the look and the forced release.
TEST(LockRoutes, AKeyThatPassesOnMeanwhileIsNotReleased) {
    lock_world world;
    const auto held = world.hold("k");
    world.on_loop(
        [&] { world.hooks().after_force_release = [](result<bool>& answer) { answer = false; }; });
    EXPECT_EQ(world.release("k", held.token()).status, 409u);
    EXPECT_EQ(world.ask({"POST", "/api/locks/release", R"({"key": "k"})"}).status, 409u);
}

TEST(LockRoutes, AReleaseOfUnknownOutcomeIsAuditedAsSuch) {
    lock_world world;
    const auto held = world.hold("k");
    world.on_loop([&] {
        world.hooks().after_force_release = [&](result<bool>& answer) {
            answer = failure{errc::outcome_unknown, "the answer was lost, as planned"};
            world.hooks().after_force_release = {};
        };
    });
    const auto told = world.release("k", held.token());
    EXPECT_EQ(told.status, 503u);
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("look again"));
    const auto entries = world.audited();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_THAT(entries[0].detail, HasSubstr("whether it took effect is not known"));
    EXPECT_THAT(world.metrics(), HasSubstr("pawl_lock_forced_release_total 0"));
}

TEST(LockRoutes, WhatIsWrongWithAReleaseIsSaidInOneLine) {
    lock_world world;
    const auto held = world.hold("k");
    const std::vector<std::pair<std::string, const char*>> all{
        {"", "reason is missing"},
        {R"(, "reason": "")", "reason is empty"},
        {R"(, "reason": "a\nb")", "reason has a control character"},
        {R"(, "reason": ")" + std::string(1025, 'r') + "\"", "reason has 1025 bytes"},
        {R"(, "reason": "r", "now": "yes")", "now is neither true nor false"},
        {R"(, "reason": "r", "delay": 1)", "unknown member 'delay'"}};
    for (const auto& [more, says] : all) {
        const auto rejected = world.release("k", held.token(), more);
        EXPECT_EQ(rejected.status, 400u) << more;
        EXPECT_THAT(text_in(rejected, "detail"), HasSubstr(says));
    }
    EXPECT_EQ(world.release("k", fence_token{0}).status, 400u);
    EXPECT_EQ(world.inspect("k")->holder, held.token());
}

TEST(LockRoutes, TheRouteOfTheSeedTakesAKeyAlone) {
    lock_world world;
    const auto held = world.hold("k");
    const asked release{"POST", "/api/locks/release", R"({"key": "k"})"};
    const auto done = world.ask(release);
    ASSERT_EQ(done.status, 200u) << done.body;
    EXPECT_EQ(static_cast<std::uint64_t>(number_in(done, "fence_token")), number(held.token()));
    EXPECT_EQ(world.audited().size(), 1u);
    const auto again = world.ask(release);
    EXPECT_EQ(again.status, 409u);
    EXPECT_THAT(text_in(again, "detail"), HasSubstr("lock 'k' has no holder"));
}

// Goal: one key of strange bytes closes the list to no user. What no request can name, none
// releases.
TEST(LockRoutes, AKeyThatIsNoTextLeavesTheListReadable) {
    lock_world world;
    // Of an older version, or of a program that keeps to other rules.
    net::loop loop;
    const auto store = pawl::memory::make_memory_store(loop, world.where().settings);
    const claim wanted{"k\xff", base::fresh_id(), "other", 1min};
    const auto strange = std::get<grant>(loop.wait_for(store->acquire(wanted)).value());
    const auto plain = world.hold("l");
    const auto locks = json_in(world.ask({"GET", "/api/v1/locks"})).at("locks").as_array();
    ASSERT_EQ(locks.size(), 2u);
    EXPECT_EQ(locks[0].at("key").as_string(), "k\xEF\xBF\xBD");
    EXPECT_EQ(locks[1].at("key").as_string(), "l");
    EXPECT_EQ(world.release("k\xEF\xBF\xBD", strange.token).status, 404u);
    // Page by page as well: each lock once, and no page for ever.
    for (const std::string path : {"/api/v1/locks", "/api/locks/active"}) {
        std::vector<std::string> seen;
        std::string next;
        do {
            const auto page = world.ask({"GET", path + "?limit=1&after=" + next});
            for (const auto& key : keys_in(page)) seen.push_back(key);
            next = base::percent_encode(text_in(page, "next"));
        } while (!next.empty() && seen.size() < 10);
        EXPECT_THAT(seen, ElementsAre("k\xEF\xBF\xBD", "l")) << path;
    }
}

TEST(LockRoutes, AStoreThatIsDownIs503) {
    lock_world world;
    world.where().faults->fail_all = errc::unreachable;
    for (const auto& one : {asked{"GET", "/api/v1/locks"}, asked{"GET", "/api/v1/locks/k"},
                            asked{"GET", "/api/locks/active"},
                            asked{"POST", "/api/locks/release", R"({"key": "k"})"}})
        EXPECT_EQ(world.ask(one).status, 503u) << one.target;
    EXPECT_EQ(world.release("k", fence_token{1}).status, 503u);
}

}  // namespace
}  // namespace pawl::api
