// What it costs to be measured: leases in memory, where nothing hides it, and the page of a node
// with many jobs.
#include "benchmarks/measure.hpp"
#include "engines/memory/store/memory_store.hpp"
#include "metrics/instruments.hpp"
#include "runtime/core.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::benchmarks {
namespace {

using namespace std::chrono_literals;

locks open_plain(const std::string& name_space) {
    store_settings settings;
    settings.name_space = name_space;
    const auto make = [settings](net::loop& where) {
        return memory::make_memory_store(where, settings);
    };
    return locks{std::make_unique<runtime::core>(make, settings, open_options{})};
}

locks open_measured(const std::string& name_space, metrics::instruments& all) {
    store_settings settings;
    settings.name_space = name_space;
    const auto make = [settings](net::loop& where) {
        return memory::make_memory_store(where, settings);
    };
    open_options options;
    options.observer = all.of_locks();
    return locks{
        std::make_unique<runtime::core>(all.measuring(make), settings, std::move(options))};
}

void take_and_give_back(locks& where) {
    auto held = where.try_acquire("k", {.ttl = 30s});
    if (!held) throw std::runtime_error{"the key is held"};
    held->release();
}

void benchmark_leases() {
    constexpr double goal = 1.5;
    metrics::instruments all{{}};
    auto plain = open_plain("benchmark-plain");
    auto measured = open_measured("benchmark-measured", all);
    const auto both =
        compare(20'000, [&] { take_and_give_back(plain); }, [&] { take_and_give_back(measured); });
    const double ratio = both.ours / both.bare;
    print_row("acquire and release in memory, observed and measured; bare: neither",
              micros_text(both.bare), micros_text(both.ours), ratio, "≤ 1.5", ratio <= goal);
}

// A claim that is granted: a counter and a histogram of twenty buckets.
void benchmark_observation() {
    constexpr int batch = 1'000;
    constexpr double goal_micros = 0.5;
    metrics::instruments all{{}};
    std::atomic<std::uint64_t> counter{0};
    const auto both = compare(
        500,
        [&] {
            for (int i = 0; i < batch; ++i) counter.fetch_add(1, std::memory_order_relaxed);
        },
        [&] {
            for (int i = 0; i < batch; ++i) all.leased(acquire_outcome::granted, 3ms);
        });
    const double bare = both.bare / batch, ours = both.ours / batch;
    print_row("one observation: a counter and a histogram; bare: an atomic increment",
              micros_text(bare), micros_text(ours), ours / bare, "≤ 0.5 µs", ours <= goal_micros);
}

void benchmark_page() {
    constexpr int jobs = 2'000;
    constexpr double goal_micros = 500'000;
    metrics::instruments all{{}};
    std::vector<std::string> names;
    metrics::live_values now;
    for (int i = 0; i < jobs; ++i) {
        names.push_back("a-job-with-a-name-" + std::to_string(i));
        now.next_occurrences.emplace_back(names.back(), 1'795'000'000'000 + i);
    }
    all.keep_jobs(names);
    const auto page_row = [&](const std::string& which) {
        const auto page = all.text(now);
        std::string copy;
        const auto both = compare(11, [&] { copy = page + ""; }, [&] { copy = all.text(now); });
        print_row("the page of a node with 2,000 jobs, " + which + ", " +
                      std::to_string(page.size() / 1000) + " kB; bare: to copy it",
                  micros_text(both.bare), micros_text(both.ours), both.ours / both.bare, "≤ 500 ms",
                  both.ours <= goal_micros);
    };
    page_row("none of which has run");
    const auto runs = all.of_runs();
    for (const auto& name : names) {
        runs->on_run_started(name, 12ms, fence_token{1'795'000'000'000'000});
        runs->on_run_finished(name, run_status::completed, 1'234ms);
    }
    page_row("all of which have run");
}

void benchmark_metrics() {
    benchmark_leases();
    benchmark_observation();
    benchmark_page();
}

const benchmark registered{97, "metrics", benchmark_metrics};

}  // namespace
}  // namespace pawl::benchmarks
