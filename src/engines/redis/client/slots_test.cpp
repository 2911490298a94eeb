#include "engines/redis/client/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace pawl::redis {
namespace {

// Source: the check value of CRC-16/XMODEM, and examples of the Redis Cluster specification.
TEST(Slots, AreThoseOfTheSpecification) {
    EXPECT_EQ(crc16("123456789"), 0x31c3);
    EXPECT_EQ(slot_of_name("foo"), 12182u);
    EXPECT_EQ(slot_of_name("{user1000}.following"), slot_of_name("{user1000}.followers"));
    EXPECT_NE(slot_of_name("foo{}{bar}"), slot_of_name("{bar}"));
    EXPECT_EQ(slot_of_name("foo{{bar}}zap"), crc16("{bar") % cluster_slots);
    EXPECT_EQ(slot_of_name("foo{bar}{zap}"), slot_of_name("bar"));
}

TEST(Slots, EveryShardHasItsOwnPartOfThem) {
    std::set<std::string> tags;
    for (std::size_t shard = 0; shard < cluster_shards; ++shard) {
        tags.insert(shard_tag(shard));
        EXPECT_EQ(shard_slot(shard) / (cluster_slots / cluster_shards), shard);
        EXPECT_EQ(shard_in_slot(shard_slot(shard)), shard);
    }
    EXPECT_EQ(tags.size(), cluster_shards);
    std::size_t found = 0;
    for (std::size_t slot = 0; slot < cluster_slots; ++slot)
        found += shard_in_slot(slot) < cluster_shards ? 1u : 0u;
    EXPECT_EQ(found, cluster_shards);
}

// Goal: no key escapes the slot of its shard. Method: keys that bring braces of their own.
TEST(Slots, TheNamesOfAKeyShareASlotWhateverItIsMadeOf) {
    for (const std::string key :
         {"plain", "{a}", "}{", "{", "}", "{}", "a{b}c{d}", "{{}}", ":lock:"}) {
        const auto shard = shard_of_key(key);
        const auto space = "pawl{" + shard_tag(shard) + "}";
        for (const auto& name :
             {space + ":lock:" + key, space + ":fence:" + key, space + ":locks", space + ":marker"})
            EXPECT_EQ(slot_of_name(name), shard_slot(shard)) << name;
    }
}

TEST(Slots, KeysAreSpreadEvenly) {
    std::vector<int> count(cluster_shards, 0);
    for (int i = 0; i < 100'000; ++i) ++count[shard_of_key("job/" + std::to_string(i))];
    EXPECT_GT(*std::min_element(count.begin(), count.end()), 250);
    EXPECT_LT(*std::max_element(count.begin(), count.end()), 600);
}

}  // namespace
}  // namespace pawl::redis
