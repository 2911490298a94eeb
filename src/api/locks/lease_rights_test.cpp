// Whose lease it is, whose keys are reserved, and what of it is audited: over HTTP, without the
// server.
#include "api/locks/lease_rights.hpp"

#include "api/limits/label_quota.hpp"
#include "api/locks/lease_fixture.hpp"
#include "test_support/faults/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// Goal: who is shown the token of a job's run takes its lease by force, with a delay and in the
// audit, or not at all (rule 5).
TEST(LeaseRights, TheLeaseOfARunIsItsAgentsToRenewAndToRelease) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "job/report/3", "ttl_ms": 30000})");
    const fence_token token{static_cast<std::uint64_t>(number_in(made, "fence_token"))};
    run_start start{"run-1", "report", "job/report/3"};
    start.token = token;
    start.partition = 3;
    world.journal([&](pawl::journal& records) { return records.begin(start); });
    const auto place = field_in(made, "Location");
    for (const auto& one : {asked{"DELETE", place}, asked{"PUT", place, R"({"ttl_ms": 60000})"}}) {
        const auto told = world.ask(one);
        EXPECT_EQ(told.status, 403u) << one.method << ' ' << told.body;
        EXPECT_THAT(text_in(told, "detail"), HasSubstr("run-1"));
    }
    EXPECT_EQ(world.inspect("job/report/3")->holder, token);
    EXPECT_LE(world.inspect("job/report/3")->remaining, 30s);
    // Where the journal does not say, it may be one.
    world.where().journal_faults->fail_all = errc::unreachable;
    EXPECT_EQ(world.ask({"DELETE", place}).status, 503u);
    EXPECT_EQ(world.inspect("job/report/3")->holder, token);
    world.where().journal_faults->fail_all = std::optional<errc>{};
    // A program's own lease of such a key is its own.
    const auto own = world.acquire(R"({"key": "job/other", "ttl_ms": 30000})");
    EXPECT_EQ(world.release(own).status, 204u);
}

// Goal: a client cannot have an occurrence run again that others have run. Method: it acquires the
// key behind them, for none or another, and says that it never began.
TEST(LeaseRights, AnOccurrenceIsGivenBackByWhoWasGrantedIt) {
    const api_store where;
    lease_world world{where}, elsewhere{where};
    const auto claim_of = [](const std::string& id, const std::string& due) {
        return R"({"key": "k", "ttl_ms": 30000, "claim_id": ")" + id + '"' +
               (due.empty() ? "" : R"(, "occurrence": ")" + due + '"') + '}';
    };
    const auto due = occurrence_text(-2min), later = occurrence_text(-1min);
    ASSERT_EQ(world.release(world.acquire(claim_of("runs", due))).status, 204u);
    const auto other = world.acquire(claim_of("other", ""));
    ASSERT_EQ(other.status, 201u) << other.body;
    const auto place = field_in(other, "Location");
    const auto ending = "?not_started=" + due + "&claim_id=other";
    const auto told = world.ask({"DELETE", place + ending});
    EXPECT_EQ(told.status, 400u) << told.body;
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("was not acquired for the occurrence"));
    // Another agent does not know what it was acquired for.
    EXPECT_EQ(elsewhere.ask({"DELETE", place + ending}).status, 409u);
    ASSERT_EQ(world.release(other).status, 204u);
    EXPECT_EQ(world.acquire(claim_of("again", due)).status, 410u);
    const auto next = world.acquire(claim_of("next", later));
    ASSERT_EQ(next.status, 201u) << next.body;
    const auto given_back = "?not_started=" + later + "&claim_id=next";
    EXPECT_EQ(elsewhere.ask({"DELETE", field_in(next, "Location") + given_back}).status, 204u);
}

// The same goes for what `pawl exec` runs, under a key of any name: the store says that it is not
// the caller's, and the journal what it is.
TEST(LeaseRights, TheLeaseOfACommandIsNotAnOperatorsToRelease) {
    const api_store where;
    lease_world world{where}, other{where};
    asked taking{"POST", "/api/v1/leases", R"({"key": "backup", "ttl_ms": 30000})"};
    taking.caller = "node-b";
    const auto made = world.ask(taking);
    const fence_token token{static_cast<std::uint64_t>(number_in(made, "fence_token"))};
    const auto place = field_in(made, "Location");
    run_start start{"run-1", "backup", "backup"};
    start.token = token;
    start.node = "node-b";
    world.journal([&](pawl::journal& records) { return records.begin(start); });
    for (const auto& one : {asked{"DELETE", place}, asked{"PUT", place, R"({"ttl_ms": 60000})"}}) {
        const auto told = other.ask(one);
        EXPECT_EQ(told.status, 403u) << one.method << ' ' << told.body;
        EXPECT_THAT(text_in(told, "detail"), HasSubstr("run-1, which node-b keeps"));
    }
    EXPECT_EQ(world.inspect("backup")->holder, token);
    world.where().journal_faults->fail_all = errc::unreachable;
    const auto told = other.ask({"DELETE", place});
    EXPECT_EQ(told.status, 403u) << told.body;
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("belongs to the user who took it"));
}

// Goal: behind a load balancer no renewal waits for the journal, which hangs for as long as its
// timeout now and then. Method: the journal's verbs are counted at the agent that did not grant.
TEST(LeaseRights, AClientsOwnLeaseIsRenewedThroughAnyAgentWithoutTheJournal) {
    const api_store where;
    auto elsewhere = where;
    elsewhere.journal_faults = std::make_shared<testing_faults::journal_plan>();
    lease_world world{where}, other{elsewhere};
    const auto own = world.acquire(R"({"key": "own/7", "ttl_ms": 30000})");
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(other.ask({"PUT", field_in(own, "Location"), R"({"ttl_ms": 30000})"}).status,
                  200u);
    EXPECT_EQ(elsewhere.journal_faults->operations, 0);
    EXPECT_EQ(other.ask({"DELETE", field_in(own, "Location")}).status, 204u);
}

asked by(std::string caller, config::user_role role, std::string method, std::string target,
         std::string body = {}) {
    asked what{std::move(method), std::move(target), std::move(body)};
    what.caller = std::move(caller);
    what.role = role;
    return what;
}

using config::user_role;

// Goal: a user who is shown a token, on any page, can do nothing to its lease. Method: a lease of
// bob's, asked for by everybody else, through the agent that granted it and through another one.
TEST(LeaseRights, ALeaseBelongsToTheUserWhoTookIt) {
    const api_store where;
    lease_world one{where}, two{where};
    const auto made = one.ask(by("bob", user_role::client, "POST", "/api/v1/leases",
                                 R"({"key": "k", "owner": "first", "ttl_ms": 30000})"));
    ASSERT_EQ(made.status, 201u) << made.body;
    EXPECT_EQ(text_in(made, "owner"), "bob@first");
    const auto place = field_in(made, "Location");
    const auto holder = one.inspect("k")->holder;
    for (auto* world : {&one, &two})
        for (const auto role : {user_role::client, user_role::operator_, user_role::admin})
            for (const auto* method : {"PUT", "DELETE"}) {
                const auto told =
                    world->ask(by("bo", role, method, place,
                                  std::string{method} == "PUT" ? R"({"ttl_ms": 60000})" : ""));
                EXPECT_EQ(told.status, 403u) << method << ' ' << told.body;
                EXPECT_THAT(text_in(told, "detail"), HasSubstr("belongs to the user"));
            }
    EXPECT_EQ(one.inspect("k")->holder, holder);
    EXPECT_LE(one.inspect("k")->remaining, 30s);
    const auto renewed =
        two.ask(by("bob", user_role::client, "PUT", place, R"({"ttl_ms": 60000})"));
    EXPECT_EQ(renewed.status, 200u) << renewed.body;
    EXPECT_EQ(two.ask(by("bob", user_role::client, "DELETE", place)).status, 204u);
    EXPECT_TRUE(one.is_free("k"));
}

// Goal: nor can anybody else say what was done under it, once it has expired. Method: bob's lease
// is over, and another client names its token, and an occurrence, at an agent that has not granted
// it.
TEST(LeaseRights, ALeaseThatHasExpiredBelongsToItsUserStill) {
    const api_store where;
    lease_world one{where}, two{where};
    const auto due = occurrence_text(-1min);
    const auto claim = [&](const std::string& ttl) {
        return R"({"key": "k", "owner": "first", "at_least_once": true, "occurrence": ")" + due +
               R"(", "ttl_ms": )" + ttl + '}';
    };
    const auto made =
        one.ask(by("bob", user_role::client, "POST", "/api/v1/leases", claim("1500")));
    ASSERT_EQ(made.status, 201u) << made.body;
    const auto ending = field_in(made, "Location") + "?done=" + due;
    ASSERT_TRUE(eventually([&] { return one.is_free("k"); }));
    const auto told = two.ask(by("bo", user_role::client, "DELETE", ending));
    EXPECT_EQ(told.status, 403u) << told.body;
    EXPECT_EQ(one.ask(by("bob", user_role::client, "POST", "/api/v1/leases", claim("1500"))).status,
              201u);
}

// No name is the beginning of another's, and no user passes for another by the owner's name.
TEST(LeaseRights, NoUserPassesForAnother) {
    const api_store where;
    lease_world one{where}, two{where};
    const auto made = one.ask(by("bob@example.com", user_role::client, "POST", "/api/v1/leases",
                                 R"({"key": "k", "ttl_ms": 30000})"));
    EXPECT_EQ(text_in(made, "owner"), "bob%40example.com@192.0.2.7");
    EXPECT_EQ(two.ask(by("bob", user_role::client, "DELETE", field_in(made, "Location"))).status,
              403u);
    const auto other = one.ask(by("mallory", user_role::client, "POST", "/api/v1/leases",
                                  R"({"key": "l", "owner": "bob@first", "ttl_ms": 30000})"));
    EXPECT_EQ(text_in(other, "owner"), "mallory@bob@first");
    // An owner as the answer said it is taken as it is.
    const auto again = one.ask(by("mallory", user_role::client, "POST", "/api/v1/leases",
                                  R"({"key": "m", "owner": "mallory@x", "ttl_ms": 30000})"));
    EXPECT_EQ(text_in(again, "owner"), "mallory@x");
}

// Goal: no role below admin stops a job, or the recovery of lost runs, by holding its key.
TEST(LeaseRights, KeysOfPawlItselfNeedAnAdmin) {
    lease_world world;
    for (const auto* key : {"job/report", "job/report/3", "pawl/reconciler"}) {
        const auto body = R"({"key": ")" + std::string{key} + R"(", "ttl_ms": 604800000})";
        for (const auto role : {user_role::client, user_role::operator_}) {
            const auto told = world.ask(by("otto", role, "POST", "/api/v1/leases", body));
            EXPECT_EQ(told.status, 403u) << told.body;
            EXPECT_THAT(text_in(told, "detail"), HasSubstr("reserved"));
            const auto fence =
                world.ask(by("otto", role, "POST", "/api/v1/fences/" + std::string{key},
                             R"({"fence_token": 1})"));
            EXPECT_EQ(fence.status, 403u) << fence.body;
            for (const auto* method : {"PUT", "DELETE"})
                EXPECT_EQ(
                    world
                        .ask(by("otto", role, method, "/api/v1/leases/" + std::string{key} + "/1",
                                std::string{method} == "PUT" ? R"({"ttl_ms": 1000})" : ""))
                        .status,
                    403u);
        }
        EXPECT_FALSE(world.inspect(key)) << key;
        EXPECT_EQ(world.ask(by("root", user_role::admin, "POST", "/api/v1/leases", body)).status,
                  201u);
    }
    const auto own = world.ask(by("otto", user_role::client, "POST", "/api/v1/leases",
                                  R"({"key": "jobs/own", "ttl_ms": 1000})"));
    EXPECT_EQ(own.status, 201u) << own.body;
}

std::vector<audit_entry> audited(lease_world& world) {
    return world.journal([](pawl::journal& records) { return records.list_audit(0, 1'000); });
}

// Goal: who took what is in the audit, and a program that takes leases all day does not swell it.
TEST(LeaseRights, LeasesAndFencesAreAuditedAndSoManyAMinute) {
    lease_world world;
    for (int i = 0; i < 50; ++i) {
        const auto made =
            world.acquire(R"({"key": "k)" + std::to_string(i) + R"(", "ttl_ms": 1000})");
        ASSERT_EQ(made.status, 201u);
        const auto token = std::to_string(number_in(made, "fence_token"));
        ASSERT_EQ(world.ask({"POST", "/api/v1/fences/ledger", R"({"fence_token": )" + token + "}"})
                      .status,
                  204u);
        ASSERT_EQ(world.release(made).status, 204u);
    }
    // The last that is written may still be on its way.
    const auto until = lease_clock::now() + 10s;
    std::map<std::string, int> counts;
    do {
        counts.clear();
        for (const auto& one : audited(world)) {
            EXPECT_EQ(one.actor, "alice");
            ++counts[one.action];
        }
    } while (counts.size() < 3 && lease_clock::now() < until);
    EXPECT_EQ(counts, (std::map<std::string, int>{
                          {"lease.acquire", 10}, {"lease.release", 10}, {"fence.check", 10}}));
}

// Goal: a client that invents names leaves labels of the metrics to others. Method: stale tokens
// for more resources than a user has labels for, and leases of more owners.
TEST(LeaseRights, NamesThatAClientInventsLeaveLabelsToOthers) {
    lease_world world;
    const auto reject = [&](const std::string& user, const std::string& resource) {
        const auto path = "/api/v1/fences/" + resource;
        const auto fence = [&](const std::string& body) {
            return world.ask(by(user, user_role::client, "POST", path, body)).status;
        };
        EXPECT_EQ(fence(R"({"fence_token": 5})"), 204u);
        EXPECT_EQ(fence(R"({"fence_token": 4})"), 409u);
    };
    const auto acquire = [&](const std::string& user, const std::string& name) {
        const auto body =
            R"({"ttl_ms": 60000, "key": ")" + name + R"(", "owner": ")" + name + R"("})";
        EXPECT_EQ(world.ask(by(user, user_role::client, "POST", "/api/v1/leases", body)).status,
                  201u);
    };
    for (std::size_t i = 0; i <= labels_of_user_max; ++i) {
        reject("mallory", "r" + std::to_string(i));
        acquire("mallory", "o" + std::to_string(i));
    }
    reject("carol", "accounts");
    acquire("carol", "worker");
    const auto page = world.metrics();
    const auto last = std::to_string(labels_of_user_max);
    EXPECT_THAT(page, HasSubstr("{resource=\"r0\"}"));
    EXPECT_THAT(page, Not(HasSubstr("{resource=\"r" + last + "\"}")));
    EXPECT_THAT(page, HasSubstr("{resource=\"_other\"}"));
    EXPECT_THAT(page, HasSubstr("{resource=\"accounts\"}"));
    EXPECT_THAT(page, HasSubstr("{owner=\"mallory@o0\"}"));
    EXPECT_THAT(page, Not(HasSubstr("{owner=\"mallory@o" + last + "\"}")));
    EXPECT_THAT(page, HasSubstr("{owner=\"_other\"}"));
    EXPECT_THAT(page, HasSubstr("{owner=\"carol@worker\"}"));
}

// Goal: a lease that stops a job is in the audit, whatever was done before it in the same minute.
TEST(LeaseRights, LeasesOfReservedKeysAreAuditedEachTime) {
    lease_world world;
    const auto take = [&](const std::string& key) {
        const auto body = R"({"key": ")" + key + R"(", "ttl_ms": 1000})";
        return world.ask(by("root", user_role::admin, "POST", "/api/v1/leases", body)).status;
    };
    for (int i = 0; i < 12; ++i) ASSERT_EQ(take("k" + std::to_string(i)), 201u);
    ASSERT_EQ(take("job/payroll"), 201u);
    // The last that is written may still be on its way.
    const auto until = lease_clock::now() + 10s;
    bool is_there = false;
    while (!is_there && lease_clock::now() < until) {
        std::this_thread::sleep_for(20ms);
        for (const auto& one : audited(world)) is_there |= one.target == "job/payroll";
    }
    EXPECT_TRUE(is_there);
}

// Goal: a program that checks the fence of a job before each write does not swell the audit.
TEST(LeaseRights, FencesOfReservedNamesAreAuditedSoManyAMinute) {
    lease_world world;
    const auto ask = [&](const std::string& path, const std::string& body) {
        return world.ask(by("root", user_role::admin, "POST", path, body));
    };
    const auto take = [&](const std::string& key) {
        return ask("/api/v1/leases", R"({"key": ")" + key + R"(", "ttl_ms": 1000})");
    };
    const auto made = take("job/payroll");
    ASSERT_EQ(made.status, 201u) << made.body;
    const auto token = std::to_string(number_in(made, "fence_token"));
    for (int i = 0; i < 50; ++i) {
        const auto told = ask("/api/v1/fences/job%2Fpayroll", R"({"fence_token": )" + token + "}");
        ASSERT_EQ(told.status, 204u) << told.body;
    }
    ASSERT_EQ(take("job/last").status, 201u);
    // The last that is written may still be on its way.
    const auto until = lease_clock::now() + 10s;
    std::map<std::string, int> counts;
    do {
        counts.clear();
        for (const auto& one : audited(world)) ++counts[one.action];
    } while ((counts["lease.acquire"] < 2 || counts["fence.check"] < 10) &&
             lease_clock::now() < until);
    EXPECT_EQ(counts, (std::map<std::string, int>{{"lease.acquire", 2}, {"fence.check", 10}}));
}

// Goal: who may not have leases any more is granted none that they waited for. Method: the rights
// go while the key is held by another; then its holder releases it.
TEST(LeaseRights, AWaitDoesNotOutliveTheUser) {
    lease_world world;
    const auto first = world.acquire(R"({"key": "k", "ttl_ms": 60000})");
    asked wait{"POST", "/api/v1/leases", R"({"key": "k", "ttl_ms": 60000, "wait_ms": 60000})"};
    wait.is_still_admitted = [] { return false; };
    auto waiting = world.begin(wait);
    ASSERT_TRUE(world.waits("k", 1));
    ASSERT_EQ(world.release(first).status, 204u);
    const auto told = waiting.get();
    EXPECT_EQ(told.status, 401u);
    EXPECT_NE(text_in(told, "detail").find("'k' was waited for"), std::string::npos);
    EXPECT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 60000})").status, 201u);
}

}  // namespace
}  // namespace pawl::api
