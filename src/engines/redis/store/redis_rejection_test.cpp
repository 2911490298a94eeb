// The ways in which a Redis, or what was taken for one, turns a store away: one clear line each.
#include "engines/redis/store/make_redis_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/conformance/tls_laws.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/redis_server.hpp"

#include <gtest/gtest.h>

#include <poll.h>

#include <future>
#include <vector>

namespace pawl::redis {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using testing_faults::canned_server;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::redis_options;
using testing_servers::redis_server;

redis_settings on_port(std::uint16_t port) {
    redis_settings settings;
    settings.port = port;
    settings.common.timeout = 10s;
    return settings;
}

// Where it is waited out: what may pass is told when the time is over.
redis_settings impatient(std::uint16_t port, millis timeout = 1s) {
    auto settings = on_port(port);
    settings.common.timeout = timeout;
    return settings;
}

client open(const redis_settings& settings) {
    return client{[&](net::loop& where) { return make_redis_store(where, settings); }};
}

void expect_rejection(client& mine, const redis_settings& settings, errc code,
                      const std::string& words) {
    const auto got = mine.acquire(fresh_claim("key"));
    conformance::expect_failure(got, code, words);
    if (!settings.password.empty()) {
        EXPECT_EQ(conformance::failure_of(got).detail.find(settings.password), std::string::npos);
    }
}

void expect_rejection(const redis_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    expect_rejection(mine, settings, code, words);
}

// ---- Credentials

TEST(RedisRejection, AWrongOrMissingPasswordIsDeniedAtOnce) {
    redis_options options;
    options.password = "s3cret";
    redis_server server{options};
    auto settings = on_port(server.port());
    expect_rejection(settings, errc::denied, "NOAUTH");
    settings.password = "wrong-password";
    settings.common.timeout = 30s;
    const auto asked = lease_clock::now();
    expect_rejection(settings, errc::denied, "WRONGPASS");
    EXPECT_LT(lease_clock::now() - asked, 10s);
    settings.password = "s3cret";
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
}

// The user of docs/stores/redis.md.
const std::string documented_user =
    "locker on >s3cret resetkeys ~pawl:* resetchannels &pawl:changed:* -@all +hello +select +eval "
    "+evalsha +time +get +mget +set +setrange +zadd +zrangebylex +zrem +publish +subscribe "
    "+unsubscribe +pubsub|numsub +info +config|get";

void remove(std::string& text, const std::string& word) {
    text.erase(text.find(word), word.size());
}

redis_settings as_locker(const redis_server& server) {
    auto settings = on_port(server.port());
    settings.user = "locker";
    settings.password = "s3cret";
    return settings;
}

// Goal: the documentation names enough privileges. Method: every verb, as that user.
TEST(RedisRejection, TheDocumentedUserMayDoEverything) {
    redis_options options;
    options.users = {documented_user};
    redis_server server{options};
    auto settings = as_locker(server);
    constexpr millis lasts = 6s;
    for (const bool quarantined : {false, true}) {
        if (quarantined) settings.common.quarantine = lasts;
        auto mine = open(settings);
        auto once = fresh_claim("key", lasts);
        once.occurrence = conformance::occurrence_in(0s);
        const auto token = mine.granted_in_the_end(fresh_claim("key", lasts), 200ms, 30s);
        EXPECT_EQ(mine.renew(conformance::lease_of("key", token, lasts)), renewal::renewed);
        // The server may not have noticed yet that the client of the round before is gone.
        mine.until_waiters("key", 0);
        auto woke = mine.start_waiting("key", token, 10s);
        mine.until_waiters("key", 1);
        EXPECT_TRUE(mine.show("key").waiters.has_value());
        EXPECT_TRUE(*mine.force_release("key", token, 0ms));
        EXPECT_EQ(woke.get(), conformance::wait_end::changed);
        const auto next = mine.granted_in_the_end(fresh_claim("key", lasts), 200ms, 30s);
        release_options cooldown;
        cooldown.min_hold = 1ms;
        EXPECT_TRUE(*mine.release("key", next, cooldown));
        EXPECT_FALSE(*mine.withdraw({"key", "some-id"}));
        EXPECT_EQ(mine.all("", 10).size(), 1u);
        EXPECT_TRUE(mine.fence("resource", next, fence_rule::reject_older)->accepted);
    }
}

TEST(RedisRejection, AMissingPrivilegeIsDeniedAndNamed) {
    auto user = documented_user;
    remove(user, "+zadd ");
    redis_options options;
    options.users = {user};
    redis_server server{options};
    expect_rejection(as_locker(server), errc::denied, "can't run this command");
    // And no half-made lease stays behind.
    EXPECT_EQ(server.ask({"EXISTS", "pawl:lock:key"}), "0");
}

TEST(RedisRejection, KeysOutsideTheUsersPatternAreDenied) {
    redis_options options;
    options.users = {documented_user};
    redis_server server{options};
    auto settings = as_locker(server);
    settings.common.name_space = "other";
    expect_rejection(settings, errc::denied, "NOPERM");
}

// HELLO, PUBSUB and CONFIG are welcome but not needed.
TEST(RedisRejection, WhatIsOnlyWelcomeMayBeMissing) {
    auto user = documented_user;
    for (const auto* word : {"+hello ", "+pubsub|numsub ", " +config|get", "+info"})
        remove(user, word);
    redis_options options;
    options.users = {user};
    redis_server server{options};
    auto mine = open(as_locker(server));
    mine.granted(fresh_claim("key"));
    EXPECT_FALSE(mine.show("key").waiters);
}

TEST(RedisRejection, AUserWithoutChannelsIsToldSoWhenItWaits) {
    auto user = documented_user;
    remove(user, " &pawl:changed:*");
    redis_options options;
    options.users = {user};
    redis_server server{options};
    auto mine = open(as_locker(server));
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(mine.wait_change("key", token, 5s), conformance::wait_end::failed);
}

// ---- Wrong peers

TEST(RedisRejection, AnHttpServerDoesNotSpeakResp) {
    canned_server server{{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}};
    expect_rejection(on_port(server.port()), errc::protocol, "does not speak RESP");
}

TEST(RedisRejection, AnAnswerOfTheWrongShapeIsNoRedis) {
    canned_server hello{{":1\r\n"}};
    expect_rejection(on_port(hello.port()), errc::protocol, "does not speak RESP");
    canned_server later{{"*0\r\n", "*1\r\n+OK\r\n"}};
    expect_rejection(on_port(later.port()), errc::protocol, "does not speak RESP");
    canned_server talkative{{"*0\r\n", ":1\r\n:2\r\nrubbish\r\n"}};
    auto mine = open(on_port(talkative.port()));
    EXPECT_TRUE(mine.acquire(fresh_claim("key")).has_value());
}

TEST(RedisRejection, AnUnresponsiveServerIsUnreachableAfterTheTimeout) {
    canned_server server{{}};
    auto settings = on_port(server.port());
    // A busy machine takes its time to make the connection, too.
    settings.common.timeout = 500ms;
    expect_rejection(settings, errc::unreachable, "no answer within 500ms");
    // Also when it is asked again, and the last attempt was given up.
    auto mine = open(settings);
    for (int i = 0; i < 3; ++i)
        expect_rejection(mine, settings, errc::unreachable, "no answer within 500ms");
}

TEST(RedisRejection, ARedisThatIsTooOldIsUnsupported) {
    const std::string info = "redis_version:4.0.14\r\nrun_id:abc";
    canned_server server{{"-ERR unknown command `HELLO`\r\n",
                          "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n*0\r\n"}};
    expect_rejection(on_port(server.port()), errc::unsupported, "too old");
}

// ---- Servers that cannot write

TEST(RedisRejection, AReadOnlyReplicaIsUnreachable) {
    redis_server primary;
    redis_options following;
    following.primary = primary.port();
    redis_server replica{following};
    expect_rejection(impatient(replica.port()), errc::unreachable, "READONLY");
}

// Goal: by the name of a primary that was demoted its successor is found. Method: the server
// becomes a replica under a client that has a connection, which asks for another one with its next
// claim.
TEST(RedisRejection, AConnectionToADemotedPrimaryIsGivenUp) {
    redis_server primary, demoted;
    auto mine = open(impatient(demoted.port(), 5s));
    mine.granted(fresh_claim("before"));
    demoted.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    const auto connections = [&] {
        const auto told = demoted.ask({"INFO", "stats"});
        const std::string_view field = "total_connections_received:";
        return std::stoi(told.substr(told.find(field) + field.size()));
    };
    conformance::expect_failure(mine.acquire(fresh_claim("during")), errc::unreachable, "READONLY");
    const int before = connections();
    conformance::expect_failure(mine.acquire(fresh_claim("during")), errc::unreachable, "READONLY");
    // One of them asks how many there were; a dial that fails is tried again.
    EXPECT_GE(connections() - before, 2);
    demoted.ask({"REPLICAOF", "NO", "ONE"});
    mine.granted(fresh_claim("after"));
}

// Goal: what was asked before the connection is given up gets its own answer. Method: ten claims
// have been rejected before the first of them hears it.
TEST(RedisRejection, ADemotedPrimaryIsHeardOutBeforeItIsGivenUp) {
    redis_server primary, demoted;
    tcp_proxy proxy{demoted.port()};
    auto settings = on_port(proxy.port());
    settings.common.timeout = 10s;
    auto mine = open(settings);
    demoted.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    conformance::until([&] {
        return demoted.ask({"INFO", "replication"}).find("master_link_status:up") !=
               std::string::npos;
    });
    conformance::expect_failure(mine.acquire(fresh_claim("key")), errc::unreachable, "READONLY");
    // A connection stands again, and the server knows the script.
    EXPECT_TRUE(mine.inspect("key").has_value());
    demoted.ask({"CONFIG", "RESETSTAT"});
    proxy.stall(direction::to_client);
    std::vector<std::future<result<acquire_result<grant>>>> all;
    for (int i = 0; i < 10; ++i)
        all.push_back(
            std::async(std::launch::async, [&] { return mine.acquire(fresh_claim("key")); }));
    conformance::until([&] {
        return demoted.ask({"INFO", "errorstats"}).find("READONLY:count=10") != std::string::npos;
    });
    proxy.resume(direction::to_client);
    for (auto& one : all) {
        const auto got = one.get();
        conformance::expect_failure(got, errc::unreachable, "READONLY");
        EXPECT_FALSE(is_outage(conformance::failure_of(got)));
    }
}

std::string one_node_for_all(std::uint16_t port) {
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(port) + "\r\n";
}

// Goal: in a cluster, too, a node that cannot write is no outage that a job could run through.
// Method: the map names a node that says so.
TEST(RedisRejection, ANodeOfAClusterThatCannotWriteIsNoOutage) {
    canned_server node{{"*0\r\n", "-READONLY You can't write against a read only replica.\r\n"}};
    canned_server seed{{"*0\r\n", one_node_for_all(node.port())}};
    redis_settings settings;
    settings.shape = topology::cluster;
    settings.seeds = {{"127.0.0.1", seed.port()}};
    settings.common.timeout = 1s;
    auto mine = open(settings);
    // Two questions that arrive at once are answered once, and the claim may be one of them.
    failure why{errc::outcome_unknown, {}};
    conformance::until([&] {
        why = conformance::failure_of(mine.acquire(fresh_claim("key")));
        return why.code == errc::unreachable && why.detail.find("READONLY") != std::string::npos;
    });
    EXPECT_FALSE(is_outage(why)) << why.detail;
}

// Goal: a full Redis rejects, and no half-made lease stays behind.
TEST(RedisRejection, AFullRedisGrantsNothingAndLeavesNoLease) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    mine.granted(fresh_claim("before"));
    server.ask({"CONFIG", "SET", "maxmemory", "1"});
    expect_rejection(impatient(server.port()), errc::unreachable, "OOM");
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_FALSE(mine.inspect("key")->has_value());
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), 0u);
}

// Goal: what passes by itself may be tried again, and is no outage that a job could run through.
// Method: a master whose replicas are missing, as in the middle of a failover.
TEST(RedisRejection, AMasterWithoutItsReplicasGrantsNothingForNow) {
    redis_server server;
    auto mine = open(impatient(server.port(), 5s));
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    const auto got = mine.acquire(fresh_claim("key"));
    conformance::expect_failure(got, errc::unreachable, "NOREPLICAS");
    EXPECT_FALSE(is_outage(got.error()));
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), 0u);
}

// Goal: what a quarantine promises is promised by no server that throws records away one by one.
// Method: the same server with and without a limit, a policy and a quarantine.
TEST(RedisRejection, UnderQuarantineAServerThatMayDropKeysIsUnsupported) {
    redis_server server;
    auto settings = on_port(server.port());
    server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
    server.ask({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
    settings.common.quarantine = 30s;
    expect_rejection(settings, errc::unsupported, "maxmemory-policy volatile-lru");
    server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    EXPECT_TRUE(open(settings).acquire(fresh_claim("kept")).has_value());
    server.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"});
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(open(settings).acquire(fresh_claim("unbounded")).has_value());
}

// ---- Other ways in

TEST(RedisRejection, AUnixSocketWorksAndABadPathIsUnreachable) {
    redis_options options;
    options.unix_socket = true;
    redis_server server{options};
    redis_settings settings;
    settings.common.timeout = 10s;
    settings.unix_path = server.unix_path();
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
    settings.common.timeout = 200ms;
    settings.unix_path += ".missing";
    expect_rejection(settings, errc::unreachable, ".missing: No such file");
    settings.unix_path = "/" + std::string(200, 'x');
    expect_rejection(settings, errc::unsupported, "107 bytes");
}

struct over_tls {
    using server = redis_server;
    using options = redis_options;
    using settings = redis_settings;

    static settings on_port(std::uint16_t port) { return redis::on_port(port); }
    static std::uint16_t tls_port(const server& one) { return one.tls_port(); }
    static std::string& host_of(settings& to) { return to.host; }
    static client open(const settings& to) { return redis::open(to); }
    static void expect_rejection(const settings& to, errc code, const std::string& words) {
        redis::expect_rejection(to, code, words);
    }
};

}  // namespace
}  // namespace pawl::redis

namespace pawl::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(redis, TlsLaws, redis::over_tls);

}  // namespace
}  // namespace pawl::conformance

namespace pawl::redis {
namespace {

class RedisOverTls : public conformance::TlsLaws<over_tls> {};

TEST_F(RedisOverTls, ManyCallersAtOnceAreServed) {
    auto mine = open(settings());
    conformance::expect_callers_served(mine, 4);
}

TEST_F(RedisOverTls, APlainPortDoesNotSpeakTls) {
    canned_server talkative{{"HTTP/1.1 400 Bad Request\r\n\r\n"}};
    expect_rejection(settings(talkative.port()), errc::protocol, "does not speak TLS");
    // A plain Redis waits for the end of what it takes for a line.
    auto to = settings(server().port());
    to.common.timeout = 1s;
    expect_rejection(to, errc::unreachable, "redis://");
}

TEST_F(RedisOverTls, ATlsPortAskedPlainlyIsHinted) {
    expect_rejection(impatient(server().tls_port()), errc::unreachable, "rediss://");
}

}  // namespace
}  // namespace pawl::redis
