// What only Redis has: its scripts, its connection, and the ways in which its server rejects. What
// every store must do is in test_support/conformance.
#include "engines/redis/store/index_fixture.hpp"
#include "engines/redis/store/make_redis_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/redis_server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <regex>

namespace pawl::redis {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using conformance::until;
using conformance::wait_end;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::redis_options;
using testing_servers::redis_persistence;
using testing_servers::redis_server;

redis_settings on_port(std::uint16_t port) {
    redis_settings settings;
    settings.port = port;
    settings.common.timeout = 20s;
    return settings;
}

redis_settings impatient(std::uint16_t port, millis timeout = 200ms) {
    auto settings = on_port(port);
    settings.common.timeout = timeout;
    return settings;
}

client open(const redis_settings& settings) {
    return client{[&](net::loop& where) { return make_redis_store(where, settings); }};
}

redis_options synced() {
    redis_options options;
    options.persistence = redis_persistence::append_synced;
    return options;
}

// ---- Scripts and records

TEST(RedisStore, ScriptsThatTheServerForgotAreSentAgain) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto first = mine.granted(fresh_claim("key"));
    server.ask({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(*mine.release("key", first));
    server.ask({"SCRIPT", "FLUSH"});
    EXPECT_GT(mine.granted(fresh_claim("key")), first);
}

// The layout is documented: people read it with redis-cli when all else fails.
TEST(RedisStore, ARecordIsOneLineThatPeopleCanRead) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(claim{"a/key", "my-id", "me on host", 30s});
    const auto text = server.ask({"GET", "pawl:lock:a/key"});
    const auto digits = std::to_string(number(token));
    EXPECT_TRUE(std::regex_match(text, std::regex{"1 " + digits + " [0-9]{16} " + digits +
                                                  " [0-9]{16} - - - my-id me on host"}))
        << text;
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:locks", "0", "-1"}), "a/key");
    const auto left = std::stoll(server.ask({"PTTL", "pawl:lock:a/key"}));
    EXPECT_GT(left, std::chrono::milliseconds{retention_default}.count());
}

TEST(RedisStore, ARecordThatAnotherProgramWroteIsRejected) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    server.ask({"SET", "pawl:lock:key", "not ours"});
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "cannot read the record");
    expect_failure(mine.inspect("key"), errc::rejected, "cannot read the record of 'key'");
    server.ask({"DEL", "pawl:lock:key"});
    server.ask({"HSET", "pawl:lock:key", "a", "b"});
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "WRONGTYPE");
}

// Goal: a record of a newer layout, which another pawl beside this one has written, is neither
// misread nor written over. Method: a live record and an expired one get another version in front.
TEST(RedisStore, ARecordOfAnotherVersionIsLeftAsItIs) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    for (const auto ttl : {60s, 0s}) {
        const auto wanted = fresh_claim("key", ttl + 1ms);
        const auto token = mine.granted(wanted);
        auto text = server.ask({"GET", "pawl:lock:key"});
        text.front() = '2';
        server.ask({"SET", "pawl:lock:key", text});
        const auto words = "another version of pawl";
        expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, words);
        expect_failure(mine.withdraw({"key", wanted.id}), errc::rejected, words);
        expect_failure(mine.release("key", token, {.done = occurrence{7}}), errc::rejected, words);
        expect_failure(mine.force_release("key", token, 0ms), errc::rejected, words);
        EXPECT_EQ(mine.renew(conformance::lease_of("key", token, 60s)), renewal::unknown);
        EXPECT_EQ(server.ask({"GET", "pawl:lock:key"}), text);
        server.ask({"DEL", "pawl:lock:key"});
    }
}

TEST(RedisStore, OneUnreadableRecordHidesNoOther) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    for (const auto* key : {"job/a", "job/b", "job/c"}) mine.granted(fresh_claim(key, 60s));
    server.ask({"SET", "pawl:lock:job/b", "not ours"});
    conformance::expect_all_but_one_shown(mine, "job/");
}

// Goal: one record that cannot be read ends no other lease. Method: of three leases, the middle one
// is damaged behind its token, first its end, then when it was acquired.
TEST(RedisStore, ADamagedRecordIsUnknownForItsOwnLeaseAlone) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    std::vector<held_lease> all;
    for (const auto* key : {"a", "b", "c"})
        all.push_back(conformance::lease_of(key, mine.granted(fresh_claim(key, 30s)), 90s));
    for (auto& one : all) one.max_lifetime = 1h;
    const auto text = server.ask({"GET", "pawl:lock:b"});
    for (const std::size_t damaged : {19U, 53U}) {
        auto wrong = text;
        wrong.replace(damaged, 16, "0123456789abcdeg");
        server.ask({"SET", "pawl:lock:b", wrong});
        const auto got = mine.renew(all);
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(*got, (std::vector{renewal::renewed, renewal::unknown, renewal::renewed}));
    }
    server.ask({"SET", "pawl:lock:b", text});
    const auto got = mine.renew(all);
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(*got, (std::vector{renewal::renewed, renewal::renewed, renewal::renewed}));
}

// Goal: the index does not grow for ever. Method: records die, and a listing sweeps their entries.
TEST(RedisStore, ListingDropsWhatHasDied) {
    redis_server server;
    auto settings = on_port(server.port());
    settings.common.retention = 1ms;
    auto mine = open(settings);
    for (int i = 0; i < 20; ++i) mine.granted(fresh_claim("dying/" + std::to_string(i), 1ms));
    mine.granted(fresh_claim("living", 30s));
    until([&] { return server.ask({"DBSIZE"}) == "2"; });
    EXPECT_EQ(mine.all("", 5).size(), 1u);
    EXPECT_EQ(server.ask({"ZCARD", "pawl:locks"}), "1");
}

// Goal: a list does not hold the server up, however many keys have died. Method: how many looks at
// the index the server counts for each script; the page ends all the same.
TEST(RedisStore, AListLooksAtSomeDeadKeysAtATime) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    EXPECT_TRUE(*mine.release("z", mine.granted(fresh_claim("z"))));
    add_dead_names(server, "pawl:locks", 20'000);
    server.ask({"CONFIG", "RESETSTAT"});
    const auto seen = mine.all("", 100);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen.front().key, "z");
    EXPECT_LE(calls_of(server, "zrangebylex"), 10 * calls_of(server, "evalsha"));
    EXPECT_EQ(server.ask({"ZCARD", "pawl:locks"}), "1");
}

// Goal: keys that are used once leave nothing behind, though no client lists. Method: their records
// die, and another key is granted.
TEST(RedisStore, GrantsSweepWhatHasDied) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    add_dead_names(server, "pawl:locks", 2'000);
    const auto live = mine.granted(fresh_claim("a/live", 60s));
    for (int i = 0; i < 3'000; ++i)
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    until([&] { return server.ask({"ZRANGE", "pawl:locks", "0", "-1"}) == "a/live\nkey"; });
    EXPECT_EQ(mine.show("a/live").holder, live);
}

// Goal: the same in a program that claims one key and ends. Method: many of them.
TEST(RedisStore, ShortProgramsSweepTogether) {
    redis_server server;
    add_dead_names(server, "pawl:locks", 500);
    until(
        [&] {
            auto one = open(on_port(server.port()));
            EXPECT_TRUE(*one.release("key", one.granted(fresh_claim("key"))));
            return server.ask({"ZCARD", "pawl:locks"}) != "501";
        },
        60s);
}

TEST(RedisStore, ADatabaseIsAWorldOfItsOwn) {
    redis_server server;
    auto there = on_port(server.port());
    there.database = 3;
    auto mine = open(there);
    auto other = open(on_port(server.port()));
    mine.granted(fresh_claim("key"));
    other.granted(fresh_claim("key"));
    EXPECT_NE(server.ask({"INFO", "keyspace"}).find("db3"), std::string::npos);
    there.database = 99;
    expect_failure(open(there).inspect("key"), errc::rejected, "out of range");
}

// ---- The connection

// Goal: many callers, one connection. Method: a proxy counts.
TEST(RedisStore, AllCallersShareOneConnection) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    conformance::expect_callers_served(mine, 8);
    EXPECT_EQ(proxy.connections(), 1);
}

TEST(RedisStore, AServerKilledMidRequestIsAnUnknownOutcomeThatTheSameClaimResolves) {
    redis_server server{synced()};
    conformance::expect_the_same_grant_after_a_kill(
        server, [](std::uint16_t port) { return open(on_port(port)); });
}

TEST(RedisStore, ARequestWithoutAnswerEndsWithinTheTimeoutAsUnknown) {
    redis_server server;
    auto mine = open(impatient(server.port()));
    const auto wanted = conformance::unanswered_claim(server, mine, "200ms", 10s);
    auto patient = open(on_port(server.port()));
    EXPECT_GT(number(patient.granted_in_the_end(wanted)), 0u);
}

TEST(RedisStore, AClosedPortIsUnreachableAfterTheTimeout) {
    auto mine = open(impatient(testing_servers::free_port(), 100ms));
    EXPECT_TRUE(conformance::takes_less(2s, [&] {
        const auto asked = lease_clock::now();
        expect_failure(mine.inspect("key"), errc::unreachable, "Connection refused");
        EXPECT_GE(lease_clock::now() - asked, 100ms);
    }));
}

TEST(RedisStore, ARequestWaitsForAServerThatComesBackInTime) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    mine.granted(fresh_claim("key"));
    server.crash();
    auto answer = std::async(std::launch::async, [&] { return mine.inspect("key"); });
    server.start();
    const auto seen = answer.get();
    // The request may have gone into the dying connection; nothing else may have happened to it.
    EXPECT_TRUE(seen.has_value() || seen.error().code == errc::outcome_unknown);
    EXPECT_TRUE(mine.inspect("key").has_value());
}

TEST(RedisStore, AConnectionThatWasCutIsMadeAnew) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    conformance::expect_connections_made_anew(proxy, mine);
}

// Goal: a wait that is cancelled on its way leaves the store in order. Method: no answer comes.
TEST(RedisStore, AWaitMayBeCancelledBeforeItsSubscriptionIsConfirmed) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    proxy.stall(direction::to_client);
    EXPECT_EQ(mine.wait_change("key", token, 50ms), wait_end::timed_out);
    proxy.resume(direction::to_client);
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token)), renewal::renewed);
}

// Goal: a withdrawn claim that arrives late grants nothing. Method: it is held back on its way
// until its claimer has withdrawn it over another connection.
TEST(RedisStore, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(impatient(proxy.port()));
    auto direct = open(on_port(server.port()));
    const auto calls = [&] { return calls_of(server, "time"); };
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_FALSE(*direct.withdraw({"key", wanted.id}));
    const auto before = calls();
    proxy.resume(direction::to_server);
    until([&] { return calls() > before; });
    EXPECT_FALSE(direct.inspect("key")->has_value());
    EXPECT_GT(number(direct.granted(fresh_claim("key"))), 0u);
}

// Goal: a claim that was sent twice must not hold the key for no client. Method: its claimer
// releases it, withdraws it, and then its other copy arrives; also where no record was left.
TEST(RedisStore, AWithdrawalBehindTheReleaseKeepsALateCopyOut) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    for (const bool forgotten : {false, true}) {
        const auto sent_twice = fresh_claim("key", 60s);
        EXPECT_TRUE(*mine.release("key", mine.granted(sent_twice)));
        if (forgotten) server.ask({"DEL", "pawl:lock:key"});
        EXPECT_FALSE(*mine.withdraw({"key", sent_twice.id}));
        EXPECT_EQ(number(mine.rejected(sent_twice).holder), 0u);
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    }
}

// Goal: a grant that counts for nothing uses no occurrence up. Method: a replica is to confirm it,
// and there is none; the claim is asked for again, and given up.
TEST(RedisStore, AGrantWithoutItsReplicasGivesTheOccurrenceBack) {
    redis_server server;
    auto confirmed = on_port(server.port());
    confirmed.replicas = 1;
    // A quarter of it is waited for the replica.
    confirmed.common.timeout = 8s;
    auto mine = open(confirmed);
    const auto due = conformance::occurrence_in(-10s);
    const auto wanted = conformance::fresh_occurrence("job", due);
    for (int i = 0; i < 2; ++i)
        expect_failure(mine.acquire(wanted), errc::outcome_unknown, "0 of 1 replicas have it");
    expect_failure(mine.withdraw({wanted.key, wanted.id, wanted.occurrence}), errc::outcome_unknown,
                   "0 of 1 replicas have it");
    auto other = open(on_port(server.port()));
    EXPECT_GT(number(other.granted(conformance::fresh_occurrence("job", due))), 0u);
}

// Goal: a claim that no replica has confirmed ends, whatever its withdrawal came to: a waiter asked
// for ever under an id that was dead. Method: a proxy that is slow enough to cut the connection
// while the withdrawal's answer is on its way, and then while the withdrawal is.
TEST(RedisStore, AGrantWithoutItsReplicasEndsThoughItsWithdrawalIsLost) {
    redis_server server;
    for (const bool arrives : {true, false}) {
        SCOPED_TRACE(arrives);
        tcp_proxy proxy{server.port()};
        auto settings = on_port(proxy.port());
        settings.replicas = 1;
        settings.common.timeout = 30s;
        auto mine = open(settings);
        EXPECT_TRUE(mine.inspect("key").has_value());
        auto other = open(on_port(server.port()));
        const auto key = arrives ? "first" : "second";
        const auto is_held = [&] {
            const auto seen = other.inspect(key).value();
            return seen && number(seen->holder) != 0;
        };
        proxy.delay(1s);
        auto asking = std::async(std::launch::async, [&] {
            return mine.acquire(fresh_claim(key, arrives ? 60s : 20s));
        });
        until(is_held);
        if (arrives) {
            until([&] { return !is_held(); }, 60s);
        } else {
            proxy.stall(direction::to_server);
            EXPECT_TRUE(proxy.wait_for_held_bytes(direction::to_server, 1));
        }
        proxy.cut();
        proxy.delay(0s);
        proxy.resume(direction::to_server);
        expect_failure(asking.get(), errc::rejected, "0 of 1 replicas have it");
        // At once, or when its TTL is over.
        until(
            [&] {
                const auto got = other.acquire(fresh_claim(key)).value();
                return std::holds_alternative<grant>(got);
            },
            60s);
    }
}

TEST(RedisStore, TheLast32WithdrawnClaimsAreRemembered) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    conformance::expect_withdrawals_remembered(mine, 32);
}

// Goal: the trace of a withdrawal outlives a claim that comes late, whatever the retention. Method:
// what Redis says of its end.
TEST(RedisStore, ATraceOutlivesAShortRetention) {
    redis_server server;
    auto settings = on_port(server.port());
    settings.common.retention = 1ms;
    auto mine = open(settings);
    const auto before = lease_clock::now();
    EXPECT_FALSE(*mine.withdraw({"key", fresh_claim("key").id}));
    const auto left = millis{std::stoll(server.ask({"PTTL", "pawl:lock:key"}))};
    EXPECT_GT(left + (lease_clock::now() - before), 4900ms);
    EXPECT_LE(left, 5000ms);
}

// ---- Waiting

TEST(RedisStore, ALostConnectionWakesTheWaiters) {
    redis_server server{synced()};
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = mine.start_waiting("key", token, 10s);
    // It has subscribed, and has looked for what changed before.
    until([&] { return server.ask({"GETRANGE", "pawl:lock:key", "70", "70"}) == "w"; });
    server.restart();
    EXPECT_EQ(woke.get(), wait_end::changed);
    // And waiting works again, over a new subscription.
    woke = mine.start_waiting("key", token, 10s);
    mine.until_waiters("key", 1);
    EXPECT_TRUE(*open(on_port(server.port())).release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TEST(RedisStore, WaitingForAServerThatIsGoneFailsWithinTheTimeout) {
    auto mine = open(impatient(testing_servers::free_port(), 100ms));
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 5s), wait_end::failed);
}

// No client is told of keys that none waits for.
TEST(RedisStore, OnlyAKeyThatIsWaitedForIsAnnounced) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    EXPECT_EQ(server.ask({"INFO", "commandstats"}).find("cmdstat_publish"), std::string::npos);
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = mine.start_waiting("key", token, 10s);
    until([&] { return server.ask({"GETRANGE", "pawl:lock:key", "70", "70"}) == "w"; });
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_EQ(server.ask({"GETRANGE", "pawl:lock:key", "70", "70"}), "-");
}

// ---- Quarantine

redis_settings careful(const redis_server& server, millis quarantine = 1200ms) {
    auto settings = on_port(server.port());
    settings.common.quarantine = quarantine;
    return settings;
}

// Goal: a restart that may have lost the last second is a loss of data, marker or not.
TEST(RedisStore, ARestartWithUnsyncedWritesIsQuarantined) {
    redis_options lazily;
    lazily.persistence = redis_persistence::append_lazily;
    redis_server server{lazily};
    EXPECT_GT(number(open(careful(server)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    server.restart();
    // From the start on, which a busy machine may leave behind by a few seconds.
    auto wary = open(careful(server, 8s));
    EXPECT_EQ(wary.rejected(fresh_claim("other", 1s)).reason, busy_reason::quarantined);
    auto mine = open(careful(server));
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 1s))), 0u);
}

// Goal: a promoted replica may lack the newest grants, though it has long been up.
TEST(RedisStore, APromotedReplicaIsQuarantined) {
    redis_server primary;
    redis_options following;
    following.primary = primary.port();
    redis_server replica{following};
    EXPECT_GT(number(open(careful(primary)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    until([&] { return replica.ask({"EXISTS", "pawl:marker"}) == "1"; });
    until([&] {
        const auto info = replica.ask({"INFO", "server"});
        return info.find("uptime_in_seconds:0") == std::string::npos &&
               info.find("uptime_in_seconds:1") == std::string::npos;
    });
    primary.crash();
    replica.ask({"REPLICAOF", "NO", "ONE"});
    auto mine = open(careful(replica));
    const auto told = mine.rejected(fresh_claim("other", 1s));
    EXPECT_EQ(told.reason, busy_reason::quarantined);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 1s))), 0u);
}

void follow(const redis_server& replica, const redis_server& primary) {
    replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    until([&] {
        const auto info = replica.ask({"INFO", "replication"});
        return info.find("master_link_status:up") != std::string::npos;
    });
}

// Goal: a master that becomes one again has kept its run id, and may lack what it granted before.
// Method: there and back, while no client claims in between.
TEST(RedisStore, AFailoverThereAndBackIsQuarantined) {
    redis_server first, second;
    EXPECT_GT(number(open(careful(first)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    follow(second, first);
    // The first replica begins a backlog under another replication id, and nothing is lost.
    EXPECT_GT(number(open(careful(first)).granted(fresh_claim("calm", 1s))), 0u);
    until(
        [&] { return second.ask({"GET", "pawl:history"}) == first.ask({"GET", "pawl:history"}); });
    const auto marker = first.ask({"GET", "pawl:marker"});
    second.ask({"REPLICAOF", "NO", "ONE"});
    follow(first, second);
    first.ask({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(first.ask({"GET", "pawl:marker"}), marker);
    auto mine = open(careful(first));
    EXPECT_EQ(mine.rejected(fresh_claim("other", 1s)).reason, busy_reason::quarantined);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 1s))), 0u);
}

// Goal: `always` that stands still while a rewrite runs is not always.
TEST(RedisStore, WritesThatARewriteLeavesUnsyncedAreNotSynced) {
    auto mostly = synced();
    mostly.more = {"no-appendfsync-on-rewrite yes"};
    redis_server server{mostly};
    EXPECT_GT(number(open(careful(server)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    server.restart();
    // From the start on, which a busy machine may leave behind by a few seconds.
    EXPECT_EQ(open(careful(server, 8s)).rejected(fresh_claim("other", 1s)).reason,
              busy_reason::quarantined);
}

// Goal: data that goes in the middle of a server's life is lost as well, and its uptime says
// nothing of it. Method: FLUSHALL under a client that has met the data.
TEST(RedisStore, AFlushUnderAClientThatKnewTheDataIsQuarantined) {
    redis_server server;
    // Long beside the time from the loss, as the fence sees it, to the claim.
    auto mine = open(careful(server, 6s));
    const auto token = mine.granted_in_the_end(fresh_claim("key", 1s), 200ms, 30s);
    EXPECT_TRUE(mine.fence("file", token, fence_rule::reject_older)->accepted);
    mine.pass(6s);
    server.ask({"FLUSHALL"});
    EXPECT_FALSE(mine.fence("file", token, fence_rule::reject_older)->accepted);
    EXPECT_EQ(mine.rejected(fresh_claim("other", 1s)).reason, busy_reason::quarantined);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 1s), 200ms, 30s)), 0u);
}

// Goal: a wall clock that is set forward ends no quarantine. Method: the marker is of a life that
// began after the start that the uptime speaks of.
TEST(RedisStore, AnUptimeFromBeforeTheLastLifeIsNotBelieved) {
    redis_server server;
    EXPECT_GT(number(open(careful(server)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    const auto now = std::chrono::floor<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    server.ask({"SET", "pawl:marker", "0 anotherlife " + std::to_string(now.count())});
    EXPECT_EQ(open(careful(server, 20s)).rejected(fresh_claim("other", 1s)).reason,
              busy_reason::quarantined);
}

// A marker of the version before has no replication id beside it.
TEST(RedisStore, AMarkerOfThePreviousVersionIsBelieved) {
    redis_server server;
    EXPECT_GT(number(open(careful(server)).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    server.ask({"DEL", "pawl:history"});
    EXPECT_GT(number(open(careful(server)).granted(fresh_claim("other", 1s))), 0u);
}

TEST(RedisStore, FencingIsStrictOnlyUnderQuarantine) {
    redis_server server;
    EXPECT_FALSE(open(on_port(server.port())).traits().strict_fencing);
    EXPECT_TRUE(open(careful(server)).traits().strict_fencing);
}

// ---- The end of a loop

TEST(RedisStore, ALoopMayEndUnderWhatStillRuns) {
    redis_server server;
    server.freeze();
    auto where = std::make_unique<net::loop>();
    auto store = make_redis_store(*where, on_port(server.port()));
    conformance::end_under_requests(std::move(where), std::move(store));
    server.thaw();
}

}  // namespace
}  // namespace pawl::redis
