// What the dispatcher's tests share: jobs of every second, and an observer that counts.
#pragma once

#include "test_support/faults/schedule_world.hpp"
#include "time/clocks.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

using namespace std::chrono_literals;

inline const schedule_options each_second{.cron = "* * * * * *"};
constexpr lease_options brief{.ttl = 5s, .grace = 0ms};
constexpr lease_options brief_at_least_once{
    .ttl = 5s, .delivery = delivery::at_least_once, .grace = 0ms};

struct counting : schedule_observer {
    std::atomic<int> ready{0}, begun{0}, ended{0}, fail_open{0}, taken{0};
    void on_ready() override { ++ready; }
    void on_run_started(std::string_view, millis, fence_token) override { ++begun; }
    void on_run_finished(std::string_view, run_status, millis) override { ++ended; }
    void on_fail_open(std::string_view) override { ++fail_open; }
    void on_orphan_resumed(std::string_view) override { ++taken; }
};

// Once a day at that second, which must be whole.
inline schedule_options daily_at(time::wall_instant due) {
    const std::chrono::hh_mm_ss at{due - std::chrono::floor<std::chrono::days>(due)};
    const auto text = std::to_string(at.seconds().count()) + " " +
                      std::to_string(at.minutes().count()) + " " +
                      std::to_string(at.hours().count()) + " * * *";
    return {.cron = text, .zone = "UTC"};
}
inline time::wall_instant whole_second_in(std::chrono::seconds away) {
    return std::chrono::floor<std::chrono::seconds>(time::local_now()) + away;
}
inline std::vector<std::int64_t> only(time::wall_instant due) {
    return {std::chrono::floor<millis>(due).time_since_epoch().count()};
}

// A run that a node has begun and left unfinished, as it was shut down meanwhile.
inline run left_by_a_stop(schedule_world& one, const std::string& name, const lease_options& lease,
                          const schedule_options& when,
                          const std::function<void(const run&)>& meanwhile = {}) {
    auto node = one.node(name, {.shutdown_grace = millis{0}});
    node->cron.add(one.note_and("j", name, lease,
                                [&](const run& now) {
                                    if (meanwhile) meanwhile(now);
                                    node->request_stop();
                                    wait_for_stop(now.stop);
                                }),
                   when);
    const auto before = one.seen.size();
    node->start();
    EXPECT_TRUE(one.seen.wait_for(before + 1));
    node->stop();
    auto left = one.seen.lines().at(before).what;
    EXPECT_EQ(one.run_of(left.id).status, run_status::abandoned);
    return left;
}

// What it says at this moment, and has followed it.
inline bool has_read_the_control_state(schedule_world& one) {
    const auto before = one.journal_faults->control_reads.load();
    return eventually([&] { return one.journal_faults->control_reads > before + 1; });
}

}  // namespace pawl
