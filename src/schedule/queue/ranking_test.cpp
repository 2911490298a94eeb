#include "schedule/queue/ranking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

using std::chrono::seconds;

constexpr int occurrences = 2'000;

std::vector<ranked_node> nodes_of(std::size_t count, std::uint32_t running_max = 8) {
    std::vector<ranked_node> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({"node-" + std::to_string(i), 0, running_max});
    return all;
}

std::vector<node_ranking> views_of(const std::vector<ranked_node>& nodes) {
    std::vector<node_ranking> all;
    for (const auto& one : nodes) {
        all.emplace_back(one.id);
        all.back().follow(nodes);
    }
    return all;
}

std::size_t count_first(const std::vector<node_ranking>& views, occurrence which) {
    return static_cast<std::size_t>(std::count_if(views.begin(), views.end(), [&](const auto& one) {
        return one.place("job/a", which) == 0;
    }));
}

// Nodes that have read the same list agree: one is first, one is second, and so on.
TEST(Ranking, EachPlaceIsOneNodes) {
    for (const std::size_t count : {1U, 2U, 3U, 10U, 300U}) {
        const auto views = views_of(nodes_of(count));
        for (int i = 0; i < 50; ++i) {
            std::vector<int> taken(places_max + 1);
            for (const auto& one : views) ++taken[one.place("job/a", occurrence{i * 1'000})];
            for (std::size_t place = 0; place < places_max; ++place)
                ASSERT_EQ(taken[place], place < count ? 1 : 0) << count << " " << place;
        }
    }
}

// Where the registry names no other, this node asks at once.
TEST(Ranking, ANodeThatKnowsNoOtherIsFirst) {
    node_ranking alone{"me"};
    EXPECT_FALSE(alone.knows_others());
    EXPECT_EQ(alone.place("job/a", occurrence{1}), 0U);
    alone.follow({});
    EXPECT_EQ(alone.place("job/a", occurrence{2}), 0U);
    alone.follow({{"me", 0, 8}});
    EXPECT_FALSE(alone.knows_others());
}

// The nodes share the occurrences of one key by their size.
TEST(Ranking, TheWorkIsSharedBySize) {
    auto nodes = nodes_of(4);
    nodes[3].running_max = 40;
    const auto views = views_of(nodes);
    std::vector<int> firsts(4);
    for (int i = 0; i < occurrences; ++i)
        for (std::size_t node = 0; node < 4; ++node)
            if (views[node].place("job/a", occurrence{i}) == 0) ++firsts[node];
    for (std::size_t node = 0; node < 3; ++node) EXPECT_NEAR(firsts[node], occurrences / 8.0, 75);
    EXPECT_NEAR(firsts[3], occurrences * 5 / 8.0, 100);
}

TEST(Ranking, AFullNodeComesLast) {
    auto nodes = nodes_of(3);
    nodes[0].running = 8;
    const auto views = views_of(nodes);
    int firsts = 0;
    for (int i = 0; i < occurrences; ++i)
        if (views[0].place("job/a", occurrence{i}) == 0) ++firsts;
    EXPECT_LT(firsts, occurrences / 100);
    EXPECT_GT(weight_of({"a", 8, 16}), weight_of({"a", 9, 16}));
    EXPECT_GT(weight_of({"a", 9, 16}), weight_of({"a", 16, 16}));
    EXPECT_GT(weight_of({"a", 0, 0}), 0);
}

// Goal: between two readings of the registry a node always asks at once. Method: one node gets
// busy, and another comes; of all nodes any number may have heard of it.
TEST(Ranking, WhoHasReadTheListAndWhoHasNotLeaveNothingBetweenThem) {
    const auto before = nodes_of(6);
    auto after = nodes_of(7);
    after[2].running = 7;
    after[4].running = 8;
    for (std::size_t heard = 0; heard <= 6; ++heard) {
        auto views = views_of(before);
        for (std::size_t i = 0; i < heard; ++i) views[(i * 5 + 2) % 6].follow(after);
        if (heard > 0) {
            views.emplace_back("node-6");
            views.back().follow(after);
        }
        for (int i = 0; i < 300; ++i) {
            const auto first = count_first(views, occurrence{i});
            ASSERT_GE(first, 1U) << heard << " " << i;
            ASSERT_LE(first, 3U) << heard << " " << i;
        }
    }
}

// A node that leaves moves its own occurrences and no others.
TEST(Ranking, ANodeThatLeavesMovesNothingElse) {
    const auto all = nodes_of(5);
    auto left = all;
    left.erase(left.begin() + 1);
    const auto before = views_of(all), after = views_of(left);
    for (int i = 0; i < occurrences; ++i) {
        if (before[1].place("job/a", occurrence{i}) == 0) continue;
        for (const std::size_t node : {0U, 2U, 3U, 4U})
            if (before[node].place("job/a", occurrence{i}) == 0) {
                EXPECT_EQ(after[node > 1 ? node - 1 : node].place("job/a", occurrence{i}), 0U);
            }
    }
}

TEST(Ranking, TheDelayOfAnOccurrenceIsTheSameOnAllNodesAndSpread) {
    double sum = 0;
    for (int i = 0; i < occurrences; ++i) {
        const auto drawn = shared_uniform("job/a", occurrence{i});
        ASSERT_GT(drawn, 0);
        ASSERT_LT(drawn, 1);
        sum += drawn;
    }
    EXPECT_NEAR(sum / occurrences, 0.5, 0.03);
    EXPECT_NE(shared_uniform("job/a", occurrence{1}), shared_uniform("job/b", occurrence{1}));
}

// The second in line waits for 300 ms at most, with the time until it looks.
TEST(Ranking, EachPlaceHoldsBackALittleLonger) {
    EXPECT_EQ(hold_back_of(0, seconds{1}), millis{0});
    EXPECT_LE(hold_back_of(1, seconds{3600}) + look_interval, millis{300});
    for (std::size_t place = 1; place < places_max; ++place)
        EXPECT_GE(hold_back_of(place + 1, seconds{1}),
                  hold_back_of(place, seconds{1}) + look_interval);
    // However many nodes there are, and whatever the registry says.
    EXPECT_LE(hold_back_of(10'000, seconds{1}), millis{900});
    EXPECT_EQ(hold_back_of(places_max, seconds{3600}), hold_back_far);
}

TEST(Ranking, LooksStandOnAGrid) {
    const instant at{std::chrono::milliseconds{1'010}};
    EXPECT_EQ(aligned(at, millis{200}, millis{50}), instant{std::chrono::milliseconds{1'050}});
    EXPECT_EQ(aligned(at, millis{200}, millis{10}), at);
    EXPECT_EQ(aligned(instant{std::chrono::milliseconds{5}}, millis{200}, millis{50}),
              instant{std::chrono::milliseconds{50}});
}

}  // namespace
}  // namespace pawl::schedule
