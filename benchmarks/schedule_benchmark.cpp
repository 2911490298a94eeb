// What the timetable costs: memory for each schedule, adding them, and handing out what is due,
// beside a bare heap of instants that knows no calendar.
#include "benchmarks/measure.hpp"
#include "schedule/timing/timetable.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace pawl::benchmarks {
namespace {

using schedule::wall_instant;

constexpr std::size_t schedules = 100'000;
constexpr std::chrono::minutes watched{10};
const wall_instant start{std::chrono::seconds{1'800'000'000}};

using bare_heap =
    std::priority_queue<std::pair<wall_instant, std::uint32_t>,
                        std::vector<std::pair<wall_instant, std::uint32_t>>, std::greater<>>;

std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t all = 0;
    std::size_t resident = 0;
    statm >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Each at a second and a minute of its own: some thousands of different rules, as people write
// them.
std::vector<schedule::occurrence_rule> draw_rules() {
    std::mt19937_64 random{1};
    const auto paris = time::zone::find("Europe/Paris");
    std::vector<schedule::occurrence_rule> rules;
    rules.reserve(schedules);
    for (std::size_t i = 0; i < schedules; ++i) {
        const auto second = std::to_string(random() % 60);
        const auto minute = std::to_string(random() % 60);
        const auto text = i % 10 == 0  ? second + " * * * * *"
                          : i % 2 == 0 ? second + " " + minute + " * * * *"
                                       : second + " */5 * * * *";
        rules.push_back({*time::cron::parse(text), *paris, {}, std::chrono::hours{1}});
    }
    return rules;
}

struct cost {
    double add = 0;  // nanoseconds a schedule
    double due = 0;  // nanoseconds an occurrence
    std::size_t occurrences = 0;
    double bytes = 0;  // a schedule
};

template <class Work>
double nanos_of(const Work& work) {
    return micros_of(work) * 1000;
}

cost measure_bare(const std::vector<wall_instant>& firsts) {
    cost found;
    const auto before = resident_bytes();
    auto heap = std::make_unique<bare_heap>();
    found.add = nanos_of([&] {
        for (std::uint32_t i = 0; i < schedules; ++i) heap->emplace(firsts[i], i);
    });
    found.bytes = static_cast<double>(resident_bytes()) - static_cast<double>(before);
    // Every occurrence is followed by one a minute later.
    found.due = nanos_of([&] {
        for (auto now = start; now < start + watched; now += std::chrono::seconds{1})
            while (heap->top().first <= now) {
                const auto [at, which] = heap->top();
                heap->pop();
                heap->emplace(at + std::chrono::minutes{1}, which);
                ++found.occurrences;
            }
    });
    return found;
}

cost measure_ours(const std::vector<schedule::occurrence_rule>& rules) {
    cost found;
    const auto before = resident_bytes();
    auto table = std::make_unique<schedule::timetable>();
    found.add = nanos_of([&] {
        for (std::uint32_t i = 0; i < schedules; ++i) table->add(i, rules[i], start, start);
    });
    found.bytes = static_cast<double>(resident_bytes()) - static_cast<double>(before);
    found.due = nanos_of([&] {
        for (auto now = start; now < start + watched; now += std::chrono::seconds{1})
            found.occurrences += table->advance(now, schedules).size();
    });
    return found;
}

std::string text_of(double value, const char* unit) {
    char text[48];
    std::snprintf(text, sizeof text, "%.0f %s", value, unit);
    return text;
}

void benchmark_schedules() {
    const auto rules = draw_rules();
    std::vector<wall_instant> firsts;
    for (const auto& each : rules) firsts.push_back(*each.when.next(start, each.where));
    const auto ours = measure_ours(rules);
    const auto bare = measure_bare(firsts);
    const auto each = [](double all) { return all / static_cast<double>(schedules); };
    const auto occurrence = [](const cost& one) {
        return one.due / static_cast<double>(one.occurrences);
    };
    const auto row = [](const std::string& what, double a, double b, const char* unit, double goal,
                        const std::string& said) {
        print_row(what, text_of(a, unit), text_of(b, unit), b / a, said, b < goal);
    };
    const auto many = std::to_string(schedules);
    row("timetable, memory for each of " + many +
            " schedules; bare: std::priority_queue of instants",
        each(bare.bytes), each(ours.bytes), "B", 200, "< 200 B");
    row("timetable, adding one of " + many +
            " schedules, its first occurrence included; bare: push",
        each(bare.add), each(ours.add), "ns", 2000, "< 2 µs");
    row("timetable, one occurrence that is due among " + many +
            ", its next one included; bare: pop and push",
        occurrence(bare), occurrence(ours), "ns", 2000, "< 2 µs");
}

const benchmark registered{95, "schedules", benchmark_schedules};

}  // namespace
}  // namespace pawl::benchmarks
