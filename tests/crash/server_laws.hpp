// What pawl keeps on every store that has a server, while its holders and its server are hurt.
//
// An engine adds NAME_crash_test.cpp with a type that models server_engine and one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, ServerLaws, NAME_engine);
#pragma once

#include "test_support/faults/tcp_proxy.hpp"
#include "tests/crash/contenders.hpp"
#include "tests/crash/network_link.hpp"
#include "tests/crash/takeover_scenario.hpp"
#include "time/pause.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace pawl::crash {

// A store with one server.
template <class Engine>
concept has_one_server = requires(Engine engine, const std::string& host) {
    { engine.port() } -> std::same_as<std::uint16_t>;
    { Engine::url(host, std::uint16_t{}, millis{}) } -> std::same_as<std::string>;
};
// A store with several, which are killed and frozen all at once: what fewer do is tested by the
// engine itself. `where` says whether they tell their clients where the others are.
template <class Engine>
concept has_several_servers =
    requires(Engine engine, const std::string& host, const std::vector<std::uint16_t>& ports) {
        { engine.ports() } -> std::same_as<std::vector<std::uint16_t>>;
        { Engine::url(host, ports, millis{}) } -> std::same_as<std::string>;
        { Engine::where } -> std::convertible_to<addresses>;
    };

// Each test has servers of its own, which keep their data when they are killed, and listen on all
// addresses. The constructor starts them, and throws if it cannot.
template <class Engine>
concept server_engine =
    std::default_initializable<Engine> && (has_one_server<Engine> || has_several_servers<Engine>) &&
    requires(Engine engine) {
        { engine.crash() };   // SIGKILL
        { engine.start() };   // after a crash; returns when it answers
        { engine.freeze() };  // SIGSTOP
        { engine.thaw() };    // SIGCONT
    };

template <server_engine Engine>
class ServerLaws : public testing::Test {
protected:
    static std::string url_at(const std::string& host, const std::vector<std::uint16_t>& ports,
                              millis timeout) {
        if constexpr (has_several_servers<Engine>)
            return Engine::url(host, ports, timeout);
        else
            return Engine::url(host, ports.front(), timeout);
    }
    std::vector<std::uint16_t> ports() {
        if constexpr (has_several_servers<Engine>)
            return server_.ports();
        else
            return {server_.port()};
    }
    std::string url(millis timeout = millis{2000}) { return url_at("127.0.0.1", ports(), timeout); }
    // The server is well when nodes begin, and on a busy machine may take its time to open a
    // connection.
    takeover_scenario nodes_on_server() { return takeover_scenario{{place{url(node_timeout)}}}; }
    // A busy server takes longer to make what it keeps than some wait for an answer.
    void let_it_be_used() {
        const auto made = run_pawl({"--store", url(node_timeout), "exec", "first", "true"});
        ASSERT_EQ(made.status, 0) << made.output;
    }

    std::unique_ptr<network_link> make_link(int number) {
        auto where = addresses::given;
        if constexpr (has_several_servers<Engine>) where = Engine::where;
        return crash::make_link(number, ports(), &url_at, where);
    }

    // One of ten faults, by its number: of a way for so long, or of the server. What it was.
    std::string hurt(way& hit, unsigned kind, millis how_long) {
        using testing_faults::direction;
        const auto wait = [&] { time::pause_until(lease_clock::now() + how_long); };
        switch (kind) {
            case 0:
                server_.crash();
                server_.start();
                return "kill -9";
            case 1:
                server_.freeze();
                wait();
                server_.thaw();
                return "a freeze";
            case 2:
                hit.cut();
                return "a cut";
            case 3:
                hit.reject();
                wait();
                hit.accept_again();
                return "an outage of one way";
            case 4:
            case 5:
                hit.stall(direction::to_client);
                wait();
                hit.cut();
                hit.resume(direction::to_client);
                return "lost answers";
            default:
                hit.stall(direction::to_server);
                wait();
                hit.resume(direction::to_server);
                return "late requests";
        }
    }

    Engine server_;
};

TYPED_TEST_SUITE_P(ServerLaws);

// SIGKILL and SIGSTOP in turn.
TYPED_TEST_P(ServerLaws, AKilledOrFrozenHoldersCommandIsDeadBeforeTheNextBegins) {
    auto nodes = this->nodes_on_server();
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(nodes.take_over([](node& holder) { holder.signal(SIGKILL); }), 128 + SIGKILL);
        EXPECT_EQ(nodes.take_over([](node& holder) { holder.signal(SIGSTOP); },
                                  [](node& holder) { holder.signal(SIGCONT); }),
                  lease_lost);
    }
    expect_one_at_a_time(nodes, 5);
}

// The server frozen: no answer, and no reset either. The command ends with the trust in its lease,
// and the next begins when the server goes on.
TYPED_TEST_P(ServerLaws, WithTheServerFrozenTheCommandEndsWithItsLease) {
    auto nodes = this->nodes_on_server();
    for (int round = 0; round < 2; ++round) {
        const int status = nodes.replace([&](node&) {
            this->server_.freeze();
            expect_command_ends_in_time(nodes);
            this->server_.thaw();
        });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 3);
}

// The server killed and started again later, with its data: connections are rejected meanwhile.
TYPED_TEST_P(ServerLaws, WithTheServerKilledTheCommandEndsWithItsLease) {
    auto nodes = this->nodes_on_server();
    for (int round = 0; round < 2; ++round) {
        const int status = nodes.replace([&](node&) {
            this->server_.crash();
            expect_command_ends_in_time(nodes);
            this->server_.start();
        });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 3);
}

// Each node has its own link; the holder's is pulled, and put back after the takeover.
TYPED_TEST_P(ServerLaws, WithTheHoldersNetworkCutItsCommandIsDeadBeforeTheNextBegins) {
    const std::array links{this->make_link(1), this->make_link(2)};
    this->let_it_be_used();
    takeover_scenario nodes{{links[0]->far_end(), links[1]->far_end()}};
    for (int round = 0; round < 2; ++round) {
        const int status = nodes.take_over([&](node&) { links[nodes.place_of_holder()]->cut(); },
                                           [&](node&) { links[nodes.place_of_holder()]->mend(); });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 3);
}

// Goal: whatever happens to the server and to the way there, no two trust the key at once, the
// tokens at a guarded resource rise, and work goes on afterwards. Method: threads with a client
// each compete through proxies while the faults of the simulation are played on the real server.
TYPED_TEST_P(ServerLaws, UnderLoadEveryFaultPassesWithoutAnOverlap) {
    using testing_faults::direction;
    this->let_it_be_used();
    contenders load{this->ports(), &this->url_at};
    load.expect_progress("at first");
    this->server_.freeze();
    load.wait_until_nobody_trusts();
    this->server_.thaw();
    load.expect_progress("after a freeze");
    this->server_.crash();
    this->server_.start();
    load.expect_progress("after kill -9");
    this->server_.crash();
    load.wait_until_nobody_trusts();
    this->server_.start();
    load.expect_progress("after an outage");
    for (auto* way : load.ways()) way->cut();
    load.expect_progress("after all connections were cut");
    // A request whose answer is lost on the way back: nobody knows whether it had an effect.
    for (auto* way : load.ways()) way->stall(direction::to_client);
    load.ways().front()->wait_for_held_bytes(direction::to_client);
    for (auto* way : load.ways()) way->cut();
    for (auto* way : load.ways()) way->resume(direction::to_client);
    load.expect_progress("after answers were lost");
    load.ways().front()->reject();
    load.expect_progress("while one node is cut off");
    load.ways().front()->accept_again();
    load.stop();
    load.expect_nothing_overlapped();
}

// Goal: the same for as long as it is told, in any order. Method: six contenders, every third
// across renewals; faults in a random order, of which requests that arrive when their caller has
// given them up are the most. For two seconds, or PAWL_SOAK_SECONDS.
TYPED_TEST_P(ServerLaws, FaultsInAnyOrderPassWithoutAnOverlap) {
    const char* told = std::getenv("PAWL_SOAK_SECONDS");
    const std::chrono::seconds longest{told == nullptr ? 2 : std::atoi(told)};
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    this->let_it_be_used();
    contenders load{this->ports(), &this->url_at, contenders::pace::mixed, 6};
    load.expect_progress("at first");
    const auto until = lease_clock::now() + longest;
    int faults = 0;
    do {
        auto& hit = *load.ways()[random() % 6];
        const auto kind = static_cast<unsigned>(random() % 10);
        const std::string name = this->hurt(hit, kind, millis{200 + random() % 1'000});
        load.expect_progress("after " + name);
        ++faults;
    } while (lease_clock::now() < until && !this->HasFailure());
    load.stop();
    load.expect_nothing_overlapped();
    this->RecordProperty("faults", faults);
    this->RecordProperty("grants", std::to_string(load.grants()));
    if (told != nullptr)
        std::cout << faults << " faults, " << load.grants() << " grants" << std::endl;
}

// 200 ms one way and the same back: slower than a renewal interval is long, and still within it.
TYPED_TEST_P(ServerLaws, WithALongLatencyLeasesHoldAndPassOn) {
    this->let_it_be_used();
    contenders load{this->ports(), &this->url_at, contenders::pace::slow};
    load.expect_progress("at first");
    for (auto* way : load.ways()) way->delay(millis{100});
    load.expect_progress("with a round trip of 200 ms");
    for (auto* way : load.ways()) way->delay(millis{0});
    load.stop();
    load.expect_nothing_overlapped();
}

// Goal: a program that said store_down::fail hears at once that its store is gone. Method: a server
// that is killed while nothing is under way, and a timeout that would be noticed; the first answer
// may be of a request that the server took to its grave.
TYPED_TEST_P(ServerLaws, ToFailAtOnceIsNotToWaitForAServerThatIsGone) {
    auto locks = locks::open(this->url(millis{30'000}));
    const auto asked = [&] {
        const auto began = lease_clock::now();
        try {
            const auto none = locks.try_acquire(
                "report", {.ttl = millis{10'000}, .on_store_down = store_down::fail});
            ADD_FAILURE() << "a server that is gone has answered";
        } catch (const store_error& error) {
            EXPECT_THAT(error.code(), testing::AnyOf(errc::unreachable, errc::outcome_unknown));
        }
        EXPECT_LT(lease_clock::now() - began, millis{10'000});
    };
    EXPECT_TRUE(locks.try_acquire("report", {.ttl = millis{10'000}}));
    EXPECT_TRUE(locks.drain(millis{10'000}));
    this->server_.crash();
    asked();
    asked();
    this->server_.start();
    EXPECT_TRUE(locks.acquire("invoices", {.ttl = millis{10'000}}, millis{30'000}));
}

// The drill that operators run, on the real server.
TYPED_TEST_P(ServerLaws, TheDrillPasses) {
    auto said = run_pawl({"--store", this->url(), "drill", "all", "--ttl", "1s"});
    // A holder that a busy machine stops for as long as its lease is succeeded before it is struck,
    // and the drill cannot be held: then with a lease that outlasts that. One that fails says 1.
    constexpr int unavailable = 69;
    if (said.status == unavailable)
        said = run_pawl({"--store", this->url(node_timeout), "drill", "all", "--ttl", "8s"});
    EXPECT_EQ(said.status, 0) << said.output;
    // An auditor wants to know which statement it was.
    EXPECT_EQ(said.output.find("rejected by the store's fence"), std::string::npos) << said.output;
}

// Goal: the doctor tells a server that works from one that is gone. Method: the command, before and
// after a kill. A fresh test server may deserve warnings.
TYPED_TEST_P(ServerLaws, TheDoctorTellsAServerThatWorksFromOneThatIsGone) {
    const auto well = run_pawl({"--store", this->url(node_timeout), "doctor", "--for", "100ms"});
    EXPECT_LE(well.status, 1) << well.output;
    EXPECT_NE(well.output.find("version"), std::string::npos) << well.output;
    this->server_.crash();
    const auto gone = run_pawl({"--store", this->url(), "doctor", "--for", "100ms"});
    EXPECT_EQ(gone.status, 2) << gone.output;
    EXPECT_NE(gone.output.find("FAIL  reachability"), std::string::npos) << gone.output;
    // Every other command says so in one line, that names the place, and by its status.
    const auto rejected = run_pawl({"--store", this->url(millis{500}), "locks", "ls"});
    EXPECT_EQ(rejected.status, 69) << rejected.output;
    EXPECT_EQ(std::count(rejected.output.begin(), rejected.output.end(), '\n'), 1)
        << rejected.output;
    const auto ports = this->ports();
    EXPECT_TRUE(std::any_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
        return rejected.output.find(std::to_string(port)) != std::string::npos;
    })) << rejected.output;
}

REGISTER_TYPED_TEST_SUITE_P(ServerLaws, AKilledOrFrozenHoldersCommandIsDeadBeforeTheNextBegins,
                            WithTheServerFrozenTheCommandEndsWithItsLease,
                            WithTheServerKilledTheCommandEndsWithItsLease,
                            WithTheHoldersNetworkCutItsCommandIsDeadBeforeTheNextBegins,
                            UnderLoadEveryFaultPassesWithoutAnOverlap,
                            FaultsInAnyOrderPassWithoutAnOverlap,
                            WithALongLatencyLeasesHoldAndPassOn,
                            ToFailAtOnceIsNotToWaitForAServerThatIsGone, TheDrillPasses,
                            TheDoctorTellsAServerThatWorksFromOneThatIsGone);

}  // namespace pawl::crash
