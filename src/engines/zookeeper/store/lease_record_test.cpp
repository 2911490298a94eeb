#include "engines/zookeeper/store/lease_record.hpp"

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
    EXPECT_EQ(a.cooldown_until, b.cooldown_until);
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
            const auto parsed = parse_record(text_of(record), write_stamp{fence_token{1}, 2});
            ASSERT_TRUE(parsed) << text_of(record);
            expect_same(*parsed, record);
        }
    const auto free_key = parse_record(text_of(lease_record{}), write_stamp{fence_token{1}, 2});
    ASSERT_TRUE(free_key);
    expect_same(*free_key, lease_record{});
}

// A grant cannot know its own time: its reader takes that from the znode.
TEST(LeaseRecord, AGrantTakesItsTokenAndTimeFromTheWrite) {
    auto granted = full();
    granted.last_token = fence_token{1000};
    const auto text = text_of_grant(granted);
    EXPECT_EQ(text.substr(0, 35), "2 lease-0123456789abcdef = = 0 1000");
    const auto later = parse_record(text, write_stamp{fence_token{77}, 88});
    ASSERT_TRUE(later);
    EXPECT_EQ(later->token, fence_token{88'000});
    EXPECT_EQ(later->last_token, fence_token{88'000});
    EXPECT_EQ(later->acquired, 88);
    const auto clock_behind = parse_record(text, write_stamp{fence_token{77}, 1});
    ASSERT_TRUE(clock_behind);
    EXPECT_EQ(clock_behind->token, fence_token{1001});
}

TEST(LeaseRecord, AGrantOfTheLayoutBeforeTakesItsTokenFromTheZxid) {
    const auto read = parse_record("1 lease-5 = = 0 = - id me", write_stamp{fence_token{77}, 88});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->token, fence_token{77});
    EXPECT_EQ(read->last_token, fence_token{77});
    EXPECT_EQ(read->acquired, 88);
}

TEST(LeaseRecord, WhatNoClientWritesIsRejected) {
    for (const auto* text :
         {"", "1", "not ours", "3 - 0 0 0 0 - - x", "1 - x 0 0 0 - - x", "1 - 0 0 0 0 y - x",
          "1 - 0 0 0 0 -", "1 a/b 0 0 0 0 - - x", "1 - 0 0 0 0 - %zz x"})
        EXPECT_FALSE(parse_record(text, write_stamp{fence_token{1}, 2})) << text;
}

}  // namespace
}  // namespace pawl::zookeeper
