#include "health/lock_debt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::health {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t noon = 1'795'000'000'000;

record held(const std::string& key, std::uint64_t token, millis since, std::uint32_t waiters = 0) {
    record one;
    one.key = key;
    one.owner = "node-a";
    one.holder = fence_token{token};
    one.last_token = fence_token{token};
    one.remaining = millis{1000};
    one.acquired_at = noon - since.count();
    one.waiters = waiters;
    return one;
}

record released(const std::string& key, std::uint64_t token) {
    auto one = held(key, token, millis{0});
    one.holder = fence_token{0};
    return one;
}

// Goal: what is held longest comes first, and only beyond the bound it is debt.
TEST(LockDebt, NamesTheLeasesThatAreHeldLongest) {
    debt_ledger ledger{{.held_warned = millis{60'000}, .keys_shown = 2}};
    ledger.look({held("short", 1, millis{1000}), held("long", 2, millis{60'000}),
                 held("middle", 3, millis{30'000}), released("free", 4)});
    const auto calm = ledger.findings(noon, millis{1000});
    EXPECT_EQ(calm[0].level, severity::ok);
    EXPECT_THAT(calm[0].text,
                AllOf(HasSubstr("3 leases are held of 4 known keys"),
                      HasSubstr("'long' for 1m, 'middle' for 30s"), Not(HasSubstr("short"))));
    const auto later = ledger.findings(noon + 1000, millis{1000});
    EXPECT_EQ(later[0].level, severity::warn);
    EXPECT_THAT(later[0].text, HasSubstr("pawl locks show"));
}

TEST(LockDebt, NamesTheKeysThatMostWaitFor) {
    debt_ledger ledger{{.waiters_warned = 5}};
    ledger.look({held("calm", 1, millis{1000}, 1), held("busy", 2, millis{1000}, 4)});
    EXPECT_EQ(ledger.findings(noon, millis{1000})[1].level, severity::ok);
    EXPECT_THAT(ledger.findings(noon, millis{1000})[1].text,
                HasSubstr("most waiters: 'busy' 4, 'calm' 1"));
    ledger.look({held("calm", 1, millis{1000}, 1), held("busy", 2, millis{1000}, 5)});
    EXPECT_EQ(ledger.findings(noon, millis{1000})[1].level, severity::warn);
}

// The first grants of a namespace count as well.
TEST(LockDebt, CountsWhatIsGrantedInAnEmptyNamespace) {
    debt_ledger ledger{{}};
    ledger.look({});
    ledger.look({held("first", 1, millis{0}), held("second", 2, millis{0})});
    EXPECT_THAT(ledger.findings(noon, millis{60'000})[2].text,
                HasSubstr("at least 2 tokens per minute"));
}

// Where the engine cannot count, the doctor says so rather than "none".
TEST(LockDebt, TellsNoWaitersFromUnknown) {
    debt_ledger ledger{{}};
    EXPECT_THAT(ledger.findings(noon, millis{1000})[1].text, HasSubstr("no key has waiters"));
    auto one = held("key", 1, millis{1000});
    one.waiters.reset();
    ledger.look({one});
    EXPECT_THAT(ledger.findings(noon, millis{1000})[1].text, HasSubstr("does not count"));
}

// Goal: tokens that rose between two looks are grants; what was there before is not.
TEST(LockDebt, CountsTokensThatRose) {
    debt_ledger ledger{{}};
    ledger.look({held("a", 1, millis{0}), held("b", 1, millis{0})});
    ledger.look({held("a", 2, millis{0}), held("b", 1, millis{0})});
    ledger.look({held("a", 3, millis{0}), held("b", 1, millis{0}), held("new", 7, millis{0})});
    const auto seen = ledger.findings(noon, millis{60'000})[2].text;
    EXPECT_THAT(seen,
                AllOf(HasSubstr("at least 3 tokens per minute"),
                      HasSubstr("'a' 2 per minute, 'new' 1 per minute"), Not(HasSubstr("'b'"))));
}

TEST(LockDebt, AnEmptyStoreOwesNothing) {
    debt_ledger ledger{{}};
    ledger.look({});
    for (const auto& one : ledger.findings(noon, millis{1000})) EXPECT_EQ(one.level, severity::ok);
}

// A key that a person or a program named may hold anything; a line stays one line.
TEST(LockDebt, PrintsOddKeysOnOneLine) {
    debt_ledger ledger{{}};
    ledger.look({held("a\nb", 1, millis{1000})});
    EXPECT_THAT(ledger.findings(noon, millis{1000})[0].text, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace pawl::health
