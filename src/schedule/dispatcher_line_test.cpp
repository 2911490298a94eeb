// A scheduler that is second in line behind a node which does not run what comes due, and one that
// is such a node.
#include "schedule/dispatcher_fixture.hpp"
#include "schedule/queue/ranking.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

// Large, and there by its heartbeats alone.
node_entry entry_of_other() {
    node_entry other;
    other.id = other.name = "first in line";
    other.running_max = 4'000;
    return other;
}

// The name of a job whose occurrence has `other` before `me`, and whose delay is that part of its
// longest.
std::string name_of_job(const std::string& me, occurrence which, double from, double until) {
    schedule::node_ranking nodes{me};
    nodes.follow({{me, 0, 4}, {entry_of_other().id, 0, entry_of_other().running_max}});
    for (int i = 0;; ++i) {
        auto name = "j" + std::to_string(i);
        const auto delay = schedule::shared_uniform(name, which);
        if (nodes.place(name, which) == 1 && delay > from && delay < until) return name;
    }
}

// Goal: an occurrence that the first in line does not run is another's, however long its delay.
// Method: a node leaves one to a node that is there by its heartbeats alone; the delay that both
// have drawn is longer than the window.
TEST(DispatcherLine, ADelayBeyondTheMisfireWindowKeepsNoOtherFromRunning) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.max_concurrent_runs = 4, .observer = ears});
    const auto due = whole_second_in(15s);
    auto late = daily_at(due);
    late.misfire_window = 4s;
    late.jitter = 12s;
    const auto job =
        name_of_job(a->its_locks().owner(), occurrence{only(due).front()}, 0.5, 2.0 / 3);
    a->cron.add(one.note(job, "a"), late);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    auto other = entry_of_other();
    const auto own = [&] { return one.ask([&] { return one.records->list_nodes(); }).front(); };
    ASSERT_EQ(own().name, "a");
    other.version = own().version;
    const auto beat = [&] {
        return one.looking.wait_for(one.records->node_heartbeat(other)).has_value();
    };
    ASSERT_TRUE(beat());
    ASSERT_LT(time::local_now(), due - 8s) << "too slow for the node to read the list until then";
    EXPECT_TRUE(eventually([&] { return beat() && !one.rows(job).empty(); }));
    a->stop();
    const auto rows = one.rows(job);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front().status, run_status::completed) << rows.front().reason;
    EXPECT_GE(time::wall_instant{millis{rows.front().started_at}}, due + 6s);
}

// Goal: an occurrence that waits for its delay is not missed by a restart. Method: the node is
// replaced in the middle of the delay, when the occurrence has been due for longer than the window.
TEST(DispatcherLine, ARestartWithinTheDelayLosesNothing) {
    schedule_world one;
    const auto due = whole_second_in(10s);
    auto late = daily_at(due);
    late.misfire_window = 1s;
    late.jitter = 10s;
    const occurrence which{only(due).front()};
    std::string name;
    for (int i = 0; name.empty(); ++i) {
        const auto delay = schedule::shared_uniform("j" + std::to_string(i), which);
        if (delay > 0.6 && delay < 0.8) name = "j" + std::to_string(i);
    }
    for (const auto* const node : {"before", "after"}) {
        auto ears = std::make_shared<counting>();
        auto a = one.node(node, {.observer = ears});
        a->cron.add(one.note(name, node), late);
        a->start();
        ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
        const bool is_last = node == std::string{"after"};
        ASSERT_TRUE(eventually(
            [&] { return is_last ? one.seen.size() > 0 : time::local_now() > due + 2s; }));
        a->stop();
    }
    const auto rows = one.rows(name);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front().status, run_status::completed) << rows.front().reason;
    EXPECT_GE(time::wall_instant{millis{rows.front().started_at}}, due + 6s);
}

// A node that is cut off from the store alone, so that it begins none of the occurrences that come
// due, and may give up none of them either: each one that comes next is skipped here.
struct cut_off_node : schedule_world {
    struct listening : counting {
        std::atomic<int> skipped{0};
        void on_skipped(std::string_view, occurrence, std::string_view) override { ++skipped; }
    };
    std::shared_ptr<listening> ears = std::make_shared<listening>();
    std::unique_ptr<scheduler_node> a;

    void start(millis jitter) {
        a = node("a", {.observer = ears});
        auto often = each_second;
        often.jitter = jitter;
        a->cron.add(note("j", "a", brief_at_least_once), often);
        a->start();
        ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
        faults->fail_all = errc::unreachable;
        // Some come due, each while the one before it waits.
        const auto from = time::local_now();
        ASSERT_TRUE(eventually([&] { return time::local_now() > from + 4s; }));
        EXPECT_EQ(ears->skipped, 0);
    }
    std::vector<run_record> left_out() {
        auto all = rows("j", run_status::skipped);
        std::erase_if(all, [](const run_record& one) {
            return one.reason != "an earlier run had yet to begin";
        });
        return all;
    }
};

// Goal: what one node cannot begin is not kept from the others. Method: its row comes when they
// would have asked for it, after the longest delay that they may have drawn.
TEST(DispatcherLine, WhatIsNotItsTurnHereIsRecordedOnceOthersHaveHadTheirs) {
    const millis jitter{3'000};
    cut_off_node one;
    one.start(jitter);
    ASSERT_TRUE(eventually([&] { return !one.left_out().empty(); }));
    for (const auto& row : one.left_out())
        EXPECT_GE(row.started_at, number(*row.occurrence) + jitter.count());
    // Only what has its row here is told, as others may run the rest.
    EXPECT_TRUE(eventually([&] { return one.ears->skipped > 0; }));
    const int told = one.ears->skipped;
    EXPECT_LE(told, std::ssize(one.left_out()));
}

// Goal: a node that ends leaves nothing unsaid. Method: the delay is an hour, and it is told to
// stop.
TEST(DispatcherLine, WhatIsNotItsTurnHereIsRecordedAtOnceByANodeThatStops) {
    cut_off_node one;
    one.start(1h);
    EXPECT_TRUE(one.left_out().empty());
    one.a->stop();
    EXPECT_FALSE(one.left_out().empty());
}

}  // namespace
}  // namespace pawl
