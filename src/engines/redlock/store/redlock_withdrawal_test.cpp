// What was withdrawn stays dead, on each node.
#include "engines/redlock/store/redlock_fixture.hpp"

#include "test_support/conformance/faults.hpp"

namespace pawl::redlock {
namespace {

// Goal: a claim that was sent twice must not hold the key for no client. Method: its claimer
// releases it, withdraws it, and then its other copy arrives.
TEST(RedlockStore, AWithdrawalBehindTheReleaseKeepsALateCopyOut) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    const auto sent_twice = fresh_claim("key", 60s);
    EXPECT_TRUE(conformance::yes(mine.release("key", mine.granted(sent_twice))));
    EXPECT_FALSE(conformance::yes(mine.withdraw({"key", sent_twice.id})));
    EXPECT_EQ(number(mine.rejected(sent_twice).holder), 0u);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("key"))), 0u);
}

TEST(RedlockStore, TheLast32WithdrawnClaimsAreRemembered) {
    redlock_servers servers;
    auto mine = open(on_ports(servers.ports()));
    conformance::expect_withdrawals_remembered(mine, 32);
}

}  // namespace
}  // namespace pawl::redlock
