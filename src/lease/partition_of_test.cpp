#include <pawl/partition.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

std::string tenant(int number) { return "tenant-" + std::to_string(number); }

// Programs keep data by partition, so these figures may never change.
TEST(PartitionOf, IsTheSameInEveryVersion) {
    EXPECT_EQ(partition_of("", 16), 5U);
    EXPECT_EQ(partition_of("tenant-1", 16), 0U);
    EXPECT_EQ(partition_of("tenant-2", 16), 11U);
    EXPECT_EQ(partition_of("tenant-1", 1024), 612U);
    EXPECT_EQ(partition_of(std::string_view{"a\0b", 3}, 1024), 923U);
}

TEST(PartitionOf, OneOrNoneIsTheFirst) {
    EXPECT_EQ(partition_of("tenant-1", 1), 0U);
    EXPECT_EQ(partition_of("tenant-1", 0), 0U);
}

// Keys that differ in their last digits only are the usual ones.
TEST(PartitionOf, SpreadsKeysEvenly) {
    constexpr int keys = 64'000;
    std::vector<int> found(64);
    for (int i = 0; i < keys; ++i) ++found.at(partition_of(tenant(i), 64));
    for (const auto count : found) {
        EXPECT_GT(count, 850);
        EXPECT_LT(count, 1'150);
    }
}

TEST(PartitionOf, OnePartitionMoreTakesKeysAndMovesNoOther) {
    constexpr int keys = 16'000;
    int moved = 0;
    for (int i = 0; i < keys; ++i) {
        const auto before = partition_of(tenant(i), 15);
        const auto after = partition_of(tenant(i), 16);
        if (after == before) continue;
        EXPECT_EQ(after, 15U);
        ++moved;
    }
    EXPECT_GT(moved, keys / 16 * 85 / 100);
    EXPECT_LT(moved, keys / 16 * 115 / 100);
}

}  // namespace
}  // namespace pawl
