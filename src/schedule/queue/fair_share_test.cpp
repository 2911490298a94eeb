#include "schedule/queue/fair_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

std::vector<std::string> nodes_named(std::size_t count, const std::string& stem = "node-") {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(stem + std::to_string(i));
    std::sort(names.begin(), names.end());
    return names;
}

std::string first_of(const fair_shares& shares, std::uint32_t partition,
                     const std::vector<std::string>& nodes) {
    for (const auto& each : nodes)
        if (shares.rank(partition, each) == 0) return each;
    return "none";
}

// Goal: no node has more than its share, and none idles. Method: many counts of both.
TEST(FairShare, EveryNodeIsFirstForItsShareRoundedUpOrDown) {
    for (const std::uint32_t count : {1U, 2U, 7U, 16U, 100U, 1024U}) {
        for (const std::size_t many : {1U, 2U, 3U, 5U, 16U, 64U}) {
            const auto nodes = nodes_named(many);
            const fair_shares shares{"report", count, nodes};
            std::map<std::string, std::size_t> first;
            for (std::uint32_t i = 0; i < count; ++i) ++first[first_of(shares, i, nodes)];
            for (const auto& each : nodes) {
                EXPECT_GE(first[each], count / many) << count << " over " << many;
                EXPECT_LE(first[each], (count + many - 1) / many) << count << " over " << many;
            }
        }
    }
}

// The line of each partition has every node once, so that another is next when the first is gone.
TEST(FairShare, EveryNodeHasAPlaceOfItsOwnInEachLine) {
    const auto nodes = nodes_named(9);
    const fair_shares shares{"report", 40, nodes};
    for (std::uint32_t partition = 0; partition < 40; ++partition) {
        std::vector<std::size_t> places;
        for (const auto& each : nodes) places.push_back(shares.rank(partition, each));
        std::sort(places.begin(), places.end());
        for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], i) << partition;
    }
}

TEST(FairShare, ANodeThatIsNotAmongThemStandsBehindTheLine) {
    EXPECT_EQ(rank_of("report", 0, 4, nodes_named(3), "stranger"), 3U);
    EXPECT_EQ(rank_of("report", 0, 4, {}, "stranger"), 0U);
}

// Goal: a rolling restart does not send all the work round. Method: each node leaves in turn, and
// what then has another first node is counted; its own share is what must move.
TEST(FairShare, ANodeThatLeavesMovesFewPartitionsBeyondItsOwn) {
    constexpr std::uint32_t count = 256;
    for (const auto& [many, factor] : {std::pair{3U, 1.2}, {8U, 1.5}, {32U, 4.0}}) {
        const auto nodes = nodes_named(many);
        const fair_shares before{"report", count, nodes};
        std::size_t moved = 0;
        for (std::size_t gone = 0; gone < many; ++gone) {
            auto rest = nodes;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
            const fair_shares after{"report", count, rest};
            for (std::uint32_t i = 0; i < count; ++i)
                moved += first_of(before, i, nodes) != first_of(after, i, rest);
        }
        EXPECT_GE(moved, count) << many;  // each partition once, with its node
        EXPECT_LE(moved, count * factor) << many;
    }
}

// A job of one partition is one that a node must want: not all of them the same one.
TEST(FairShare, JobsOfOnePartitionAreSpreadOverTheNodes) {
    const auto nodes = nodes_named(4);
    std::map<std::string, int> first;
    for (int i = 0; i < 400; ++i) {
        const fair_shares shares{"job-" + std::to_string(i), 1, nodes};
        ++first[first_of(shares, 0, nodes)];
    }
    for (const auto& each : nodes) {
        EXPECT_GT(first[each], 60) << each;
        EXPECT_LT(first[each], 140) << each;
    }
}

// Nodes of different versions have to agree: these answers are part of the protocol.
TEST(FairShare, TheSharesAreTheSameInEveryBuild) {
    const auto nodes = nodes_named(5);
    const fair_shares shares{"daily-report", 8, nodes};
    std::string line;
    for (std::uint32_t i = 0; i < 8; ++i) line += first_of(shares, i, nodes).substr(5) + " ";
    EXPECT_EQ(line, "4 1 3 2 3 0 2 1 ");
}

}  // namespace
}  // namespace pawl::schedule
