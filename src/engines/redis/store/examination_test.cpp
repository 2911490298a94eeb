#include "engines/redis/store/examination.hpp"

#include "engines/redis/client/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::redis {
namespace {

server_facts healthy() {
    server_facts said;
    said.place = "here:6379";
    said.info =
        "# Server\r\nredis_version:7.0.15\r\n# "
        "Clients\r\nconnected_clients:2\r\nmaxclients:1000\r\n"
        "# Memory\r\nused_memory:1000000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
        "# "
        "Persistence\r\nrdb_last_bgsave_status:ok\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"
        "# Replication\r\nrole:master\r\nconnected_slaves:1\r\n"
        "slave0:ip=10.0.0.2,port=6379,state=online,offset=70,lag=0\r\n";
    said.settings = {{"appendfsync", "always"}, {"min-replicas-to-write", "1"}};
    said.user = "locker";
    return said;
}

void replace(std::string& text, const std::string& old, const std::string& by) {
    const auto at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), by);
}

// A Valkey says which Redis it can stand in for as well.
TEST(ServerVersion, ValkeyIsCalledByItsOwnName) {
    EXPECT_EQ(server_version("# Server\r\nredis_version:7.0.15\r\n"), "Redis 7.0.15");
    EXPECT_EQ(server_version("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\n"
                             "valkey_version:9.1.2\r\nrun_id:1\r\n"),
              "Valkey 9.1.2");
    EXPECT_EQ(server_version(""), "");
}

redis_settings careful() {
    redis_settings settings;
    settings.common.quarantine = millis{60'000};
    return settings;
}

// The worst that is said about a check.
severity level_of(const server_facts& said, const redis_settings& settings,
                  const std::string& check) {
    auto worst = severity::ok;
    bool found = false;
    for (const auto& one : judge_server(said, settings)) {
        EXPECT_TRUE(one.text.starts_with("here:6379: ")) << one.text;
        EXPECT_EQ(one.text.find('\n'), std::string::npos) << one.text;
        if (one.check != check) continue;
        found = true;
        worst = std::max(worst, one.level);
    }
    EXPECT_TRUE(found) << check;
    return worst;
}

TEST(Examination, AHealthyServerIsOkThroughout) {
    for (const auto& one : judge_server(healthy(), careful()))
        EXPECT_EQ(one.level, severity::ok) << one.check << ": " << one.text;
}

// What is written while the file is rewritten waits for the system to sync it.
TEST(Examination, AnAlwaysThatARewriteSuspendsIsAWarning) {
    auto said = healthy();
    said.settings["no-appendfsync-on-rewrite"] = "yes";
    EXPECT_EQ(level_of(said, careful(), "persistence"), severity::warn);
    said.settings["no-appendfsync-on-rewrite"] = "no";
    EXPECT_EQ(level_of(said, careful(), "persistence"), severity::ok);
}

// Goal: each fault is seen, and under its own heading. Method: one change to a healthy server each.
TEST(Examination, EveryFaultIsFound) {
    const struct {
        const char* old;
        const char* by;
        const char* check;
        severity level;
    } faults[] = {
        {"aof_enabled:1", "aof_enabled:0", "persistence", severity::warn},
        {"aof_last_write_status:ok", "aof_last_write_status:err", "persistence", severity::fail},
        {"rdb_last_bgsave_status:ok", "rdb_last_bgsave_status:err", "persistence", severity::fail},
        {"policy:noeviction", "policy:allkeys-lru", "eviction", severity::warn},
        {"maxmemory:0", "maxmemory:1000001", "eviction", severity::warn},
        {"role:master", "role:slave", "replication", severity::fail},
        {"lag=0", "lag=60", "replication", severity::warn},
        {"connected_clients:2", "connected_clients:999", "limits", severity::warn},
    };
    for (const auto& fault : faults) {
        auto said = healthy();
        replace(said.info, fault.old, fault.by);
        EXPECT_EQ(level_of(said, careful(), fault.check), fault.level) << fault.by;
    }
    auto lossy = healthy();
    replace(lossy.info, "policy:noeviction", "policy:volatile-ttl");
    replace(lossy.info, "maxmemory:0", "maxmemory:9000000");
    EXPECT_EQ(level_of(lossy, careful(), "eviction"), severity::fail);
}

TEST(Examination, WhatFailsOverNeedsReplicasAndABoundForAMasterThatIsCutOff) {
    auto settings = careful();
    settings.shape = topology::sentinel;
    auto said = healthy();
    EXPECT_EQ(level_of(said, settings, "replication"), severity::ok);
    said.settings["min-replicas-to-write"] = "0";
    EXPECT_EQ(level_of(said, settings, "replication"), severity::warn);
    said = healthy();
    replace(said.info, "connected_slaves:1", "connected_slaves:0");
    EXPECT_EQ(level_of(said, settings, "replication"), severity::warn);
    settings.replicas = 1;
    EXPECT_EQ(level_of(said, settings, "replication"), severity::fail);
}

TEST(Examination, WhatMayNotBeKnownIsAWarningAndWhatIsMissingAFailure) {
    auto blind = healthy();
    blind.info.clear();
    EXPECT_EQ(level_of(blind, careful(), "privileges"), severity::warn);
    auto shut = healthy();
    shut.settings.clear();
    EXPECT_EQ(level_of(shut, careful(), "privileges"), severity::warn);
    auto powerless = healthy();
    powerless.forbidden = {"zadd"};
    EXPECT_EQ(level_of(powerless, careful(), "privileges"), severity::fail);
}

TEST(Examination, WithoutAQuarantineThereIsAWarning) {
    EXPECT_EQ(level_of(healthy(), redis_settings{}, "quarantine"), severity::warn);
    EXPECT_EQ(level_of(healthy(), careful(), "quarantine"), severity::ok);
}

TEST(Examination, AClusterWithoutAllOfItsSlotsFails) {
    auto said = healthy();
    said.cluster = "cluster_state:ok\r\ncluster_slots_ok:16384\r\ncluster_size:3\r\n";
    EXPECT_EQ(level_of(said, careful(), "quorum"), severity::ok);
    replace(said.cluster, "16384", "10923");
    EXPECT_EQ(level_of(said, careful(), "quorum"), severity::fail);
}

TEST(Examination, ClocksThatAreApartAreNamed) {
    std::vector<server_facts> all{healthy(), healthy()};
    all[0].clock = 1'700'000'000'000'000;
    all[1].clock = 1'700'000'000'400'000;
    EXPECT_EQ(check_clocks(all).at(0).level, severity::ok);
    all[1].clock = 1'700'000'009'000'000;
    EXPECT_EQ(check_clocks(all).at(0).level, severity::warn);
}

}  // namespace
}  // namespace pawl::redis
