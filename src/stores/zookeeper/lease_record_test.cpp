#include "stores/zookeeper/lease_record.hpp"

#include <gtest/gtest.h>

namespace pawl::zookeeper {
namespace {

lease_record full() {
    lease_record record;
    record.lease = "lease-0123456789abcdef";
    record.token = fence_token{1795184283285672};
    record.acquired = 1795184283285;
    record.last_token = fence_token{1795184283285673};
    record.last_done = occurrence{-5};
    record.claim_id = "id with a space, %, = and -";
    record.owner = "me on a host: 1";
    return record;
}

void expect_same(const lease_record& a, const lease_record& b) {
    EXPECT_EQ(a.lease, b.lease);
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.acquired, b.acquired);
    EXPECT_EQ(a.lingers_until, b.lingers_until);
    EXPECT_EQ(a.last_token, b.last_token);
    EXPECT_EQ(a.last_done, b.last_done);
    EXPECT_EQ(a.claim_id, b.claim_id);
    EXPECT_EQ(a.owner, b.owner);
}

TEST(LeaseRecord, EveryRecordComesBack) {
    for (const auto* id : {"", "-", "=", "%2D", "%20", " ", "a b", "9f0c41"})
        for (const auto* owner : {"", " ", "- -", "host:1:2:x"}) {
            auto record = full();
            record.claim_id = id;
            record.owner = owner;
            const auto parsed = parse_record(text_of(record), fence_token{1}, 2);
            ASSERT_TRUE(parsed) << text_of(record);
            expect_same(*parsed, record);
        }
    const auto nobody = parse_record(text_of(lease_record{}), fence_token{1}, 2);
    ASSERT_TRUE(nobody);
    expect_same(*nobody, lease_record{});
}

// A grant cannot know its own zxid: whoever reads it takes that from the znode.
TEST(LeaseRecord, AGrantTakesItsTokenAndTimeFromTheWrite) {
    const auto text = text_of_grant(full());
    EXPECT_EQ(text.substr(0, 32), "1 lease-0123456789abcdef = = 0 =");
    const auto parsed = parse_record(text, fence_token{77}, 88);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->token, fence_token{77});
    EXPECT_EQ(parsed->last_token, fence_token{77});
    EXPECT_EQ(parsed->acquired, 88);
}

TEST(LeaseRecord, WhatNobodyWritesIsRefused) {
    for (const auto* text :
         {"", "1", "not ours", "2 - 0 0 0 0 - - x", "1 - x 0 0 0 - - x", "1 - 0 0 0 0 y - x",
          "1 - 0 0 0 0 -", "1 a/b 0 0 0 0 - - x", "1 - 0 0 0 0 - %zz x"})
        EXPECT_FALSE(parse_record(text, fence_token{1}, 2)) << text;
}

}  // namespace
}  // namespace pawl::zookeeper
