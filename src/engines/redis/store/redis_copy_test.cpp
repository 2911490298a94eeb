// Whose data a Redis has after its start: its own, or a copy of another's that may lag behind it.
// What every store must do under a quarantine is in test_support/conformance.
#include "engines/redis/store/redis_failover_fixture.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace pawl::redis {
namespace {

using testing_servers::redis_options;
using testing_servers::redis_persistence;

redis_options synced() {
    redis_options options;
    options.persistence = redis_persistence::append_synced;
    return options;
}

redis_settings careful(const redis_server& server) {
    redis_settings settings;
    settings.port = server.port();
    settings.common.quarantine = 20s;
    return settings;
}

claim short_claim(const std::string& key) { return fresh_claim(key, 15s); }

fence_token grant_on(const redis_server& server, const std::string& key) {
    return open_client(careful(server)).granted(short_claim(key));
}

// Though it has a marker, which speaks of long ago.
void expect_quarantined(const redis_server& server) {
    EXPECT_EQ(server.ask({"EXISTS", "pawl:marker"}), "1");
    auto mine = open_client(careful(server));
    EXPECT_EQ(mine.rejected(short_claim("key")).reason, busy_reason::quarantined);
}

// As if this life of the server had begun years ago.
void let_its_life_be_old(const redis_server& server) {
    auto marker = server.ask({"GET", "pawl:marker"});
    marker.erase(marker.rfind(' ') + 1);
    marker.replace(0, marker.find(' '), "0");
    server.ask({"SET", "pawl:marker", marker + "1"});
}

// As if the server had served this namespace for years: its data has been whole since long ago.
void let_it_be_old(const redis_server& server) {
    static_cast<void>(open_client(careful(server)).rejected(short_claim("first")));
    let_its_life_be_old(server);
}

void follow(const redis_server& replica, const redis_server& primary) {
    replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    until([&] {
        const auto info = replica.ask({"INFO", "replication"});
        return info.find("master_link_status:up") != std::string::npos;
    });
    // What it has copied is in its AOF.
    until([&] {
        const auto info = replica.ask({"INFO", "persistence"});
        return info.find("aof_rewrite_in_progress:0") != std::string::npos &&
               info.find("aof_rewrite_scheduled:0") != std::string::npos;
    });
}

void until_caught_up(const redis_server& replica, const redis_server& primary) {
    until([&] {
        return replica.ask({"GET", "pawl:history"}) == primary.ask({"GET", "pawl:history"}) &&
               replica.ask({"EXISTS", "pawl:lock:met"}) == "1";
    });
}

std::filesystem::path data_of(const redis_server& server) {
    return std::filesystem::path{server.unix_path()}.parent_path() / "appendonlydir";
}

TEST(RedisCopy, ARestartWithEveryWriteSyncedIsNotQuarantined) {
    redis_server server{synced()};
    let_it_be_old(server);
    const auto before = grant_on(server, "key");
    server.restart();
    EXPECT_GT(grant_on(server, "other"), before);
    server.crash();
    server.start();
    EXPECT_GT(grant_on(server, "another"), before);
}

// Goal: a replica's copy of the marker does not vouch for its copy of the leases. Method: it is
// frozen while a lease is granted, and is started as the master; no claim has met it before.
TEST(RedisCopy, ALaggingReplicaThatIsStartedAsTheMasterIsQuarantined) {
    redis_server first{synced()}, second{synced()};
    let_it_be_old(first);
    follow(second, first);
    second.freeze();
    grant_on(first, "key");
    first.crash();
    second.crash();
    second.start();
    EXPECT_NE(second.ask({"INFO", "replication"}).find("second_repl_offset:-1"), std::string::npos);
    EXPECT_EQ(second.ask({"EXISTS", "pawl:lock:key"}), "0");
    expect_quarantined(second);
}

// Goal: the same where nothing tells the two servers apart, as on two machines that were set up
// alike. Method: the replica's files are put in the place of the master's.
TEST(RedisCopy, ALaggingCopyInTheSamePlaceIsQuarantined) {
    redis_server first{synced()}, second{synced()};
    let_it_be_old(first);
    follow(second, first);
    grant_on(first, "met");
    until_caught_up(second, first);
    second.freeze();
    grant_on(first, "key");
    first.crash();
    second.crash();
    std::filesystem::remove_all(data_of(first));
    std::filesystem::rename(data_of(second), data_of(first));
    first.start();
    EXPECT_EQ(first.ask({"EXISTS", "pawl:lock:key"}), "0");
    expect_quarantined(first);
}

// A replica that was attached between two claims, and is gone again, has a copy.
TEST(RedisCopy, AReplicaThatWasThereForAWhileIsRemembered) {
    redis_server first{synced()}, second{synced()};
    let_it_be_old(first);
    follow(second, first);
    second.ask({"REPLICAOF", "NO", "ONE"});
    until([&] {
        return first.ask({"INFO", "replication"}).find("connected_slaves:0") != std::string::npos;
    });
    grant_on(first, "met");
    first.restart();
    expect_quarantined(first);
}

TEST(RedisCopy, APromotedReplicaThatRestartsBeforeItsFirstClaimIsQuarantined) {
    redis_server first{synced()}, second{synced()};
    let_it_be_old(first);
    follow(second, first);
    grant_on(first, "met");
    until_caught_up(second, first);
    first.crash();
    second.ask({"REPLICAOF", "NO", "ONE"});
    second.restart();
    expect_quarantined(second);
}

// Goal: `always` speaks of what is written from now on. Method: the life before it synced lazily.
TEST(RedisCopy, ALifeThatFollowsALazyOneIsQuarantined) {
    redis_server server{synced()};
    server.ask({"CONFIG", "SET", "appendfsync", "everysec"});
    let_it_be_old(server);
    grant_on(server, "key");
    server.restart();
    expect_quarantined(server);
}

// Goal: what has become lazy in the middle of its life vouches for nothing of it. Method: the last
// word is that of a client which dialled before, and does not know.
TEST(RedisCopy, ALifeThatBecameLazyIsQuarantined) {
    redis_server server{synced()};
    let_it_be_old(server);
    auto early = open_client(careful(server));
    early.granted(short_claim("early"));
    server.ask({"CONFIG", "SET", "appendfsync", "everysec"});
    grant_on(server, "other");
    early.granted(short_claim("late"));
    server.restart();
    expect_quarantined(server);
}

// Goal: nothing is granted that a restart from the file of before would not know. Method: appending
// is stopped under one client, another one comes, and it is begun again.
TEST(RedisCopy, WhileNothingIsAppendedNothingIsGranted) {
    redis_server server{synced()};
    let_it_be_old(server);
    auto early = open_client(careful(server));
    const auto token = early.granted(short_claim("early"));
    EXPECT_TRUE(early.fence("resource", token, fence_rule::reject_older)->accepted);
    server.ask({"CONFIG", "SET", "appendonly", "no"});
    EXPECT_EQ(early.rejected(short_claim("key")).reason, busy_reason::quarantined);
    EXPECT_FALSE(early.fence("resource", token, fence_rule::reject_older)->accepted);
    auto late = open_client(careful(server));
    EXPECT_EQ(late.rejected(short_claim("key")).reason, busy_reason::quarantined);
    server.ask({"CONFIG", "SET", "appendonly", "yes"});
    early.granted(short_claim("key"));
    server.restart();
    grant_on(server, "another");
}

// Goal: nor where that begins before the first claim of a life, under a client that dialled before
// or after it: the file of before still says that all was synced. Method: the server restarts, and
// stops to append before any claim.
TEST(RedisCopy, ALifeThatAppendsNothingFromItsBeginningGrantsNothing) {
    redis_server server{synced()};
    let_it_be_old(server);
    grant_on(server, "key");
    server.restart();
    auto early = open_client(careful(server));
    EXPECT_TRUE(early.inspect("key").has_value());
    server.ask({"CONFIG", "SET", "appendonly", "no"});
    EXPECT_EQ(early.rejected(short_claim("early")).reason, busy_reason::quarantined);
    auto late = open_client(careful(server));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(late.rejected(short_claim("late")).reason, busy_reason::quarantined);
        // However long it waits.
        let_its_life_be_old(server);
    }
}

// Goal: a client that may not read the configuration knows less than others, and unlearns nothing.
// Method: it claims last before a restart.
TEST(RedisCopy, AClientWithoutTheConfigurationForgetsNothingForOthers) {
    auto options = synced();
    options.users = {"plain on >s3cret ~pawl:* &* +@all -config"};
    redis_server server{options};
    let_it_be_old(server);
    grant_on(server, "key");
    auto settings = careful(server);
    settings.user = "plain";
    settings.password = "s3cret";
    open_client(settings).granted(short_claim("other"));
    server.restart();
    grant_on(server, "another");
}

}  // namespace
}  // namespace pawl::redis
