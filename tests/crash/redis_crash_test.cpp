// Holders on one Redis that die or freeze, whose server stops, or whose network is cut.
#include "testing/faults/tcp_proxy.hpp"
#include "testing/servers/redis_server.hpp"
#include "tests/crash/contest.hpp"
#include "tests/crash/separate_network.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

namespace pawl::crash {
namespace {

using testing_faults::direction;
using testing_servers::redis_options;
using testing_servers::redis_persistence;
using testing_servers::redis_server;

std::string url_of(const std::string& host, std::uint16_t port) {
    return "redis://" + host + ":" + std::to_string(port) + "?timeout=300ms";
}

// The way from one node to the server.
class cable {
public:
    virtual ~cable() = default;
    virtual place far_end() const = 0;
    // From then on there is silence: no connection is reset.
    virtual void cut() = 0;
    virtual void mend() = 0;
};

class real_cable : public cable {
public:
    real_cable(int number, std::uint16_t port) : network_{number}, port_{port} {}
    place far_end() const override {
        return {url_of(network_.our_address(), port_), network_.prefix()};
    }
    void cut() override { network_.cut(); }
    void mend() override { network_.mend(); }

private:
    separate_network network_;
    std::uint16_t port_;
};

class proxied_cable : public cable {
public:
    explicit proxied_cable(std::uint16_t port) : proxy_{port} {}
    place far_end() const override { return {url_of("127.0.0.1", proxy_.port())}; }
    void cut() override {
        proxy_.stall(direction::to_server);
        proxy_.stall(direction::to_client);
    }
    void mend() override {
        proxy_.resume(direction::to_server);
        proxy_.resume(direction::to_client);
    }

private:
    testing_faults::tcp_proxy proxy_;
};

bool may_administer_networks() {
    constexpr int cap_net_admin = 12;
    const std::string status = text_of("/proc/self/status");
    const std::size_t line = status.find("CapEff:\t");
    return (std::stoull(status.substr(line + 8, 16), nullptr, 16) >> cap_net_admin & 1) == 1;
}

// A network namespace where we may make one, and then it must succeed; else a proxy.
std::unique_ptr<cable> lay_cable(int number, std::uint16_t port) {
    if (may_administer_networks()) return std::make_unique<real_cable>(number, port);
    return std::make_unique<proxied_cable>(port);
}

// Waits until the scribe that wrote last is dead, which must be before its lease has ended.
void expect_command_ends_in_time(const contest& nodes) {
    const auto entries = entries_of(nodes.log());
    const entry last_seen = entries.back();
    EXPECT_TRUE(eventually([&] { return !is_running(last_seen.writer); }));
    EXPECT_LT(entries_of(nodes.log()).back().when, last_seen.when + contest_ttl);
}

// SIGKILL and SIGSTOP in turn.
TEST(RedisCrash, AKilledOrFrozenHoldersCommandIsDeadBeforeTheNextBegins) {
    const redis_server server;
    contest nodes{{place{url_of("127.0.0.1", server.port())}}};
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(nodes.take_over([](node& holder) { holder.signal(SIGKILL); }), 128 + SIGKILL);
        EXPECT_EQ(nodes.take_over([](node& holder) { holder.signal(SIGSTOP); },
                                  [](node& holder) { holder.signal(SIGCONT); }),
                  lease_lost);
    }
    expect_one_at_a_time(nodes, 7);
}

// The server frozen: no answer, and no reset either. The command ends with the trust in its lease,
// and the next begins when the server goes on.
TEST(RedisCrash, WithTheServerFrozenTheCommandEndsWithItsLease) {
    const redis_server server;
    contest nodes{{place{url_of("127.0.0.1", server.port())}}};
    for (int round = 0; round < 3; ++round) {
        const int status = nodes.replace([&](node&) {
            server.freeze();
            expect_command_ends_in_time(nodes);
            server.thaw();
        });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 4);
}

// The server killed and started again later, with its data: connections are refused meanwhile.
TEST(RedisCrash, WithTheServerKilledTheCommandEndsWithItsLease) {
    redis_options options;
    options.persistence = redis_persistence::append_synced;
    redis_server server{options};
    contest nodes{{place{url_of("127.0.0.1", server.port())}}};
    for (int round = 0; round < 2; ++round) {
        const int status = nodes.replace([&](node&) {
            server.crash();
            expect_command_ends_in_time(nodes);
            server.start();
        });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 3);
}

// Each node has its own cable; the holder's is pulled, and put back after the takeover.
TEST(RedisCrash, WithTheHoldersNetworkCutItsCommandIsDeadBeforeTheNextBegins) {
    redis_options options;
    // From a network of its own a node does not reach our loopback address.
    options.more = {"bind 0.0.0.0", "protected-mode no"};
    const redis_server server{options};
    const auto first = lay_cable(1, server.port());
    const auto second = lay_cable(2, server.port());
    contest nodes{{first->far_end(), second->far_end()}};
    for (int round = 0; round < 4; ++round) {
        cable& holders = round % 2 == 0 ? *first : *second;
        const int status =
            nodes.take_over([&](node&) { holders.cut(); }, [&](node&) { holders.mend(); });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 5);
}

}  // namespace
}  // namespace pawl::crash
