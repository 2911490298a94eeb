// A Redis Cluster: where keys are, what moves, and what a node's death does.
#include "test_support/servers/redis_cluster.hpp"
#include "engines/redis/client/cluster_map.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/store/index_fixture.hpp"
#include "engines/redis/store/redis_failover_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include <future>
#include <iostream>

namespace pawl::redis {
namespace {

using testing_servers::redis_cluster;

redis_settings nodes_of(redis_cluster& cluster) {
    redis_settings settings;
    settings.shape = topology::cluster;
    settings.common.timeout = 20s;
    for (std::size_t i = 0; i < cluster.size(); ++i)
        settings.seeds.push_back({"127.0.0.1", cluster.node(i).port()});
    return settings;
}

std::string name_of_lock(const std::string& key) {
    return "pawl{" + shard_tag(shard_of_key(key)) + "}:lock:" + key;
}
std::size_t slot_of_lock(const std::string& key) { return shard_slot(shard_of_key(key)); }

// A key of the shard that `like` is in.
std::string neighbour_of(const std::string& like) {
    for (int i = 0;; ++i) {
        auto key = like + "/" + std::to_string(i);
        if (shard_of_key(key) == shard_of_key(like)) return key;
    }
}

// How often the nodes answered so, such as MOVED.
long errors_named(redis_cluster& cluster, const std::string& name) {
    long all = 0;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        const auto stats = cluster.node(i).ask({"INFO", "errorstats"});
        const auto what = "errorstat_" + name + ":count=";
        if (const auto at = stats.find(what); at != std::string::npos)
            all += std::stol(stats.substr(at + what.size()));
    }
    return all;
}

long clients_of(redis_cluster& cluster) {
    long all = 0;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        const auto told = cluster.node(i).ask({"INFO", "clients"});
        all += std::stol(told.substr(told.find("connected_clients:") + 18));
    }
    return all;
}

class ClusterAtRest : public ::testing::Test {
protected:
    // No node is given up, however long the machine lets it stand still.
    static void SetUpTestSuite() {
        cluster_ = std::make_unique<redis_cluster>(
            testing_servers::redis_cluster_options{.node_timeout = 15s});
    }
    static void TearDownTestSuite() { cluster_.reset(); }
    void SetUp() override {
        for (std::size_t i = 0; i < cluster().size(); ++i) cluster().node(i).ask({"FLUSHALL"});
    }

    static redis_cluster& cluster() { return *cluster_; }

private:
    static inline std::unique_ptr<redis_cluster> cluster_;
};

// ---- Layout

// The layout is documented: people read it with redis-cli when all else fails.
TEST_F(ClusterAtRest, AShardIsLaidOutAsANamespaceOfItsOwn) {
    auto mine = open_client(nodes_of(cluster()));
    for (const std::string key : {"plain", "{a}{b}", "}{", "job/{x", "a:lock:b"}) {
        const auto token = mine.granted(claim{key, "my-id", "me", 30s});
        auto& node = cluster().node(cluster().owner_of(slot_of_lock(key)));
        EXPECT_TRUE(
            node.ask({"GET", name_of_lock(key)}).starts_with("1 " + std::to_string(number(token))))
            << key;
        EXPECT_EQ(node.ask({"CLUSTER", "KEYSLOT", name_of_lock(key)}),
                  std::to_string(slot_of_lock(key)));
        const auto index = "pawl{" + shard_tag(shard_of_key(key)) + "}:locks";
        EXPECT_NE(("\n" + node.ask({"ZRANGE", index, "0", "-1"}) + "\n").find("\n" + key + "\n"),
                  std::string::npos);
    }
    EXPECT_EQ(mine.all("", 2).size(), 5u);
}

// Goal: nothing grows with use. Method: ten thousand rounds on a hundred keys.
TEST_F(ClusterAtRest, TenThousandRoundsLeaveNothingBehind) {
    auto mine = open_client(nodes_of(cluster()));
    const auto round = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
            const auto key = "key/" + std::to_string(i % 100);
            EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
        }
    };
    const auto names = [&] {
        long all = 0;
        for (std::size_t i = 0; i < cluster().size(); ++i)
            all += std::stol(cluster().node(i).ask({"DBSIZE"}));
        return all;
    };
    round(0, 200);
    const auto keys_before = names(), clients_before = clients_of(cluster());
    round(0, 10'000);
    EXPECT_EQ(names(), keys_before);
    EXPECT_EQ(clients_of(cluster()), clients_before);
}

// Goal: keys that died in one shard neither hide nor hold up those of the others. Method: two
// shards have thousands of them.
TEST_F(ClusterAtRest, DeadKeysOfAShardAreDroppedBesideTheOthers) {
    auto mine = open_client(nodes_of(cluster()));
    for (int i = 0; i < 50; ++i) mine.granted(fresh_claim("key/" + std::to_string(i), 60s));
    for (const std::size_t shard : {3u, 200u})
        add_dead_names(cluster().node(cluster().owner_of(shard_slot(shard))),
                       "pawl{" + shard_tag(shard) + "}:locks", 3'000);
    EXPECT_EQ(mine.all("", 7).size(), 50u);
    long names = 0;
    for (std::size_t shard = 0; shard < cluster_shards; ++shard)
        names += std::stol(cluster()
                               .node(cluster().owner_of(shard_slot(shard)))
                               .ask({"ZCARD", "pawl{" + shard_tag(shard) + "}:locks"}));
    EXPECT_EQ(names, 50);
}

// Goal: keys that are used once leave nothing behind. Method: other keys of their shard are
// granted.
TEST_F(ClusterAtRest, GrantsSweepTheirShard) {
    auto mine = open_client(nodes_of(cluster()));
    const auto shard = shard_of_key("key");
    const auto& node = cluster().node(cluster().owner_of(shard_slot(shard)));
    const auto index = "pawl{" + shard_tag(shard) + "}:locks";
    add_dead_names(node, index, 1'000);
    for (int i = 0; i < 1'000; ++i)
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    until([&] { return node.ask({"ZRANGE", index, "0", "-1"}) == "key"; });
}

TEST_F(ClusterAtRest, TenThousandLeasesAreRenewedInOneBatch) {
    auto mine = open_client(nodes_of(cluster()));
    std::vector<held_lease> leases;
    for (int i = 0; i < 10'000; ++i) {
        const auto key = "many/" + std::to_string(i);
        leases.push_back(lease_of(key, mine.granted(fresh_claim(key, 60s)), 60s));
    }
    EXPECT_TRUE(*mine.release(leases[77].key, leases[77].token));
    const auto answers = mine.renew(leases);
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    for (std::size_t i = 0; i < leases.size(); ++i)
        EXPECT_EQ((*answers)[i], i == 77 ? renewal::lost : renewal::renewed) << i;
}

// Goal: a node that does not answer makes its own leases unknown, and no others. Method: one is
// frozen for less than the time after which the others would give it up.
TEST_F(ClusterAtRest, AFrozenNodeMakesItsOwnLeasesUnknown) {
    auto settings = nodes_of(cluster());
    auto patient = open_client(settings);
    settings.common.timeout = 500ms;
    auto mine = open_client(settings);
    const auto frozen = cluster().owner_of(slot_of_lock("key/0"));
    std::vector<held_lease> leases;
    std::vector<bool> there;
    for (int i = 0; i < 30; ++i) {
        const auto key = "key/" + std::to_string(i);
        leases.push_back(lease_of(key, patient.granted(fresh_claim(key, 60s)), 60s));
        there.push_back(cluster().owner_of(slot_of_lock(key)) == frozen);
    }
    // A busy machine may make another node late as well, but not each time.
    bool others_are_known = false;
    for (int turn = 0; turn < 5 && !others_are_known; ++turn) {
        // Its connections are made.
        until([&] {
            const auto all = mine.renew(leases);
            return all.has_value() && std::ranges::count(*all, renewal::renewed) == 30;
        });
        cluster().node(frozen).freeze();
        const auto answers = mine.renew(leases);
        cluster().node(frozen).thaw();
        ASSERT_TRUE(answers.has_value()) << answers.error().detail;
        others_are_known = true;
        for (std::size_t i = 0; i < leases.size(); ++i) {
            if (!there[i] && (*answers)[i] == renewal::renewed) continue;
            EXPECT_EQ((*answers)[i], renewal::unknown) << i;
            if (!there[i]) others_are_known = false;
        }
        EXPECT_EQ(patient.renew(leases.front()), renewal::renewed);
    }
    EXPECT_TRUE(others_are_known);
}

boost::asio::awaitable<result<reply>> ping(std::shared_ptr<pipeline> link, millis later = {}) {
    auto waiting = net::sleep_for(later);
    co_await std::move(waiting);
    std::string command;
    command_writer{command, 1}.add("PING");
    co_return co_await link->ask(command, 1, instant::max());
}

// Goal: to read the map asks nodes for a share of the timeout each, and that ends no request of
// theirs which has time left. Method: one is asked behind the map's question, of a node that is
// frozen until the map has been given up.
TEST_F(ClusterAtRest, AMapThatIsGivenUpLeavesOtherRequestsAlone) {
    net::loop loop;
    auto settings = std::make_shared<redis_settings>(nodes_of(cluster()));
    settings->common.timeout = 6s;
    settings->seeds.resize(1);
    const auto map = cluster_map::make(loop, settings);
    std::shared_ptr<pipeline> link;
    std::promise<result<reply>> answered;
    auto connecting = [&]() -> boost::asio::awaitable<void> {
        link = map->node(settings->seeds.front())->link;
        auto asking = ping(link);
        EXPECT_TRUE((co_await std::move(asking)).has_value());
    };
    loop.wait_for(connecting());
    auto& node = cluster().node(0);
    node.freeze();
    boost::asio::post(loop.get_executor(), [&] { map->refresh_soon(); });
    boost::asio::co_spawn(
        loop.get_executor(), ping(link, 200ms),
        [&](std::exception_ptr, result<reply> said) { answered.set_value(std::move(said)); });
    auto reading = [&]() -> boost::asio::awaitable<bool> {
        auto work = map->refresh(instant::max());
        co_return (co_await std::move(work)).has_error();
    };
    EXPECT_TRUE(loop.wait_for(reading()));
    node.thaw();
    const auto said = answered.get_future().get();
    EXPECT_TRUE(said.has_value()) << said.error().detail;
    map->close_from_anywhere();
}

// ---- Rejections

void expect_rejection(const redis_settings& settings, errc code, const std::string& words) {
    auto mine = open_client(settings);
    conformance::expect_failure(mine.acquire(fresh_claim("key")), code, words);
}

TEST_F(ClusterAtRest, WhatIsNoClusterIsUnsupportedAndTheOtherWayRound) {
    redis_server alone;
    auto settings = nodes_of(cluster());
    settings.seeds = {{"127.0.0.1", alone.port()}};
    expect_rejection(settings, errc::unsupported, "is not a node of a cluster");
    redis_settings single;
    // A node that does not serve the key, or it would not object.
    const auto owner = cluster().owner_of(crc16("pawl:lock:key") % cluster_slots);
    single.port = cluster().node((owner + 1) % 3).port();
    expect_rejection(single, errc::unsupported, "redis+cluster://");
}

TEST_F(ClusterAtRest, NoServerIsUnreachableWithinTheTimeout) {
    auto settings = nodes_of(cluster());
    settings.common.timeout = 300ms;
    settings.seeds = {{"127.0.0.1", testing_servers::free_port()}};
    EXPECT_TRUE(conformance::takes_less(
        2s, [&] { expect_rejection(settings, errc::unreachable, "refused"); }));
    // One that is there is enough.
    settings.common.timeout = 10s;
    settings.seeds.push_back({"127.0.0.1", cluster().node(1).port()});
    EXPECT_GT(number(open_client(settings).granted(fresh_claim("key"))), 0u);
}

// The user of docs/stores/redis.md, as a cluster needs it.
TEST_F(ClusterAtRest, TheDocumentedUserMayDoEverything) {
    for (std::size_t i = 0; i < cluster().size(); ++i)
        cluster().node(i).ask({"ACL",
                               "SETUSER",
                               "locker",
                               "on",
                               ">s3cret",
                               "resetkeys",
                               "~pawl{*}:*",
                               "resetchannels",
                               "&pawl{*}:changed:*",
                               "-@all",
                               "+hello",
                               "+eval",
                               "+evalsha",
                               "+time",
                               "+get",
                               "+mget",
                               "+set",
                               "+setrange",
                               "+zadd",
                               "+zrangebylex",
                               "+zrem",
                               "+publish",
                               "+subscribe",
                               "+unsubscribe",
                               "+pubsub|numsub",
                               "+info",
                               "+config|get",
                               "+cluster|slots",
                               "+cluster|info",
                               "+asking",
                               "+wait",
                               "+role",
                               "+ping",
                               "+acl|whoami"});
    auto settings = nodes_of(cluster());
    settings.user = "locker";
    settings.password = "s3cret";
    auto mine = open_client(settings);
    const auto token = mine.granted(fresh_claim("key", 30s));
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::renewed);
    auto woke = mine.start_waiting("key", token, 10s);
    mine.until_waiters("key", 1);
    EXPECT_TRUE(*mine.force_release("key", token, 0ms));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_EQ(mine.all("", 10).size(), 1u);
    EXPECT_TRUE(mine.fence("resource", token, fence_rule::reject_older)->accepted);
    settings.password = "wrong-password";
    expect_rejection(settings, errc::denied, "WRONGPASS");
}

TEST_F(ClusterAtRest, TheDoctorSeesEveryMaster) {
    net::loop loop;
    auto store = make_redis_store(loop, nodes_of(cluster()));
    const auto seen = loop.wait_for(store->examine());
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_TRUE(seen->version.starts_with("Redis 7"));
    int whole = 0, clocks = 0;
    for (const auto& one : seen->findings) {
        if (one.check == "quorum" && one.level == severity::ok) ++whole;
        if (one.check == "clock") ++clocks;
    }
    EXPECT_EQ(whole, 3);
    EXPECT_EQ(clocks, 1);
}

// A cluster of one node, which tells where it is in its own TLS.
TEST(ClusterOverTls, EveryNodeIsVerified) {
    const auto keys = std::make_shared<const testing_servers::certificates>();
    testing_servers::redis_options options;
    options.tls = keys;
    options.more = {"cluster-enabled yes", "cluster-announce-ip 127.0.0.1", "tls-cluster yes",
                    "cluster-port " + std::to_string(testing_servers::free_port())};
    redis_server node{options};
    node.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    redis_settings settings;
    settings.shape = topology::cluster;
    settings.seeds = {{"127.0.0.1", node.tls_port()}};
    settings.common.timeout = 5s;
    settings.tls = net::tls_settings{keys->ca(), {}, {}, {}};
    {
        net::loop loop;
        auto store = make_redis_store(loop, settings);
        EXPECT_TRUE(loop.wait_for(store->acquire(fresh_claim("key"))).has_value());
        const auto seen = loop.wait_for(store->examine());
        ASSERT_TRUE(seen.has_value());
        EXPECT_TRUE(std::any_of(seen->findings.begin(), seen->findings.end(),
                                [](const finding& one) { return one.check == "tls"; }));
    }
    settings.tls->ca = keys->other_ca();
    expect_rejection(settings, errc::denied, "certificate is rejected");
}

// ---- Slots that move

// Goal: MOVED is followed, once. Method: the slot has gone elsewhere behind the client's back.
TEST_F(ClusterAtRest, AMovedSlotIsFollowedOnce) {
    auto mine = open_client(nodes_of(cluster()));
    const auto slot = slot_of_lock("key");
    const auto token = mine.granted(fresh_claim("key", 60s));
    const auto from = cluster().owner_of(slot), to = (from + 1) % 3;
    cluster().move_slot(slot, from, to, [] {});
    const auto before = errors_named(cluster(), "MOVED");
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::renewed);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_GT(mine.granted(fresh_claim("key")), token);
    EXPECT_EQ(errors_named(cluster(), "MOVED"), before + 1);
    cluster().move_slot(slot, to, from, [] {});
}

// Goal: while a slot is half moved, each key is found where it is. Method: one key of the slot has
// been moved, one has not, and a third is new.
TEST_F(ClusterAtRest, AHalfMovedSlotIsServedKeyByKey) {
    auto mine = open_client(nodes_of(cluster()));
    auto settings = nodes_of(cluster());
    settings.common.timeout = 300ms;
    auto hasty = open_client(settings);
    const std::string gone = "gone", stays = neighbour_of(gone), fresh = neighbour_of(stays);
    const auto slot = slot_of_lock(gone);
    const auto gone_token = mine.granted(fresh_claim(gone, 60s));
    const auto stays_token = mine.granted(fresh_claim(stays, 60s));
    const auto from = cluster().owner_of(slot), to = (from + 1) % 3;
    cluster().begin_move(slot, from, to);
    cluster().node(from).ask({"MIGRATE", "127.0.0.1", std::to_string(cluster().node(to).port()),
                              name_of_lock(gone), "0", "5000"});
    const auto asks = errors_named(cluster(), "ASK");
    EXPECT_EQ(mine.rejected(fresh_claim(gone)).holder, gone_token);
    EXPECT_EQ(mine.rejected(fresh_claim(stays)).holder, stays_token);
    const auto both = mine.renew({lease_of(gone, gone_token), lease_of(stays, stays_token)});
    ASSERT_TRUE(both.has_value()) << both.error().detail;
    EXPECT_EQ(*both, (std::vector<renewal>{renewal::renewed, renewal::renewed}));
    EXPECT_TRUE(*mine.release(gone, gone_token));
    const auto next = mine.granted(fresh_claim(gone, 60s));
    EXPECT_GT(next, gone_token);
    EXPECT_GT(errors_named(cluster(), "ASK"), asks);
    // A key that is not listed yet needs its index, which is on one side only.
    const auto rejected = hasty.acquire(fresh_claim(fresh));
    ASSERT_TRUE(rejected.has_error());
    // Of the last attempt, which the deadline may meet on its way, it is unknown what became.
    EXPECT_THAT(name_of(rejected.error().code), testing::AnyOf("unreachable", "outcome_unknown"))
        << rejected.error().detail;
    cluster().finish_move(slot, from, to);
    EXPECT_GT(number(mine.granted(fresh_claim(fresh))), 0u);
    EXPECT_EQ(mine.rejected(fresh_claim(gone)).holder, next);
    EXPECT_EQ(mine.all("", 100).size(), 3u);
    cluster().move_slot(slot, to, from, [] {});
}

// Goal: waiters of a slot that moves are woken from its new node.
TEST_F(ClusterAtRest, AWaiterIsWokenThoughItsSlotHasMoved) {
    auto mine = open_client(nodes_of(cluster()));
    auto waiter = open_client(nodes_of(cluster()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = waiter.start_waiting("key", token, 10s);
    waiter.until_waiters("key", 1);
    const auto slot = slot_of_lock("key");
    const auto from = cluster().owner_of(slot), to = (from + 1) % 3;
    cluster().move_slot(slot, from, to, [] {});
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
    cluster().move_slot(slot, to, from, [] {});
}

// Goal: resharding under load loses nothing. Method: the slots of two keys go to and fro while four
// clients fight for them.
TEST_F(ClusterAtRest, SlotsMoveUnderLoad) {
    failover_load load{nodes_of(cluster()), {"a", "b"}, 500ms, 4};
    until([&] { return load.grants() > 50; });
    const auto moved = errors_named(cluster(), "MOVED"), asked = errors_named(cluster(), "ASK");
    for (int round = 0; round < 20; ++round)
        for (const auto* key : {"a", "b"}) {
            const auto slot = slot_of_lock(key);
            const auto from = cluster().owner_of(slot), to = (from + 1) % 3;
            const auto before = load.grants();
            cluster().move_slot(slot, from, to,
                                [&] { until([&] { return load.grants() > before + 5; }); });
        }
    load.first_after(lease_clock::now());
    load.stop();
    load.judge();
    EXPECT_GT(errors_named(cluster(), "MOVED"), moved);
    EXPECT_GT(errors_named(cluster(), "ASK"), asked);
    EXPECT_EQ(load.failures(), "");
    std::cout << "40 slots moved under load: " << load.grants() << " grants, "
              << errors_named(cluster(), "MOVED") - moved << " MOVED, "
              << errors_named(cluster(), "ASK") - asked << " ASK\n";
}

// ---- A node that dies

// Goal: the keys of a dead master are granted again by its replica, those of the others all the
// time, and no two holders trust one key.
TEST(ClusterFailover, ADeadMasterIsReplacedByItsReplica) {
    redis_cluster cluster{{.with_replicas = true}};
    auto settings = nodes_of(cluster);
    settings.common.quarantine = 500ms;
    settings.common.timeout = 1s;
    const std::string lost_key = "a";
    const auto dead = cluster.owner_of(slot_of_lock(lost_key));
    std::string other_key = "b";
    while (cluster.owner_of(slot_of_lock(other_key)) == dead) other_key += "b";
    failover_load lost{settings, {lost_key}, 300ms, 3};
    failover_load safe{settings, {other_key}, 300ms, 2};
    until([&] { return lost.grants() > 20 && safe.grants() > 20; });
    const auto killed = lease_clock::now();
    cluster.node(dead).crash();
    safe.first_after(killed + 500ms);
    const auto granted = lost.first_after(killed + 500ms);
    lost.stop();
    safe.stop();
    lost.judge();
    safe.judge();
    std::cout << "a master of the cluster killed: granting again after "
              << std::chrono::duration_cast<millis>(granted - killed).count()
              << " ms (node timeout 1 s, quarantine 500 ms); failures there: " << lost.failures()
              << "; elsewhere: " << safe.failures() << "\n";
}

}  // namespace
}  // namespace pawl::redis
