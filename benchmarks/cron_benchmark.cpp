// When a schedule fires next, beside what the date library takes to read one clock in the zone and
// to come back from it: the least that anybody pays who asks it.
#include "benchmarks/measure.hpp"
#include "time/cron.hpp"
#include "time/rfc3339.hpp"

#include <date/tz.h>

#include <cstdio>

namespace pawl::benchmarks {
namespace {

// So many calls are one sample: a single one is shorter than a reading of the clock.
constexpr int calls = 1000;
constexpr int rounds = 200;

struct kind {
    const char* what;
    const char* expression;
    const char* zone;
    double goal_nanos;
    time::transitions policy{};
};

// Ordinary ones have the goal of the issue; the worst have a bound, which is what matters of them.
constexpr kind kinds[] = {
    {"every five minutes", "*/5 * * * *", "Europe/Paris", 1000},
    {"every ten seconds", "*/10 * * * * *", "Europe/Paris", 1000},
    {"at 06:30 on working days", "30 6 * * 1-5", "Europe/Paris", 1000},
    {"at 02:30, which a gap leaves out", "30 2 * * *", "America/New_York", 1000},
    {"on the 13th or on Friday", "0 0 13 * 5", "Europe/Paris", 1000},
    {"on the last working day", "0 22 LW * *", "Europe/Paris", 1000},
    {"on the second Tuesday", "0 12 * * 2#2", "Europe/Paris", 1000},
    {"an interval", "@every 90s", "Europe/Paris", 1000},
    {"the worst: 29 February", "0 0 29 2 *", "Europe/Paris", 10'000},
    {"the worst: 29 February on a Sunday", "59 59 23 29 2 */7", "Europe/Paris", 10'000},
    {"the worst: on days of a gap alone, which are skipped for a century",
     "30 2 ? 3 0#2",
     "America/New_York",
     100'000,
     {gap_time::skip, repeated_time::once}}};

std::string nanos_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f ns", value);
    return text;
}

template <class T>
void keep(const T& value) {
    asm volatile("" : : "g"(&value) : "memory");
}

void measure_kind(const kind& one) {
    const auto schedule = time::cron::parse(one.expression).value();
    const auto zone = time::zone::find(one.zone).value();
    const auto begin = time::parse_rfc3339("2026-11-20T06:00:00Z").value();
    const auto end = time::parse_rfc3339("2036-01-01T00:00:00Z").value();
    const auto* bare_zone = date::locate_zone(one.zone);

    auto at = begin;
    const auto ours = [&] {
        for (int i = 0; i < calls; ++i) {
            at = schedule.next(at, zone, one.policy).value_or(begin);
            if (at > end) at = begin;
        }
    };
    date::sys_seconds bare_at{std::chrono::floor<std::chrono::seconds>(begin.time_since_epoch())};
    const auto bare = [&] {
        for (int i = 0; i < calls; ++i) {
            const auto local = bare_zone->to_local(bare_at) + std::chrono::minutes{5};
            bare_at = bare_zone->to_sys(local, date::choose::earliest);
            keep(bare_at);
        }
    };
    const auto both = compare(rounds, bare, ours);
    // Microseconds of a thousand calls are nanoseconds of one.
    print_row(std::string{"next occurrence, "} + one.what + ": `" + one.expression + "`",
              nanos_text(both.bare), nanos_text(both.ours), both.ours / both.bare,
              "< " + nanos_text(one.goal_nanos), both.ours < one.goal_nanos);
}

void measure_parse() {
    const auto ours = [&] {
        for (int i = 0; i < calls; ++i) {
            const auto parsed = time::cron::parse("*/15 9-17 * * MON-FRI");
            keep(parsed);
        }
    };
    std::vector<double> samples;
    for (int i = 0; i < rounds; ++i) samples.push_back(micros_of(ours));
    const auto took = median(std::move(samples));
    print_row("to read an expression: `*/15 9-17 * * MON-FRI`", "—", nanos_text(took), 1,
              "< 10000 ns", took < 10'000);
}

void benchmark_cron() {
    for (const auto& one : kinds) measure_kind(one);
    measure_parse();
}

const benchmark registered{100, "cron", benchmark_cron};

}  // namespace
}  // namespace pawl::benchmarks
