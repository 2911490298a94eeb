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

}  // namespace
}  // namespace pawl::redlock
