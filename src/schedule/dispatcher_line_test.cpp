// A scheduler that is second in line behind a node which does not run what comes due.
#include "schedule/dispatcher_fixture.hpp"
#include "schedule/queue/ranking.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

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

}  // namespace
}  // namespace pawl
