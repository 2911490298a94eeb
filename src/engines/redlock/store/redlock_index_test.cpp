// The index of keys that each node has.
#include "engines/redlock/store/redlock_fixture.hpp"

#include "engines/redis/store/index_fixture.hpp"

namespace pawl::redlock {
namespace {

using redis::add_dead_names;

bool all_hold(const redlock_servers& servers, const std::string& names) {
    for (std::size_t i = 0; i < servers.size(); ++i)
        if (servers.at(i).ask({"ZRANGE", "pawl:redlocks", "0", "-1"}) != names) return false;
    return true;
}

// Goal: a list holds up no node, however many keys have died there. Method: some nodes have many
// dead names, which stand before the living.
TEST(RedlockIndex, AListLooksAtSomeDeadKeysAtATime) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    for (const auto* key : {"a/10", "y", "z"}) mine.granted(fresh_claim(key, 60s));
    until([&] { return all_hold(servers, "a/10\ny\nz"); });
    for (const std::size_t node : {0u, 1u})
        add_dead_names(servers.at(node), "pawl:redlocks", 20'000);
    for (std::size_t i = 0; i < 3; ++i) servers.at(i).ask({"CONFIG", "RESETSTAT"});
    for (const std::size_t limit : {100u, 1u}) {
        const auto seen = mine.all("", limit);
        ASSERT_EQ(seen.size(), 3u);
        EXPECT_EQ(seen.front().key, "a/10");
        EXPECT_EQ(seen.back().key, "z");
    }
    until([&] { return all_hold(servers, "a/10\ny\nz"); });
}

// Goal: keys that are used once leave nothing behind at any node. Method: another key is granted.
TEST(RedlockIndex, GrantsSweepWhatHasDied) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports()));
    for (std::size_t i = 0; i < 3; ++i) add_dead_names(servers.at(i), "pawl:redlocks", 1'000);
    mine.granted(fresh_claim("a/live", 60s));
    for (int i = 0; i < 1'500; ++i)
        EXPECT_TRUE(conformance::yes(mine.release("key", mine.granted(fresh_claim("key")))));
    until([&] { return all_hold(servers, "a/live\nkey"); });
}

}  // namespace
}  // namespace pawl::redlock
