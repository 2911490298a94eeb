#include "engines/redis/store/lease_text.hpp"

#include <gtest/gtest.h>

namespace pawl::redis {
namespace {

constexpr std::int64_t now = 1'700'000'000'000'000;

TEST(LeaseText, ReadsARecordThatIsHeld) {
    const auto read = parse_record(
        "key",
        "1 1699999999000000 1700000001500001 1699999999000000 1699999998999000 w 1699999999000 "
        "dead,buried 0a1b host:1 of mine",
        now);
    ASSERT_TRUE(read.has_value() && *read);
    const auto& seen = *read;
    EXPECT_EQ(seen->key, "key");
    EXPECT_EQ(number(seen->holder), 1699999999000000u);
    EXPECT_EQ(seen->remaining, millis{1501});
    EXPECT_EQ(seen->acquired_at, 1699999998999);
    EXPECT_EQ(number(*seen->last_done), 1699999999000);
    EXPECT_EQ(seen->owner, "host:1 of mine");
}

TEST(LeaseText, AnExpiredLeaseHasNoHolder) {
    const auto read = parse_record(
        "key", "1 1699999999000000 1700000000000000 1699999999000007 1699999998999000 - - - id me",
        now);
    ASSERT_TRUE(read.has_value() && *read);
    const auto& seen = *read;
    EXPECT_EQ(number(seen->holder), 0u);
    EXPECT_EQ(seen->remaining, millis{0});
    EXPECT_EQ(number(seen->last_token), 1699999999000007u);
    EXPECT_FALSE(seen->last_done);
}

// A key that was only ever withdrawn is no lock.
TEST(LeaseText, ARecordOfWithdrawnClaimsAloneIsNoRecord) {
    const auto read = parse_record("key",
                                   "1 0000000000000000 0000000000000000 0000000000000000 "
                                   "0000000000000000 - - 0a1b - ",
                                   now);
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->has_value());
}

TEST(LeaseText, WhatIsNoRecordIsNotRead) {
    for (const auto* text : {"", "1", "2 1 1 1 1 - - - - me", "1 x 1 1 1 - - - - me", "1 1 1 1",
                             "1 -1 1 1 1 - - - - me", "1 1 99999999999999999999 1 1 - - - - me"})
        EXPECT_TRUE(parse_record("key", text, now).has_error()) << text;
}

// An id stands between spaces and commas, and "-" means none.
TEST(LeaseText, AnyIdIsOneWordAndNoTwoAreTheSame) {
    EXPECT_EQ(encode_id("0123456789abcdef"), "0123456789abcdef");
    EXPECT_EQ(encode_id("a b,c%d"), "a%20b%2Cc%25d");
    EXPECT_EQ(encode_id("-"), "%2D");
    EXPECT_NE(encode_id(""), encode_id("%"));
    EXPECT_FALSE(encode_id("").empty());
}

}  // namespace
}  // namespace pawl::redis
