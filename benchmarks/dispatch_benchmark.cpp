// A hundred thousand schedules in one process, each due once within a minute, with bodies that do
// nothing: how late they begin, what the minute costs, and what a schedule weighs.
//
// Sixty expressions, one for each second, so that 1667 runs are due at once. Leases are in memory
// and there is no journal: what is measured is pawl's own, not an engine's.
#include "benchmarks/measure.hpp"
#include "time/clocks.hpp"

#include <pawl/pawl.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

namespace pawl::benchmarks {
namespace {

constexpr std::size_t schedules = 100'000;
constexpr double late_p99_goal = 1'000'000;  // µs: done before the next second's are due
constexpr double core_share_goal = 0.5;
constexpr double bytes_goal = 4096;

double resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    double total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// When each job first began, by its number. Written by the threads of the bodies.
class beginnings {
public:
    void write(std::size_t job, pawl::occurrence occurrence) {
        const auto due = time::wall_instant{millis{number(occurrence)}};
        const double late =
            std::chrono::duration<double, std::micro>(time::local_now() - due).count();
        double unset = -1;
        if (!late_[job].compare_exchange_strong(unset, std::max(late, 0.0))) return;
        if (++count_ < schedules) return;
        const std::lock_guard lock{mutex_};
        done_.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        done_.wait(lock, [&] { return count_ == schedules; });
    }
    std::vector<double> micros() const { return {late_.begin(), late_.end()}; }

private:
    std::vector<std::atomic<double>> late_ = [] {
        std::vector<std::atomic<double>> all(schedules);
        for (auto& one : all) one = -1;
        return all;
    }();
    std::atomic<std::size_t> count_{0};
    std::mutex mutex_;
    std::condition_variable done_;
};

// Knows when the schedules have begun to fire.
class readiness : public schedule_observer {
public:
    void on_ready() override {
        const std::lock_guard lock{mutex_};
        ready_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return ready_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ready_ = false;
};

void add_all(scheduler& cron, beginnings& seen) {
    for (std::size_t i = 0; i < schedules; ++i) {
        const job one{.name = "bench/" + std::to_string(i),
                      .lease = {.ttl = millis{30'000}},
                      .body = [&seen, i](const run& now) { seen.write(i, *now.occurrence); }};
        cron.add(one, {.cron = std::to_string(i % 60) + " * * * * *"});
    }
}

std::string text(const char* format, double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, value);
    return buffer;
}

void benchmark_dispatch() {
    const auto before = resident_bytes();
    auto where = locks::open("memory:?namespace=dispatch", {.journal = "none"});
    auto ready = std::make_shared<readiness>();
    scheduler cron{where, {.max_concurrent_runs = 8, .observer = ready}};
    beginnings seen;
    const auto adding = micros_of([&] { add_all(cron, seen); });
    std::jthread ticking{[&](std::stop_token stop) { cron.run(stop); }};
    ready->wait();
    const auto weight = (resident_bytes() - before) / static_cast<double>(schedules);
    const auto cpu = cpu_time_of(getpid());
    const auto begun = lease_clock::now();
    seen.wait();
    const std::chrono::duration<double> took = lease_clock::now() - begun;
    const std::chrono::duration<double> worked = cpu_time_of(getpid()) - cpu;
    ticking.request_stop();
    ticking.join();

    const auto late = seen.micros();
    const auto p99 = percentile(late, 0.99);
    const std::string what = std::to_string(schedules) + " schedules due over a minute: ";
    print_row(what + "lateness p50", "—", micros_text(percentile(late, 0.5)), 1, "—", true);
    print_row(what + "lateness p99, max " + micros_text(percentile(late, 1)), "—", micros_text(p99),
              1, "< 1 s", p99 < late_p99_goal);
    const auto share = worked / took;
    print_row(what + "the process, in " + text("%.0f s", took.count()), "—",
              text("%.1f %% of a core", share * 100), share, "< 50 %", share < core_share_goal);
    print_row("memory for each of " + std::to_string(schedules) + " schedules", "—",
              text("%.0f bytes", weight), 1, "< 4096 bytes", weight < bytes_goal);
    print_row("to add a schedule", "—", micros_text(adding / static_cast<double>(schedules)), 1,
              "—", true);
}

const benchmark registered{110, "dispatch", benchmark_dispatch, asked::by_name};

}  // namespace
}  // namespace pawl::benchmarks
