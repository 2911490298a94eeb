// What a majority is for: nodes that are slow, dead, wiped or cut off, under load, on real servers.
#include "engines/redlock/store/redlock_fixture.hpp"

#include "engines/redlock/store/node.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

namespace pawl::redlock {
namespace {

using conformance::extending;
using conformance::lease_of;
using conformance::wait_end;
using testing_faults::direction;
using testing_faults::tcp_proxy;

std::string record_at(const redlock_servers& servers, std::size_t which, const std::string& key) {
    return servers.at(which).ask({"GET", "pawl:redlock:" + key});
}

// The phase of a record stands at its 71st byte.
bool is_confirmed_at(const redlock_servers& servers, std::size_t which, const std::string& key) {
    const auto text = record_at(servers, which, key);
    return text.size() > 70 && text[70] == 'c';
}

// Three nodes that are reached through a proxy each.
class proxied_nodes {
public:
    explicit proxied_nodes(const redlock_servers& servers) : servers_{servers} {
        for (const auto port : servers.ports())
            proxies_.push_back(std::make_unique<tcp_proxy>(port));
    }

    redlock_settings settings(millis timeout = 10s) const {
        std::vector<std::uint16_t> ports;
        for (const auto& proxy : proxies_) ports.push_back(proxy->port());
        return on_ports(ports, timeout);
    }

    // Two nodes are enough for a grant: the third may not even be connected by then, and what is
    // asked of it would never leave once its greeting is held back.
    void connect_all(client& mine) const {
        mine.granted(fresh_claim("warm"));
        for (std::size_t node = 0; node < proxies_.size(); ++node)
            until([&] { return is_confirmed_at(servers_, node, "warm"); });
    }

    tcp_proxy& operator[](std::size_t node) const { return *proxies_[node]; }
    auto begin() const { return proxies_.begin(); }
    auto end() const { return proxies_.end(); }

private:
    const redlock_servers& servers_;
    std::vector<std::unique_ptr<tcp_proxy>> proxies_;
};

// In microseconds, of so many pairs.
double median_pair(client& mine, const std::string& key, int pairs) {
    std::vector<double> samples;
    for (int i = 0; i < pairs; ++i) {
        const auto begun = lease_clock::now();
        EXPECT_TRUE(conformance::yes(mine.release(key, mine.granted(fresh_claim(key)))));
        samples.push_back(
            std::chrono::duration<double, std::micro>(lease_clock::now() - begun).count());
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

// ---- Records

// The layout is documented: people read it with redis-cli when all else fails.
TEST(RedlockStore, EveryNodeHoldsTheSameTokenInALineThatPeopleCanRead) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    const auto token = mine.granted(claim{"a/key", "my-id", "me on host", 30s});
    const auto digits = std::to_string(number(token));
    for (std::size_t i = 0; i < servers.size(); ++i) {
        until([&] { return is_confirmed_at(servers, i, "a/key"); });
        const auto text = record_at(servers, i, "a/key");
        EXPECT_EQ(text.substr(0, 19), "1 " + digits + " ");
        EXPECT_EQ(text.substr(36, 16), digits);
        EXPECT_NE(text.find(" my-id "), std::string::npos) << text;
        EXPECT_TRUE(text.ends_with(" me on host")) << text;
    }
}

// Goal: a claim that fails leaves no record behind. Method: a majority is held by another client.
TEST(RedlockStore, APromiseThatCameToNothingLeavesNothingBehind) {
    redlock_servers servers;
    auto theirs = open(on_ports({servers.at(0).port(), servers.at(1).port()}));
    auto mine = open(on_ports(servers.ports()));
    theirs.granted(fresh_claim("key"));
    for (int i = 0; i < 20; ++i) mine.rejected(fresh_claim("key"));
    until([&] { return servers.at(2).ask({"DBSIZE"}) == "0"; });
}

TEST(RedlockStore, TenThousandRoundsLeaveNeitherKeysNorConnections) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports()));
    const auto connections = [&](std::size_t which) {
        const auto info = servers.at(which).ask({"INFO", "clients"});
        return std::stoi(info.substr(info.find("connected_clients:") + 18));
    };
    mine.granted(fresh_claim("warm"));
    std::vector<int> before;
    for (std::size_t i = 0; i < 3; ++i) before.push_back(connections(i));
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 8; ++i)
            callers.emplace_back([&, i] {
                const auto key = "key/" + std::to_string(i % 4);  // two for each key
                for (int done = 0; done < 1250; ++done) {
                    const auto answer = mine.acquire(fresh_claim(key));
                    const auto* won = answer.has_value() ? std::get_if<grant>(&*answer) : nullptr;
                    if (won != nullptr) {
                        EXPECT_TRUE(conformance::yes(mine.release(key, won->token)));
                    }
                }
            });
    }
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(connections(i), before[i]);
        // Four keys, the first one, and the index.
        EXPECT_LE(std::stoi(servers.at(i).ask({"DBSIZE"})), 6);
    }
}

// ---- Slow and dead nodes

// Goal: nothing waits for a frozen minority. Method: the timeout is far above what a pair may take.
void expect_no_wait(std::size_t nodes, const std::vector<std::size_t>& frozen) {
    constexpr millis timeout = 10s;
    redlock_servers servers{nodes, {}};
    auto mine = open(on_ports(servers.ports(), timeout));
    median_pair(mine, "timed", 200);
    std::vector<std::uint16_t> others;
    for (std::size_t i = 0; i < servers.size(); ++i)
        if (std::find(frozen.begin(), frozen.end(), i) == frozen.end())
            others.push_back(servers.at(i).port());
    auto healthy = open(on_ports(others, timeout));
    for (const auto which : frozen) servers.at(which).freeze();
    const auto begun = lease_clock::now();
    auto slowed = median_pair(mine, "timed", 200);
    EXPECT_LT(lease_clock::now() - begun, timeout);
    // Beside each other, and again, as whatever else keeps the machine busy comes and goes.
    const auto is_slower = [&] { return slowed >= median_pair(healthy, "beside", 200) * 3 + 2000; };
    bool waits = is_slower();
    for (int turn = 0; turn < 4 && waits; ++turn) {
        slowed = median_pair(mine, "timed", 200);
        waits = is_slower();
    }
    EXPECT_FALSE(waits) << slowed;
    const auto token = mine.granted(fresh_claim("held"));
    EXPECT_EQ(mine.renew(lease_of("held", token)), renewal::renewed);
    EXPECT_EQ(mine.show("held").holder, token);
    EXPECT_TRUE(mine.fence("resource", token, fence_rule::reject_older).value().accepted);
    EXPECT_EQ(mine.all("", 10).size(), 3u);
    for (const auto which : frozen) servers.at(which).thaw();
    // What was asked of them meanwhile has come to nothing, or joins the lease that is held.
    for (const auto which : frozen)
        until([&] {
            mine.renew(lease_of("held", token));
            const auto timed = record_at(servers, which, "timed");
            return is_confirmed_at(servers, which, "held") &&
                   (timed.size() < 71 || timed[70] == '-');
        });
}

TEST(RedlockFault, AFrozenNodeOfThreeCostsNothing) { expect_no_wait(3, {1}); }
TEST(RedlockFault, TwoFrozenNodesOfFiveCostNothing) { expect_no_wait(5, {0, 3}); }

TEST(RedlockFault, ANodeThatWasDownIsToppedUpByARenewal) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    servers.at(2).crash();
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
    servers.at(2).start();
    until([&] {
        EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
        return is_confirmed_at(servers, 2, "key");
    });
    // So another one may go.
    servers.at(0).crash();
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
    EXPECT_EQ(open(on_ports(servers.ports())).rejected(fresh_claim("key")).holder, token);
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
}

// Goal: by the name of a node that was demoted its successor is found. Method: one of three becomes
// a replica under a client that has a connection.
TEST(RedlockFault, AConnectionToADemotedNodeIsGivenUp) {
    redlock_servers servers;
    testing_servers::redis_server primary;
    auto mine = open(on_ports(servers.ports()));
    mine.granted(fresh_claim("before"));
    until([&] { return is_confirmed_at(servers, 2, "before"); });
    int asked = 0;
    const auto connections = [&] {
        const auto told = servers.at(2).ask({"INFO", "stats"});
        const std::string field = "total_connections_received:";
        // But for those of this test.
        return std::stoi(told.substr(told.find(field) + field.size())) - asked++;
    };
    servers.at(2).ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    const int before = connections();
    int claims = 0;
    until([&] {
        mine.granted(fresh_claim("key/" + std::to_string(claims++)));
        return connections() > before;
    });
}

// How often the node has refused to write since it started.
int rejections(const testing_servers::redis_server& server) {
    const auto told = server.ask({"INFO", "errorstats"});
    const std::string field = "NOREPLICAS:count=";
    const auto at = told.find(field);
    return at == std::string::npos ? 0 : std::stoi(told.substr(at + field.size()));
}

// Goal: what a node has to be told is not forgotten because it cannot write for now. Method: it
// rejects the release and its repeat, and no client asks anything else.
TEST(RedlockFault, ANodeThatCannotWriteForNowIsToldLater) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    for (const std::size_t node : {0U, 1U, 2U})
        until([&] { return is_confirmed_at(servers, node, "key"); });
    servers.at(2).ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
    until([&] { return rejections(servers.at(2)) >= 2; });
    servers.at(2).ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    until([&] { return !is_confirmed_at(servers, 2, "key"); });
}

// Goal: nor because it is also cut off before it can. Method: claims of other keys notice that
// first, as by then the pauses between two attempts are long.
TEST(RedlockFault, ANodeThatRejectedAndWentDownIsToldWhenItIsBack) {
    redlock_servers servers;
    const proxied_nodes proxies{servers};
    auto mine = open(proxies.settings());
    proxies.connect_all(mine);
    const auto token = mine.granted(fresh_claim("key", 60s));
    for (const std::size_t node : {0U, 1U, 2U})
        until([&] { return is_confirmed_at(servers, node, "key"); });
    servers.at(2).ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
    until([&] { return rejections(servers.at(2)) >= 8; });
    proxies[2].reject();
    for (int i = 0; i < 20; ++i) {
        auto hasty = fresh_claim("other " + std::to_string(i));
        hasty.on_store_down = store_down::fail;
        mine.granted(hasty);
    }
    servers.at(2).ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    proxies[2].accept_again();
    until([&] { return !is_confirmed_at(servers, 2, "key"); });
}

// Goal: what a node refuses to be told holds up nothing that it takes. Method: a server that is
// full, but still deletes.
TEST(RedlockFault, ADebtThatIsRejectedHoldsUpNoOther) {
    const testing_servers::redis_server server;
    server.ask({"SET", "taken", "x"});
    server.ask({"CONFIG", "SET", "maxmemory", "1"});
    const redis::script sets{"return redis.call('SET', KEYS[1], 'x')"};
    const redis::script deletes{"return redis.call('DEL', KEYS[1])"};
    net::loop loop;
    redis::redis_settings settings;
    settings.port = server.port();
    const auto owing = node::make(loop, std::make_shared<const redis::redis_settings>(settings));
    boost::asio::post(loop.get_executor(), [&] {
        const auto until = lease_clock::now() + 60s;
        for (int i = 0; i < 20; ++i)
            owing->retry_later(redis::script_call{sets, 1}.add(std::to_string(i)), until);
        owing->retry_later(redis::script_call{deletes, 1}.add("taken"), until);
    });
    until([&] { return server.ask({"EXISTS", "taken"}) == "0"; });
    EXPECT_EQ(server.ask({"DBSIZE"}), "0");
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    until([&] { return server.ask({"DBSIZE"}) == "20"; });
    owing->close_from_anywhere();
}

// Goal: one record that a node cannot read ends no other lease, though each node has to say yes.
// Method: the third is down, and at the first the middle one of three leases is damaged behind its
// token, first its end, then when it was acquired.
TEST(RedlockFault, ADamagedRecordIsUnknownForItsOwnLeaseAlone) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    std::vector<held_lease> all;
    for (const auto* key : {"a", "b", "c"}) {
        all.push_back(lease_of(key, mine.granted(fresh_claim(key, 60s)), 90s));
        all.back().max_lifetime = 1h;
        for (const std::size_t node : {0U, 1U})
            until([&] { return is_confirmed_at(servers, node, key); });
    }
    servers.at(2).crash();
    const auto text = record_at(servers, 0, "b");
    const auto renewed = [&] {
        const auto got = mine.renew(all);
        EXPECT_TRUE(got.has_value()) << got.error().detail;
        return got.has_value() ? *got : std::vector<renewal>{};
    };
    for (const std::size_t damaged : {19U, 53U}) {
        auto wrong = text;
        wrong.replace(damaged, 16, "0123456789abcdeg");
        servers.at(0).ask({"SET", "pawl:redlock:b", wrong});
        EXPECT_EQ(renewed(), (std::vector{renewal::renewed, renewal::unknown, renewal::renewed}));
    }
    // At both that are left: none of them says no.
    const auto whole = record_at(servers, 1, "b");
    auto wrong = whole;
    wrong.replace(19, 16, "0123456789abcdeg");
    servers.at(1).ask({"SET", "pawl:redlock:b", wrong});
    EXPECT_EQ(renewed(), (std::vector{renewal::renewed, renewal::unknown, renewal::renewed}));
    servers.at(1).ask({"SET", "pawl:redlock:b", whole});
    servers.at(0).ask({"SET", "pawl:redlock:b", text});
    EXPECT_EQ(renewed(), (std::vector{renewal::renewed, renewal::renewed, renewal::renewed}));
}

// Goal: what a node missed while it was down it is told when it is back.
TEST(RedlockFault, AReleaseReachesANodeThatWasDown) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    until([&] { return is_confirmed_at(servers, 1, "key"); });
    servers.at(1).crash();
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
    servers.at(1).start();
    until([&] { return record_at(servers, 1, "key").substr(2, 16) == "0000000000000000"; });
}

TEST(RedlockFault, WithoutAMajorityAllIsUnreachableAndResumesWhenItIsBack) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports(), 2s));
    auto waiter = open(on_ports(servers.ports(), 2s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    for (const std::size_t i : {0u, 1u}) servers.at(i).crash();
    EXPECT_TRUE(mine.acquire(fresh_claim("other")).has_error());
    expect_failure(mine.acquire(fresh_claim("other")), errc::unreachable, {"1 of 3 nodes"});
    for (const std::size_t i : {0u, 1u}) servers.at(i).start();
    until([&] { return mine.inspect("key").has_value(); });
    EXPECT_EQ(mine.show("key").holder, token);
    auto woke = waiter.start_waiting("key", token, 10s);
    waiter.until_waiters("key", 1);
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

// ---- Majorities that share only one node

// Goal: rule 17 on real servers. Method: each grant is made while another node is away, so that any
// two majorities share only one node, and one node's clock does not matter.
TEST(RedlockFault, TokensRiseOverEveryPairOfMajorities) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports(), 2s));
    fence_token last{};
    for (std::size_t round = 0; round < 6; ++round) {
        servers.at(round % 3).freeze();
        auto fresh = open(on_ports(servers.ports(), 2s));
        const auto token = fresh.granted_in_the_end(fresh_claim("key"));
        EXPECT_GT(token, last);
        EXPECT_TRUE(conformance::yes(fresh.release("key", token)));
        last = token;
        servers.at(round % 3).thaw();
    }
}

TEST(RedlockFault, AForcedReleaseBurnsTheTokenOnEveryMajority) {
    redlock_servers servers;
    constexpr millis timeout = 2s;
    auto mine = open(on_ports(servers.ports(), timeout));
    servers.at(0).crash();
    const auto token = mine.granted(fresh_claim("key", 60s));
    // Until node 0 is asked no more: what it promises too late to be confirmed stays for the TTL.
    mine.pass(timeout + 100ms);
    servers.at(0).start();
    servers.at(1).crash();
    auto operators = open(on_ports(servers.ports(), 2s));
    EXPECT_TRUE(conformance::yes(operators.force_release("key", token, 0ms)));
    servers.at(1).start();
    servers.at(2).crash();
    // Lost, or unknown while the node that knows best is away: never renewed.
    const auto renewed = mine.renew(std::vector<held_lease>{extending("key", token)});
    EXPECT_TRUE(renewed.has_error() || renewed->front() != renewal::renewed);
    // Node 1 was away: it still believes the force-released holder, whose lease it has to wait for.
    servers.at(2).start();
    servers.at(1).crash();
    auto last = open(on_ports(servers.ports(), 2s));
    EXPECT_GT(number(last.granted_in_the_end(fresh_claim("key"))), number(token) + 1);
}

TEST(RedlockFault, AFenceIsRememberedByEveryMajority) {
    redlock_servers servers;
    servers.at(0).crash();
    EXPECT_TRUE(open(on_ports(servers.ports(), 2s))
                    .fence("file", fence_token{20}, fence_rule::reject_older)
                    .value()
                    .accepted);
    servers.at(0).start();
    servers.at(1).crash();
    const auto stale = open(on_ports(servers.ports(), 2s))
                           .fence("file", fence_token{19}, fence_rule::reject_older);
    EXPECT_FALSE(stale.value().accepted);
    EXPECT_EQ(stale.value().highest, fence_token{20});
}

// Goal: no check rests on a node that has forgotten. Method: a newer token is remembered by two of
// three; one of those is wiped, and then the other is away.
TEST(RedlockFault, AFenceIsJudgedByThoseThatRemember) {
    redlock_servers servers;
    auto settings = on_ports(servers.ports(), 5s);
    settings.common.quarantine = 300ms;
    auto mine = open(settings);
    // Two nodes are enough for a grant, and the third may be met, and its data begin, after it.
    mine.granted_in_the_end(fresh_claim("first", 100ms));
    for (std::size_t i = 0; i < servers.size(); ++i)
        until([&] { return servers.at(i).ask({"EXISTS", "pawl:redlock-marker"}) == "1"; });
    const auto older = mine.granted_in_the_end(fresh_claim("key", 100ms));
    const auto newer = mine.granted_in_the_end(fresh_claim("key", 100ms));
    servers.at(0).crash();
    EXPECT_TRUE(mine.fence("file", newer, fence_rule::reject_older)->accepted);
    servers.at(0).start();
    servers.at(1).lose_data();
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 100ms))), 0u);
    mine.pass(2500ms);

    servers.at(2).freeze();
    auto hasty = settings;
    hasty.common.timeout = 2s;
    const auto undecided = open(hasty).fence("file", older, fence_rule::reject_older);
    expect_failure(undecided, errc::unreachable, {"kept their data"});
    servers.at(2).thaw();

    const auto stale = open(settings).fence("file", older, fence_rule::reject_older);
    EXPECT_FALSE(stale.value().accepted);
    EXPECT_EQ(stale.value().highest, newer);
    EXPECT_TRUE(open(settings).fence("file", newer, fence_rule::reject_older).value().accepted);
}

// ---- Claimers that are cut off

// Goal: an occurrence that only a minority has confirmed is unmarked there. Method: two of three
// forget their promises before the claimer can confirm them.
TEST(RedlockFault, AnOccurrenceThatAMinorityConfirmedIsGivenBack) {
    redlock_servers servers;
    const proxied_nodes proxies{servers};
    // A claim that saw no majority is tried again for 2 s, a quarter of its TTL.
    auto mine = open(proxies.settings(10s));
    proxies.connect_all(mine);
    const auto due = conformance::occurrence_in(-10s);
    const auto wanted = conformance::fresh_occurrence("job", due, delivery::at_most_once, 8s);
    for (const std::size_t far : {1u, 2u}) proxies[far].stall(direction::to_client);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    for (const std::size_t far : {1u, 2u}) {
        ASSERT_TRUE(proxies[far].wait_for_held_bytes(direction::to_client, 1));
        until([&] { return servers.at(far).ask({"EXISTS", "pawl:redlock:job"}) == "1"; });
        servers.at(far).ask({"DEL", "pawl:redlock:job"});
    }
    // And later.
    client{[&](net::loop& where) {
        return make_redlock_store(where, on_ports(servers.ports()));
    }}.pass(2100ms);
    for (const std::size_t far : {1u, 2u}) proxies[far].resume(direction::to_client);
    const auto told = answer.get();
    ASSERT_TRUE(told.has_value()) << told.error().detail;
    EXPECT_TRUE(std::holds_alternative<busy>(*told));
    const auto marked = " " + std::to_string(number(due)) + " ";
    until([&] { return record_at(servers, 0, "job").find(wanted.id) == std::string::npos; });
    EXPECT_EQ(record_at(servers, 0, "job").find(marked), std::string::npos);
    EXPECT_GT(number(mine.granted_in_the_end(conformance::fresh_occurrence("job", due))), 0u);
}

// Goal: promises without a claimer hold a key for one TTL at most. Method: no answer ever reaches
// the claimer, and then it is gone.
TEST(RedlockFault, AClaimerThatDiesBeforeItConfirmsBlocksTheKeyForItsTtlAtMost) {
    redlock_servers servers;
    const proxied_nodes proxies{servers};
    const auto begun = lease_clock::now();
    {
        auto dying = open(proxies.settings(5s));
        proxies.connect_all(dying);
        for (const auto& proxy : proxies) proxy->stall(direction::to_client);
        auto answer =
            std::async(std::launch::async, [&] { return dying.acquire(fresh_claim("key", 1s)); });
        for (const auto& proxy : proxies)
            EXPECT_TRUE(proxy->wait_for_held_bytes(direction::to_client, 1));
        // What is held back first may be the answer to an earlier confirmation.
        for (const std::size_t node : {0u, 1u, 2u})
            until([&] { return !record_at(servers, node, "key").empty(); });
        for (const auto& proxy : proxies) proxy->reject();
        EXPECT_TRUE(answer.get().has_error());
    }
    auto next = open(on_ports(servers.ports()));
    EXPECT_GT(number(next.granted_in_the_end(fresh_claim("key"))), 0u);
    EXPECT_GE(lease_clock::now() - begun, 900ms);
    EXPECT_LT(lease_clock::now() - begun, 15s);
}

// Goal: after an answer that was lost the same claim gives one grant. Method: connections are cut
// while the answers are held back.
TEST(RedlockFault, AClaimThatWasCutOffIsGrantedOnceWhenRepeated) {
    redlock_servers servers;
    const proxied_nodes proxies{servers};
    auto mine = open(proxies.settings());
    proxies.connect_all(mine);
    const auto wanted = fresh_claim("key", 60s);
    for (const auto& proxy : proxies) proxy->stall(direction::to_client);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    for (const auto& proxy : proxies)
        ASSERT_TRUE(proxy->wait_for_held_bytes(direction::to_client, 1));
    for (const auto& proxy : proxies) proxy->cut();
    EXPECT_TRUE(answer.get().has_error());
    for (const auto& proxy : proxies) proxy->resume(direction::to_client);
    const auto token = mine.granted_in_the_end(wanted);
    auto other = open(on_ports(servers.ports()));
    EXPECT_EQ(other.rejected(fresh_claim("key")).holder, token);
    EXPECT_TRUE(conformance::yes(mine.withdraw({"key", wanted.id})));
    EXPECT_GT(other.granted_in_the_end(fresh_claim("key")), token);
}

// ---- All at once

// One stay at the resource, on the machine's lease clock.
struct stay {
    std::uint64_t token;
    instant began, ended;
};

// Goal: whatever happens to a minority, no two holders trust their leases at once, and tokens rise
// in the order in which holders begin. Method: six claimers, and every half a second another node
// is killed, frozen or wiped; what the holders recorded is judged at the end.
TEST(RedlockFault, NoTwoHoldersWhileNodesAreKilledFrozenAndWiped) {
    redlock_servers servers;
    auto settings = on_ports(servers.ports(), 250ms);
    settings.common.quarantine = 500ms;
    std::mutex lock;
    std::vector<stay> stays;
    std::atomic<bool> enough{false};
    const auto work = [&] {
        auto mine = open(settings);
        while (!enough) {
            const auto sent = lease_clock::now();
            const auto answer = mine.acquire(fresh_claim("key", 400ms));
            const auto began = lease_clock::now();
            const auto* won = answer.has_value() ? std::get_if<grant>(&*answer) : nullptr;
            if (won == nullptr) {
                mine.pass(2ms);
                continue;
            }
            // A tenth is more than any drift: who has less left does not begin.
            const auto trusted = sent + 360ms;
            if (began >= trusted) continue;
            // Some let their lease run out, others release it.
            if (number(won->token) % 4 == 0)
                mine.pass(std::chrono::duration_cast<millis>(trusted - began));
            const auto ended = std::min(lease_clock::now(), trusted);
            {
                const std::lock_guard guard{lock};
                stays.push_back({number(won->token), began, ended});
            }
            static_cast<void>(mine.release("key", won->token));
        }
    };
    {
        std::vector<std::jthread> claimers;
        for (int i = 0; i < 6; ++i) claimers.emplace_back(work);
        client pace = open(settings);
        for (std::size_t round = 0; round < 9; ++round) {
            auto& node = servers.at(round % 3);
            if (round / 3 == 0) node.freeze();
            if (round / 3 == 1) node.crash();
            pace.pass(400ms);
            if (round / 3 == 0) node.thaw();
            if (round / 3 == 1) node.start();
            if (round / 3 == 2) node.lose_data();
            // The next one goes only when this one votes again: a minority at a time.
            pace.pass(round / 3 == 2 ? 1700ms : 300ms);
        }
        enough = true;
    }
    std::sort(stays.begin(), stays.end(),
              [](const stay& a, const stay& b) { return a.began < b.began; });
    EXPECT_GT(stays.size(), 10u);
    for (std::size_t i = 1; i < stays.size(); ++i) {
        EXPECT_GE(stays[i].began, stays[i - 1].ended) << "stay " << i;
        EXPECT_GT(stays[i].token, stays[i - 1].token) << "stay " << i;
    }
}

// ---- Doctor, traits and the end of a loop

examination examined(const redlock_settings& settings) {
    net::loop where;
    const auto store = make_redlock_store(where, settings);
    auto answer = where.wait_for(store->examine());
    EXPECT_TRUE(answer.has_value()) << answer.error().detail;
    return answer.has_value() ? *std::move(answer) : examination{};
}

severity level_of(const examination& seen, const std::string& check, const std::string& words) {
    auto worst = severity::ok;
    bool found = false;
    for (const auto& one : seen.findings) {
        EXPECT_EQ(one.text.find('\n'), std::string::npos) << one.text;
        if (one.check != check || one.text.find(words) == std::string::npos) continue;
        worst = std::max(worst, one.level);
        found = true;
    }
    EXPECT_TRUE(found) << check << ": " << words;
    return worst;
}

TEST(RedlockStore, TheDoctorSeesEachNodeAndTheMajority) {
    redlock_servers servers;
    auto settings = on_ports(servers.ports(), 3s);
    auto seen = examined(settings);
    EXPECT_TRUE(seen.version.starts_with("Redis ")) << seen.version;
    EXPECT_TRUE(seen.clock);
    EXPECT_EQ(level_of(seen, "quorum", "3 of 3 nodes answer"), severity::ok);
    EXPECT_EQ(level_of(seen, "clock", "apart"), severity::ok);
    EXPECT_EQ(level_of(seen, "quarantine", "off"), severity::warn);
    for (const auto port : servers.ports())
        EXPECT_EQ(level_of(seen, "persistence", std::to_string(port) + ": "), severity::ok);
    settings.common.quarantine = 60s;
    EXPECT_EQ(open(settings).rejected(fresh_claim("key", 1s)).reason, busy_reason::quarantined);
    EXPECT_EQ(level_of(examined(settings), "quarantine", "no majority"), severity::fail);
    servers.at(0).crash();
    seen = examined(settings);
    EXPECT_EQ(level_of(seen, "quorum", "2 of 3 nodes answer"), severity::warn);
    EXPECT_EQ(level_of(seen, "quorum", std::to_string(servers.at(0).port())), severity::warn);
}

TEST(RedlockStore, FencingIsStrictOnlyUnderQuarantine) {
    auto settings = on_ports({1, 2, 3});
    EXPECT_FALSE(open(settings).traits().strict_fencing);
    settings.common.quarantine = 60s;
    EXPECT_TRUE(open(settings).traits().strict_fencing);
}

// Goal: a loop may end under requests and waiters without a leak or a crash; LeakSanitizer sees it.
TEST(RedlockStore, ALoopMayEndUnderWhatStillRuns) {
    redlock_servers servers;
    for (std::size_t i = 0; i < 3; ++i) servers.at(i).freeze();
    auto where = std::make_unique<net::loop>();
    auto store = make_redlock_store(*where, on_ports(servers.ports()));
    const auto leases =
        std::make_shared<std::vector<held_lease>>(1, lease_of("key", fence_token{1}));
    const auto ignore = [leases](std::exception_ptr, const auto&) {};
    for (int i = 0; i < 5; ++i) {
        const auto key = "key/" + std::to_string(i);
        const auto& on = where->get_executor();
        boost::asio::co_spawn(on, store->acquire(fresh_claim(key)), ignore);
        boost::asio::co_spawn(on, store->inspect(key), ignore);
        boost::asio::co_spawn(on, store->wait_change(key, fence_token{1}), ignore);
        boost::asio::co_spawn(on, store->renew(*leases), ignore);
        boost::asio::co_spawn(on, store->fence(key, fence_token{1}, fence_rule::reject_older),
                              ignore);
    }
    auto brief = []() -> boost::asio::awaitable<int> { co_return 1; };
    EXPECT_EQ(where->wait_for(brief()), 1);
    where.reset();
    store.reset();
    for (std::size_t i = 0; i < 3; ++i) servers.at(i).thaw();
}

}  // namespace
}  // namespace pawl::redlock
