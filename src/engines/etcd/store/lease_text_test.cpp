#include "engines/etcd/store/lease_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pawl::etcd {
namespace {

TEST(EtcdText, AMarkerSaysWhenAndWhereItWasMade) {
    marker_text made{1795184283285672, 0xcdf818194e3a8c32, 1795184283285999, fence_token{7}};
    EXPECT_EQ(encode(made), "2 1795184283285672 cdf818194e3a8c32 1795184283285999 7");
    const auto read = parse_marker(encode(made), 5);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->born, made.born);
    EXPECT_EQ(read->cluster, made.cluster);
    EXPECT_EQ(read->proved, made.proved);
    EXPECT_EQ(read->floor, made.floor);
    made.floor.reset();
    const auto upgraded = parse_marker(encode(made), 5);
    ASSERT_TRUE(upgraded);
    EXPECT_EQ(upgraded->floor, fence_token{1795184283285677});
}

TEST(EtcdText, AMarkerOfTheLayoutBeforeIsRead) {
    const auto read = parse_marker("1 1795184283285672 cdf818194e3a8c32", 5);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->layout, 1);
    EXPECT_EQ(read->cluster, 0xcdf818194e3a8c32);
    EXPECT_EQ(read->proved, read->born);
    EXPECT_FALSE(read->floor);
    EXPECT_EQ(read->token_of({}, 8), fence_token{1795184283285680});
    EXPECT_EQ(read->token_of(fence_token{9}, 8), fence_token{9});
}

TEST(EtcdText, AMarkerOfAnotherProgramOrOfANewerPawlIsToldApart) {
    for (const auto* text : {"", "1", "1 2", "1 x 3", "1 -5 a", "hello world there", "1 5 xyz",
                             "2 5 a", "2 5 a 6", "2 5 a 6 x", "2 5 a x 7", "3 5 a 6 7"})
        EXPECT_FALSE(parse_marker(text, 1)) << text;
    EXPECT_TRUE(is_newer_layout("3 whatever comes"));
    EXPECT_FALSE(is_newer_layout("1 5 a"));
    EXPECT_FALSE(is_newer_layout("2 5 a 6 7"));
    EXPECT_FALSE(is_newer_layout("hello world"));
}

TEST(EtcdText, ALockIsReadAsItWasWritten) {
    const lock_text held{"9f0c41", fence_token{77}, 1795184283285, "node a:4711 "};
    EXPECT_EQ(encode(held), "2 9f0c41 77 1795184283285 node a:4711 ");
    const auto read = parse_lock(encode(held));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, held.id);
    EXPECT_EQ(read->token, held.token);
    EXPECT_EQ(read->owner, held.owner);
    const auto carried = parse_lock(encode(lock_text{"", fence_token{77}, 1, ""}));
    ASSERT_TRUE(carried);
    EXPECT_EQ(carried->id, "");
    const auto before = parse_lock("1 9f0c41 - 1795184283285 me");
    ASSERT_TRUE(before);
    EXPECT_EQ(number(before->token), 0u);
    for (const auto* text : {"", "1", "3 a - 1 x", "1 a b 1 x", "1 a - b x", "1 a -"})
        EXPECT_FALSE(parse_lock(text)) << text;
}

TEST(EtcdText, ARecordIsReadAsItWasWritten) {
    using state = record_text::state;
    for (const auto how : {state::granted, state::ended, state::force_released})
        for (const auto* id : {"", "9f0c41"}) {
            const auto read = parse_record(encode(record_text{how, fence_token{5}, 6, "me", id}));
            ASSERT_TRUE(read);
            EXPECT_EQ(read->how, how);
            EXPECT_EQ(read->token, fence_token{5});
            EXPECT_EQ(read->acquired, 6);
            EXPECT_EQ(read->owner, "me");
            EXPECT_EQ(read->id, id);
        }
    const record_text one{state::ended, fence_token{50}, 6, "me"};
    EXPECT_EQ(encode(one), "2 0000000000000050 ended 6 % me");
    EXPECT_LT(encode(one), bound_of_records(fence_token{51}));
    EXPECT_GT(encode(one), bound_of_records(fence_token{50}));
    EXPECT_LT("1 granted - 6 me", bound_of_records(fence_token{1}));
    const auto before = parse_record("1 granted - 6 me");
    ASSERT_TRUE(before);
    EXPECT_EQ(before->owner, "me");
    EXPECT_EQ(before->id, "");
    for (const auto* text :
         {"1 lost 5 6 me", "2 5 ended 6", "2 ended 5 6 % me", "3 5 ended 6 % me"})
        EXPECT_FALSE(parse_record(text)) << text;
}

// etcd compares bytes: the texts must sort as the numbers do.
TEST(EtcdText, OccurrencesSortAsTheirTexts) {
    const std::vector<std::int64_t> rising{INT64_MIN, -1795184283285, -1,       0, 9,
                                           10,        1795184283285,  INT64_MAX};
    std::vector<std::string> texts;
    for (const auto each : rising) {
        texts.push_back(encode_done(occurrence{each}));
        EXPECT_EQ(parse_done(texts.back()), occurrence{each});
    }
    EXPECT_TRUE(std::is_sorted(texts.begin(), texts.end()));
    EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
    for (const auto* text : {"", "p1", "q0000000000000000001", "p000000000000000000x"})
        EXPECT_FALSE(parse_done(text)) << text;
}

TEST(EtcdText, TokensOfFencesSortAsTheirTexts) {
    const auto large = fence_token{(std::uint64_t{1} << 53) - 1};
    EXPECT_LT(encode_fence(fence_token{9}), encode_fence(fence_token{10}));
    EXPECT_LT(encode_fence(fence_token{10}), encode_fence(large));
    EXPECT_EQ(parse_fence(encode_fence(large)), large);
    EXPECT_FALSE(parse_fence("12x"));
}

TEST(EtcdText, AnIdIsOneWordWhateverItIs) {
    EXPECT_EQ(encode_id("9f0c-41_A"), "9f0c-41_A");
    EXPECT_EQ(encode_id("a b/c"), "a%20b%2fc");
    EXPECT_EQ(encode_id(""), "%");
    EXPECT_NE(encode_id("%"), encode_id(""));
}

TEST(EtcdText, ThePrefixesOfKeysEndWhereTheyShould) {
    EXPECT_EQ(end_of_prefix("pawl/lock/a"), "pawl/lock/b");
    EXPECT_EQ(end_of_prefix("\xff"), std::string(1, '\0'));
}

}  // namespace
}  // namespace pawl::etcd
