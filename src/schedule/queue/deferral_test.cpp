#include "schedule/queue/deferral.hpp"

#include "schedule/queue/ranking.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace pawl::schedule {
namespace {

using act = deferral::act;
using std::chrono::hours;

constexpr occurrence first{60'000}, second{61'000};

constexpr millis max_skew{60'000};

instant at(long ms) { return instant{hours{1} + millis{ms}}; }

record free_key(std::optional<occurrence> done = {}) {
    record one;
    one.key = "job/a";
    one.last_done = done;
    return one;
}
record held_key(std::optional<occurrence> done, long remaining) {
    auto one = free_key(done);
    one.holder = one.last_token = fence_token{7};
    one.remaining = millis{remaining};
    one.acquired_at = number(first);
    return one;
}

constexpr queue_rules gives_way_rules{};
constexpr queue_rules at_least_once{overlap::skip, delivery::at_least_once};
constexpr queue_rules in_line{overlap::queue, delivery::at_least_once};

// Due at 0 ms, at this place in the line.
deferral::timing place_of(std::size_t place, long due = 0) {
    deferral::timing where;
    where.place = place;
    where.first_asks = at(due);
    where.hold_back = hold_back_of(place, millis{1'000});
    where.first_look = at(due) + std::min(where.hold_back, hold_back_first);
    where.give_up = at(due) + hours{1};
    return where;
}

std::vector<std::pair<std::int64_t, act>> told(const std::vector<deferral::finding>& all) {
    std::vector<std::pair<std::int64_t, act>> plain;
    for (const auto& one : all) plain.emplace_back(number(one.which), one.what);
    return plain;
}
using findings = std::vector<std::pair<std::int64_t, act>>;

// In the ordinary case all nodes but the first look once and never ask.
TEST(Deferral, WhatIsDoneIsLetGoOf) {
    for (std::size_t place = 1; place <= places_max; ++place) {
        deferral mine;
        mine.add(first, place_of(place));
        EXPECT_EQ(mine.next_look(), at(100));
        EXPECT_EQ(told(mine.on_look(gives_way_rules, held_key(first, 5'000), at(100), max_skew)),
                  findings{});
        EXPECT_TRUE(mine.empty());
        EXPECT_EQ(mine.next_look(), std::nullopt);
    }
}

// A first node that is dead, frozen, full or paused costs the hold-back of the next.
TEST(Deferral, WhatHasNotRunIsAskedForInTheOrderOfTheLine) {
    for (std::size_t place = 1; place <= places_max; ++place) {
        deferral mine;
        mine.add(first, place_of(place));
        const auto turn = at(0) + hold_back_of(place, millis{1'000});
        if (turn > at(100)) {
            EXPECT_EQ(told(mine.on_look(in_line, free_key(), at(100), max_skew)), findings{});
        }
        EXPECT_EQ(mine.next_look(), turn);
        EXPECT_EQ(told(mine.on_look(in_line, std::nullopt, turn, max_skew)),
                  (findings{{number(first), act::ask}}));
        EXPECT_TRUE(mine.has(first));
        EXPECT_TRUE(mine.take(first));
        EXPECT_FALSE(mine.take(first));
    }
}

// Goal: a run that breaks is taken up by one node at a time. Method: its lease is seen to run, is
// renewed, and then ends; the next in line asks a moment behind its end, the others later.
TEST(Deferral, BehindTheEndOfALeaseTheLineBeginsAnew) {
    deferral second_node, third_node;
    second_node.add(first, place_of(1));
    third_node.add(first, place_of(2));
    for (auto* one : {&second_node, &third_node}) {
        EXPECT_TRUE(one->on_look(at_least_once, held_key({}, 4'000), at(200), max_skew).empty());
        EXPECT_EQ(one->next_look(), at(1'200));
        EXPECT_TRUE(one->on_look(at_least_once, held_key({}, 300), at(5'200), max_skew).empty());
    }
    EXPECT_EQ(second_node.next_look(), at(5'601));
    EXPECT_EQ(third_node.next_look(), at(5'801));
    EXPECT_EQ(told(second_node.on_look(in_line, free_key(), at(5'601), max_skew)),
              (findings{{number(first), act::ask}}));
    // Where those before it may have skipped it, their row is asked for first.
    EXPECT_EQ(told(third_node.on_look(at_least_once, free_key(), at(5'801), max_skew)),
              (findings{{number(first), act::consult}}));
    EXPECT_EQ(third_node.next_look(), std::nullopt);
    EXPECT_TRUE(third_node.on_look(at_least_once, free_key(first), at(6'000), max_skew).empty());
    EXPECT_TRUE(third_node.empty());
}

// Goal: what runs for a part of the time until the next occurrence is seen to be done, and no row
// is read. Method: it is held at the first look; the next look is right before the next occurrence.
TEST(Deferral, WhatRunsIsLookedAtBeforeTheNextIsDue) {
    deferral mine;
    auto where = place_of(3);
    where.next_asks = at(1'000);
    mine.add(first, where);
    EXPECT_TRUE(mine.on_look(at_least_once, held_key({}, 5'000), at(200), max_skew).empty());
    EXPECT_EQ(mine.next_look(), at(750));
    EXPECT_TRUE(mine.on_look(at_least_once, held_key({}, 4'450), at(750), max_skew).empty());
    EXPECT_EQ(mine.next_look(), at(1'750));
    EXPECT_TRUE(mine.on_look(at_least_once, free_key(first), at(1'100), max_skew).empty());
    EXPECT_TRUE(mine.empty());
}

// Goal: what a node that shuts down has left is taken up soon. Method: the lease is given back long
// before its end.
TEST(Deferral, AKeyThatIsGivenBackEarlyIsAskedForInTheOrderOfTheLine) {
    deferral mine;
    mine.add(first, place_of(2));
    EXPECT_TRUE(mine.on_look(in_line, held_key({}, 30'000), at(100), max_skew).empty());
    EXPECT_TRUE(mine.on_look(in_line, free_key(), at(1'100), max_skew).empty());
    EXPECT_EQ(mine.next_look(), at(1'400));
    EXPECT_EQ(told(mine.on_look(in_line, free_key(), at(1'400), max_skew)),
              (findings{{number(first), act::ask}}));
}

// An occurrence that gives way has nothing to wait for: the first in line has written why.
TEST(Deferral, WhatGivesWayIsLookedUpAtOnce) {
    deferral mine;
    mine.add(second, place_of(3));
    EXPECT_EQ(told(mine.on_look(gives_way_rules, held_key(first, 5'000), at(100), max_skew)),
              (findings{{number(second), act::consult}}));
    // A cooldown ends by itself.
    deferral other;
    other.add(second, place_of(1));
    auto cooling = free_key(first);
    cooling.remaining = millis{400};
    EXPECT_TRUE(other.on_look(gives_way_rules, cooling, at(100), max_skew).empty());
    EXPECT_EQ(other.next_look(), at(601));
    // A lease that is kept until it expires is the job's way to say that nothing is to run.
    auto kept = gives_way_rules;
    kept.hold_until_expiry = true;
    EXPECT_TRUE(other.on_look(kept, held_key(first, 400), at(200), max_skew).empty());
    EXPECT_TRUE(other.empty());
}
// Goal: where the previous run is active an occurrence is skipped, though it might be run again if
// it had begun. Method: the key was acquired before it could be for this occurrence, or later.
TEST(Deferral, AtLeastOnceWhatOverlapsIsLookedUpAtOnce) {
    constexpr occurrence late{number(first) + 70'000};
    for (std::size_t place = 0; place <= places_max; ++place) {
        deferral mine;
        mine.add(late, place_of(place));
        const auto asks = place == 0 ? act::ask : act::consult;
        EXPECT_EQ(told(mine.on_look(at_least_once, held_key({}, 5'000), at(100), max_skew)),
                  (findings{{number(late), asks}}));
    }
    const auto key = held_key({}, 5'000);
    EXPECT_TRUE(is_overlapped(at_least_once, key, late, max_skew));
    EXPECT_FALSE(is_overlapped(at_least_once, key, occurrence{number(first) + 60'000}, max_skew));
    EXPECT_FALSE(is_overlapped(in_line, key, late, max_skew));
    EXPECT_FALSE(is_overlapped(gives_way_rules, key, late, max_skew));
    EXPECT_FALSE(is_overlapped(at_least_once, free_key(), late, max_skew));
}

TEST(Deferral, WhatALaterOneHasPassedIsAskedForOnlyWithoutARow) {
    deferral mine;
    mine.add(first, place_of(2));
    EXPECT_EQ(told(mine.on_look(in_line, free_key(second), at(100), max_skew)),
              (findings{{number(first), act::find_row}}));
}

// Where occurrences are taken in their order, this node does not ask for a later one before one
// that it has left to others.
TEST(Deferral, WhatIsAskedForTakesWhatIsBeforeItAlong) {
    deferral mine;
    mine.add(first, place_of(4));
    mine.add(second, place_of(0, 1'000));
    EXPECT_EQ(mine.next_look(), at(100));
    EXPECT_EQ(told(mine.on_look(in_line, held_key({}, 5'000), at(1'000), max_skew)),
              (findings{{number(first), act::ask}, {number(second), act::ask}}));
    // One that gives way stands in no other's way.
    deferral other;
    other.add(first, place_of(5));
    other.add(second, place_of(0, 500));
    EXPECT_EQ(told(other.on_look(gives_way_rules, free_key(), at(500), max_skew)),
              (findings{{number(second), act::ask}}));
}

TEST(Deferral, WhileARowIsReadTheLaterOnesWait) {
    deferral mine;
    mine.add(first, place_of(1));
    EXPECT_TRUE(mine.on_look(at_least_once, held_key({}, 100), at(100), max_skew).empty());
    EXPECT_EQ(told(mine.on_look(at_least_once, free_key(), at(400), max_skew)),
              (findings{{number(first), act::consult}}));
    mine.add(second, place_of(0, 1'000));
    EXPECT_TRUE(mine.on_look(at_least_once, free_key(), at(1'000), max_skew).empty());
    EXPECT_EQ(mine.next_look(), at(1'250));
    EXPECT_TRUE(mine.take(first));
    EXPECT_EQ(told(mine.on_look(at_least_once, free_key(), at(1'250), max_skew)),
              (findings{{number(second), act::ask}}));
}

// A store that does not answer is asked by each node in its turn, as it is without a line.
TEST(Deferral, WithoutAnAnswerEachAsksInItsTurn) {
    deferral mine;
    mine.add(first, place_of(2));
    EXPECT_TRUE(mine.on_no_answer(gives_way_rules, at(100)).empty());
    EXPECT_EQ(mine.next_look(), at(350));
    EXPECT_EQ(told(mine.on_no_answer(gives_way_rules, at(350))),
              (findings{{number(first), act::ask}}));
}

TEST(Deferral, IsBoundedAndForgets) {
    deferral mine;
    for (int i = 0; i <= static_cast<int>(deferred_max); ++i) mine.add(occurrence{i}, place_of(5));
    EXPECT_EQ(told(mine.on_look(gives_way_rules, free_key(), at(0), max_skew)),
              (findings{{0, act::ask}}));
    mine.forget_ahead(occurrence{10});
    EXPECT_EQ(mine.latest(), occurrence{10});
    mine.forget_all();
    EXPECT_TRUE(mine.empty());
    // What waited beyond its window is asked for, so that it is told to be too late.
    auto late = place_of(5);
    late.give_up = at(50);
    mine.add(first, late);
    EXPECT_EQ(told(mine.on_look(in_line, held_key({}, 9'000), at(100), max_skew)),
              (findings{{number(first), act::ask}}));
}

TEST(Deferral, ARowSettlesWhatItsModeDoesNotRunAgain) {
    const auto row = [](run_status status) {
        run_record one;
        one.status = status;
        return one;
    };
    EXPECT_TRUE(settles(gives_way_rules, row(run_status::skipped)));
    EXPECT_TRUE(settles(gives_way_rules, row(run_status::started)));
    EXPECT_TRUE(settles(at_least_once, row(run_status::skipped)));
    EXPECT_TRUE(settles(at_least_once, row(run_status::completed)));
    EXPECT_FALSE(settles(at_least_once, row(run_status::started)));
    EXPECT_FALSE(settles(at_least_once, row(run_status::abandoned)));
    EXPECT_FALSE(settles(in_line, row(run_status::skipped)));
}

}  // namespace
}  // namespace pawl::schedule
