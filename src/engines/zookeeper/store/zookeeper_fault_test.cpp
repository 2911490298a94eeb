// Servers that are hurt, wrong or missing, and the ensemble that loses its leader.
#include "engines/zookeeper/client/session.hpp"
#include "engines/zookeeper/store/znode_names.hpp"
#include "engines/zookeeper/store/zookeeper_fixture.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

namespace pawl::zookeeper {
namespace {

using conformance::client;
using conformance::fresh_claim;
using conformance::lease_of;
using conformance::wait_end;
using testing_faults::canned_server;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::zookeeper_ensemble;
using testing_servers::zookeeper_options;
using testing_servers::zookeeper_server;

// ---- Wrong and missing servers

TEST(ZookeeperRejection, AClosedPortIsUnreachableAfterTheTimeout) {
    auto mine = open(on_port(testing_servers::free_port(), 150ms));
    EXPECT_TRUE(conformance::takes_less(2s, [&] {
        const auto asked = lease_clock::now();
        expect_failure(mine.inspect("key"), errc::unreachable, "Connection refused");
        EXPECT_GE(lease_clock::now() - asked, 150ms);
    }));
}

TEST(ZookeeperRejection, AnHttpServerIsNoZookeeper) {
    canned_server server{{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}};
    expect_failure(open(on_port(server.port(), 5s)).acquire(fresh_claim("key")), errc::protocol,
                   "does not speak ZooKeeper");
}

TEST(ZookeeperRejection, AnUnresponsiveServerIsUnreachableAfterTheTimeout) {
    canned_server server{{}};
    EXPECT_TRUE(conformance::takes_less(3s, [&] {
        expect_failure(open(on_port(server.port(), 300ms)).acquire(fresh_claim("key")),
                       errc::unreachable, "127.0.0.1:" + std::to_string(server.port()));
    }));
}

// ---- Sessions that the server keeps short

class ShortSessions : public ::testing::Test {
protected:
    static zookeeper_options options() {
        zookeeper_options with;
        with.tick = 100ms;
        with.session_min = 200ms;
        with.session_max = 1500ms;
        return with;
    }
    zookeeper_server server_{options()};
};

// Goal: a lease is never longer than its session carries, and its grant says so. Method: ask for
// more than the server's maxSessionTimeout.
TEST_F(ShortSessions, AGrantSaysTheTimeThatTheServersSessionsCarry) {
    auto mine = open(on_port(server_.port()));
    const auto answer = mine.acquire(fresh_claim("key", 30s));
    ASSERT_TRUE(answer.has_value());
    const auto& won = std::get<grant>(*answer);
    EXPECT_LT(won.ttl, 1500ms);
    EXPECT_GT(won.ttl, 500ms);
    EXPECT_EQ(mine.renew(lease_of("key", won.token, won.ttl)), renewal::renewed);
    expect_failure(mine.renew(std::vector<held_lease>{lease_of("key", won.token, 30s)}),
                   errc::rejected, "maxSessionTimeout");
}

// Goal: a leader that hears of sessions late ends none before its lease. Method: a server with a
// long tick grants a shorter lease than one with the usual.
TEST(LongTicks, AGrantIsShortenedByWhatTheLeaderHearsLate) {
    zookeeper_options with;
    with.tick = 6s;
    with.session_min = 12s;
    with.session_max = 12s;
    zookeeper_server server{with};
    const auto answer = open(on_port(server.port(), 5s)).acquire(fresh_claim("key", 30s));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(std::get<grant>(*answer).ttl, longest_ttl(12s, 6s));
}

// Goal: a process that is frozen past its session's timeout finds its lease lost, and works on.
// Method: nothing passes in either direction for so long, as under SIGSTOP; another client takes
// the key, and not before the lease is over.
TEST_F(ShortSessions, ASessionThatExpiresLosesItsLeasesAndTheNextOneWorks) {
    tcp_proxy proxy{server_.port()};
    auto mine = open(on_port(proxy.port(), 500ms));
    auto other = open(on_port(server_.port()));
    // A server that has just begun may take longer over it; the same claim is granted again.
    const auto wanted = fresh_claim("key", 600ms);
    auto sent = lease_clock::now();
    auto answer = mine.acquire(wanted);
    until([&] {
        if (answer.has_value()) return true;
        sent = lease_clock::now();
        return (answer = mine.acquire(wanted)).has_value();
    });
    const auto& won = std::get<grant>(*answer);
    proxy.stall(direction::to_server);
    proxy.stall(direction::to_client);
    const auto taken = other.granted_in_the_end(fresh_claim("key", 600ms));
    EXPECT_GE(lease_clock::now() - sent, won.ttl);
    EXPECT_GT(taken, won.token);
    bare_tree tree{server_.port()};
    until([&] {
        return server_.ask("dump").find("Sessions with Ephemerals (1)") != std::string::npos ||
               server_.measure("zk_ephemerals_count") == 0;
    });
    proxy.resume(direction::to_server);
    proxy.resume(direction::to_client);
    until([&] {
        const auto got = mine.renew(std::vector<held_lease>{lease_of("key", won.token, won.ttl)});
        return got.has_value() && got->front() == renewal::lost;
    });
    until([&] {
        const auto got = mine.acquire(fresh_claim("another", 600ms));
        return got.has_value() && std::holds_alternative<grant>(*got);
    });
}

// ---- A server that is hurt

TEST(ZookeeperFaults, AFrozenServerIsAnUnknownOutcomeWithinTheTimeout) {
    zookeeper_server server;
    auto mine = open(on_port(server.port(), 1s));
    const auto wanted = fresh_claim("key", 60s);
    // A server that has just begun may take longer over it; the same claim is granted again.
    const auto before = fresh_claim("key", 60s);
    auto first = mine.acquire(before);
    until([&] { return first.has_value() || (first = mine.acquire(before)).has_value(); });
    const auto token = std::get<grant>(*first).token;
    until([&] { return mine.release("key", token).has_value(); });
    server.freeze();
    const auto asked = lease_clock::now();
    const auto frozen = mine.acquire(wanted);
    ASSERT_TRUE(frozen.has_error());
    EXPECT_EQ(frozen.error().code, errc::outcome_unknown);
    // Its pings are not answered either, and which of the two it notices first is not ours to say.
    EXPECT_THAT(frozen.error().detail, testing::AnyOf(testing::HasSubstr("no answer within 1s"),
                                                      testing::HasSubstr("connection loss")));
    EXPECT_LT(lease_clock::now() - asked, 6s);
    server.thaw();
    until([&] {
        const auto got = mine.acquire(wanted);
        return got.has_value() && std::holds_alternative<grant>(*got);
    });
}

// Goal: a lease counts from before its request left, however late the answer is. Method: the
// answers to a claim and to a renewal are held back for half of the TTL from when both have
// arrived; counted from the answers, the leases would last for so much longer.
TEST(ZookeeperFaults, AnAnswerThatComesLateMakesNoLeaseLonger) {
    // The client gives up a connection that is silent for two thirds of its session, which lasts
    // little longer than this. Half of it leaves room for a machine that stands still.
    constexpr millis ttl{18'000};
    zookeeper_server server;
    tcp_proxy proxy{server.port()};
    const auto settings = on_port(proxy.port(), 20s);
    auto mine = open(settings);
    bare_tree tree{server.port()};
    const layout paths{settings.chroot, settings.common.name_space};
    // The znode of the one that holds the key; empty while there is none.
    const auto lease_path = [&](const std::string& key) {
        const auto record = paths.record_of(key);
        for (const auto& name : tree.children(record))
            if (!is_origin(name)) return record + "/" + name;
        return std::string{};
    };
    // What was just let go of is claimed by one request, without a look before it.
    EXPECT_TRUE(*mine.release("granted", mine.granted(fresh_claim("granted", ttl))));
    const auto token = mine.granted(fresh_claim("renewed", ttl));
    const auto renewed_path = lease_path("renewed");
    const auto is_renewed = [&] {
        Stat stat{};
        tree.get(renewed_path, &stat);
        return stat.version > 0;
    };
    proxy.stall(direction::to_client);
    auto renewing = std::async(std::launch::async, [&] {
        return mine.renew(std::vector{lease_of("renewed", token, ttl)});
    });
    auto claiming =
        std::async(std::launch::async, [&] { return mine.acquire(fresh_claim("granted", ttl)); });
    until([&] { return is_renewed() && !lease_path("granted").empty(); });
    const auto arrived = lease_clock::now();
    mine.pass(ttl / 2);
    proxy.resume(direction::to_client);
    EXPECT_EQ(renewing.get().value(), (std::vector{renewal::renewed}));
    const auto answer = claiming.get();
    ASSERT_TRUE(answer.has_value());
    const auto won = std::get<grant>(*answer).token;
    mine.pass(std::chrono::ceil<millis>(arrived + ttl - lease_clock::now()));
    EXPECT_EQ(mine.renew(lease_of("granted", won, ttl)), renewal::lost);
    EXPECT_EQ(mine.renew(lease_of("renewed", token, ttl)), renewal::lost);
}

// Goal: what a killed server answered it still knows, and waiting goes on. Method: kill it under
// callers and a waiter, start it again.
TEST(ZookeeperFaults, AKilledServerComesBackWithItsLeasesAndItsWaiters) {
    zookeeper_server server;
    auto mine = open(on_port(server.port()));
    auto waiter = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = waiter.start_waiting("key", token, 10s);
    until([&] { return server.measure("zk_watch_count") > 0; });
    std::atomic<bool> enough{false};
    std::jthread load{[&] {
        for (int i = 0; !enough; ++i) {
            const auto key = "load/" + std::to_string(i % 8);
            const auto got = waiter.acquire(fresh_claim(key, 60s));
            if (got.has_value())
                if (const auto* won = std::get_if<grant>(&*got))
                    static_cast<void>(waiter.release(key, won->token));
        }
    }};
    server.crash();
    EXPECT_EQ(woke.get(), wait_end::changed);
    server.start();
    until([&] {
        const auto got = mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)});
        return got.has_value() && got->front() == renewal::renewed;
    });
    enough = true;
    load.join();
    // And waiting works again.
    until([&] { return waiter.inspect("key").has_value(); });
    woke = waiter.start_waiting("key", token, 10s);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

// ---- An ensemble

zookeeper_settings on(const zookeeper_ensemble& servers, millis timeout = 2s) {
    zookeeper_settings settings;
    settings.servers.clear();
    for (const auto port : servers.ports()) settings.servers.push_back({"127.0.0.1", port});
    settings.common.timeout = timeout;
    return settings;
}

// Holders of one key that count each other.
class inside {
public:
    void run(client& through, const std::atomic<bool>& enough) {
        while (!enough) {
            const auto wanted = fresh_claim("key", 20s);
            const auto got = through.acquire(wanted);
            if (got.has_error()) {
                static_cast<void>(through.withdraw({"key", wanted.id}));
                continue;
            }
            if (const auto* other = std::get_if<busy>(&*got)) {
                through.wait_change("key", other->holder, 50ms);
                continue;
            }
            const auto token = std::get<grant>(*got).token;
            if (++holders_ != 1) ++overlaps;
            if (number(token) <= newest_.exchange(number(token))) ++fallen;
            ++rounds;
            --holders_;
            while (through.release("key", token).has_error() && !enough) {
            }
        }
    }
    std::atomic<int> overlaps{0}, fallen{0}, rounds{0};

private:
    std::atomic<int> holders_{0};
    std::atomic<std::uint64_t> newest_{0};
};

// Goal: an ensemble that loses its leader, then its quorum, then a server that only hangs, never
// grants a key twice; tokens rise and everybody goes on. Method: callers on one key throughout.
TEST(ZookeeperEnsemble, LeadersGoAndQuorumsBreakAndNoKeyHasTwoHolders) {
    zookeeper_ensemble servers;
    auto settings = on(servers, 500ms);
    auto a = open(settings), b = open(settings);
    // The first session with servers that have just begun may take longer than that.
    until([&] { return a.inspect("kept").has_value() && b.inspect("kept").has_value(); }, 60s);
    const auto keep = fresh_claim("kept", 60s);
    fence_token kept{};
    until(
        [&] {
            const auto got = a.acquire(keep);
            if (got.has_error()) return false;
            kept = std::get<grant>(*got).token;
            return true;
        },
        60s);
    inside count;
    std::atomic<bool> enough{false};
    std::vector<std::jthread> callers;
    // Also when an expectation below throws: the callers are joined after it.
    struct at_the_end {
        std::atomic<bool>& enough;
        ~at_the_end() { enough = true; }
    };
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] { count.run(i % 2 == 0 ? a : b, enough); });
    const at_the_end leaving{enough};
    const auto goes_on = [&] {
        const int before = count.rounds;
        until([&] { return count.rounds > before + 10; }, 60s);
    };
    goes_on();
    auto& first = servers.leader();
    first.crash();
    goes_on();
    // The quorum is lost: no client is granted anything, and the failure says so.
    auto& second = servers.leader();
    second.crash();
    auto c = open(settings);
    until([&] {
        const auto got = c.inspect("kept");
        return got.has_error() && got.error().code == errc::unreachable;
    });
    const int without = count.rounds;
    poll(nullptr, 0, 300);
    EXPECT_LE(count.rounds, without + 1);
    first.start();
    goes_on();
    second.start();
    // A server that hangs keeps its connections: pawl gives it up and asks another.
    auto& third = servers.follower();
    third.freeze();
    goes_on();
    third.thaw();
    until(
        [&] {
            const auto got = a.renew(std::vector<held_lease>{lease_of("kept", kept, 60s)});
            return got.has_value() && got->front() == renewal::renewed;
        },
        60s);
    enough = true;
    callers.clear();
    EXPECT_EQ(count.overlaps, 0);
    EXPECT_EQ(count.fallen, 0);
}

// ---- A backup that is put back

template <class Servers>
void expect_rising_tokens_across_a_restore(Servers& servers, const zookeeper_settings& settings) {
    open(settings).granted(fresh_claim("first", 2s));
    servers.save_data();
    fence_token last{};
    auto before = open(settings);
    for (int i = 0; i < 10; ++i) {
        last = before.granted_in_the_end(fresh_claim("key", 2s));
        EXPECT_TRUE(conformance::yes(before.release("key", last)));
    }
    servers.restore_data();
    // Who saw nothing of the time between, and who did and finds zxids fallen.
    auto fresh = open(settings);
    EXPECT_FALSE(fresh.inspect("key")->has_value());
    const auto next = fresh.granted_in_the_end(fresh_claim("key", 2s));
    EXPECT_GT(next, last);
    EXPECT_TRUE(conformance::yes(fresh.release("key", next)));
    fence_token later{};
    until(
        [&] {
            const auto got = before.acquire(fresh_claim("key", 2s));
            if (got.has_error()) return false;
            const auto* won = std::get_if<grant>(&*got);
            if (won != nullptr) later = won->token;
            return won != nullptr;
        },
        60s);
    EXPECT_GT(later, next);
}

// Goal: a backup hands no token out twice, and clients of before go on with it. Method: the folder
// is put back, and a client that knows nothing and one that was there ask.
TEST(ZookeeperFaults, AFolderThatWasPutBackHandsNoTokenOutAgain) {
    zookeeper_server server;
    auto settings = on_port(server.port(), 10s);
    expect_rising_tokens_across_a_restore(server, settings);
    // The one that was there has told all others since when the data is whole.
    bare_tree tree{server.port()};
    EXPECT_TRUE(tree.get("/pawl").starts_with("pawl 2 1")) << tree.get("/pawl");
    settings.common.quarantine = 1h;
    EXPECT_EQ(open(settings).rejected(fresh_claim("other", 2s)).reason, busy_reason::quarantined);
}

TEST(ZookeeperEnsemble, FoldersThatWerePutBackHandNoTokenOutAgain) {
    zookeeper_ensemble servers;
    expect_rising_tokens_across_a_restore(servers, on(servers, 10s));
}

TEST(ZookeeperEnsemble, AServerWithoutItsQuorumRejectsInOneLine) {
    zookeeper_options with;
    with.properties = {"readonlymode.enabled=true"};
    zookeeper_ensemble servers{with};
    servers.at(0).crash();
    servers.at(1).crash();
    auto mine = open(on_port(servers.at(2).port(), 300ms));
    until(
        [&] {
            const auto got = mine.acquire(fresh_claim("key"));
            return got.has_error() && got.error().code == errc::rejected &&
                   got.error().detail.find("read-only") != std::string::npos;
        },
        60s);
}

// ---- Behind a tunnel, as documented: the C client has no TLS

TEST(ZookeeperTunnel, StunnelCarriesItToATlsPort) {
    const auto keys = std::make_shared<const testing_servers::certificates>();
    zookeeper_options with;
    with.tls = keys;
    zookeeper_server server{with};
    // Asked plainly, a TLS port is no mystery.
    expect_failure(open(on_port(server.tls_port(), 300ms)).inspect("key"), errc::unreachable, "");
    const testing_servers::temporary_folder folder;
    const auto user = testing_servers::server_user({"stunnel4", "zookeeper"});
    testing_servers::hand_over(folder.path(), user);
    const auto port = testing_servers::free_port();
    const auto config = (folder.path() / "stunnel.conf").string();
    std::ofstream{config}
        << "foreground = yes\npid =\n[zookeeper]\nclient = yes\naccept = 127.0.0.1:" << port
        << "\nconnect = 127.0.0.1:" << server.tls_port() << "\nCAfile = " << keys->ca()
        << "\nverifyChain = yes\ncheckIP = 127.0.0.1\n";
    const testing_servers::process tunnel{{"stunnel4", config}, user, folder.path() / "log"};
    auto mine = open(on_port(port));
    until([&] { return mine.inspect("key").has_value(); });
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
    auto woke = mine.start_waiting("key", token, 10s);
    EXPECT_EQ(open(on_port(server.port())).show("key").holder, token);
    EXPECT_TRUE(conformance::yes(open(on_port(server.port())).force_release("key", token, 0ms)));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_FALSE(conformance::yes(mine.release("key", token)));
}

}  // namespace
}  // namespace pawl::zookeeper
