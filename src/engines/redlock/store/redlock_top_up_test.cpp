// A renewal that needs nodes which have forgotten the lease.
#include "engines/redlock/store/redlock_fixture.hpp"

#include <algorithm>

namespace pawl::redlock {
namespace {

using conformance::lease_of;

void until_all_three_confirmed(redlock_servers& servers) {
    until([&] {
        const auto all = {0u, 1u, 2u};
        return std::all_of(all.begin(), all.end(), [&](std::size_t node) {
            const auto text = servers.at(node).ask({"GET", "pawl:redlock:key"});
            return text.size() > 70 && text[70] == 'c';
        });
    });
}

// Goal: a lease that may be held is not lost (rule 9). Method: two of three nodes have forgotten
// it, and answer renewals, but cannot write for now, so that no top-up has an answer in time.
TEST(RedlockTopUp, ATopUpWithoutAnAnswerIsUnknown) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 1s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    const auto lease = lease_of("key", token, 60s);
    until_all_three_confirmed(servers);
    // A full server rejects what writes, and answers what reads.
    for (const std::size_t node : {1u, 2u}) {
        servers.at(node).ask({"FLUSHALL"});
        servers.at(node).ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    }
    EXPECT_EQ(mine.renew(lease), renewal::unknown);
    for (const std::size_t node : {1u, 2u})
        servers.at(node).ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_EQ(mine.renew(lease), renewal::renewed);
}

// Goal: what becomes of a lease does not depend on who answers first. Method: two of three nodes
// have forgotten it, and answer before the one that remembers, which they then join.
TEST(RedlockTopUp, AHolderThatAnswersLastIsJoined) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 5s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    until_all_three_confirmed(servers);
    for (const std::size_t node : {1u, 2u}) servers.at(node).ask({"FLUSHALL"});
    servers.at(0).ask({"CLIENT", "PAUSE", "300", "ALL"});
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
}

enum class end { dead, frozen };

void end_node(redlock_servers& servers, std::size_t which, end how) {
    if (how == end::dead)
        servers.at(which).crash();
    else
        servers.at(which).freeze();
}

class RedlockMinority : public testing::TestWithParam<end> {};

// Goal: the loss of a minority stops nothing. Method: of three nodes one holds, one has restarted
// with nothing, its scripts included, and one is away: the two that are there are enough.
TEST_P(RedlockMinority, AFreeNodeIsJoinedWithoutTheOneThatIsAway) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 5s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    until_all_three_confirmed(servers);
    servers.at(1).ask({"FLUSHALL"});
    servers.at(1).ask({"SCRIPT", "FLUSH"});
    end_node(servers, 2, GetParam());
    const auto began = lease_clock::now();
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::renewed);
    EXPECT_LT(lease_clock::now() - began, 4s);  // without waiting for it
}

// Method: the same by a process that was not granted it, so that it has to look for the claim. Two
// of the three hold, so that each of the two has to be heard.
TEST_P(RedlockMinority, AnotherProcessRenewsWithoutTheOneThatIsAway) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 5s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    until_all_three_confirmed(servers);
    end_node(servers, 2, GetParam());
    auto other = open(on_ports(servers.ports(), 5s));
    const auto began = lease_clock::now();
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(other.renew(lease_of("key", token, 60s)), renewal::renewed);
    EXPECT_LT(lease_clock::now() - began, 4s);
}

// Goal: no process is told that a lease is lost which a majority may hold (rule 9). Method: one of
// three has no record, as one that was down when it was granted, and another is away: a process
// that was not granted it knows of one holder only, and joins the one that is free.
TEST_P(RedlockMinority, AnotherProcessIsNotToldThatItIsLost) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 2s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    until_all_three_confirmed(servers);
    servers.at(1).ask({"FLUSHALL"});
    end_node(servers, 2, GetParam());
    auto other = open(on_ports(servers.ports(), 2s));
    EXPECT_EQ(other.renew(lease_of("key", token, 60s)), renewal::renewed);
}

INSTANTIATE_TEST_SUITE_P(RedlockTopUp, RedlockMinority, testing::Values(end::dead, end::frozen),
                         [](const auto& one) {
                             return one.param == end::dead ? "Dead" : "Frozen";
                         });

}  // namespace
}  // namespace pawl::redlock
