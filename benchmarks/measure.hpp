// How the benchmarks measure: both sides in turns in one run, medians, and a ratio.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/locks.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pawl::benchmarks {

using nanos = std::chrono::nanoseconds;

double median(std::vector<double> samples);
double percentile(std::vector<double> samples, double fraction);

// The time of one call, in microseconds.
double micros_of(const std::function<void()>& work);

// Calls both in turns, so that whatever disturbs the machine disturbs both. Medians in
// microseconds.
struct pair_result {
    double bare = 0;
    double ours = 0;
};
pair_result compare(int rounds, const std::function<void()>& bare,
                    const std::function<void()>& ours);

// Many callers at once, in turns with a bare client that has as many threads and connections as is
// best for it. Rates a second: medians of five rounds.
struct crowd_result {
    double bare = 0;
    std::size_t connections = 0;  // of the bare client at its best
    double ours = 0;
};
// The bare client does `times` a round, divided among its threads; `bare` is told which of the
// connections it is to use.
crowd_result compare_crowds(const std::vector<std::size_t>& connections, int times,
                            const std::function<void(std::size_t)>& bare,
                            const std::function<double()>& our_rate);

// The processor time that a process has used so far.
nanos cpu_time_of(pid_t process);

// One line of the table in docs/performance.md.
void print_heading();
void print_row(const std::string& what, const std::string& bare, const std::string& ours,
               double ratio, const std::string& goal, bool met);
std::string micros_text(double value);
// Such as 1234 pairs/s.
std::string rate_text(double value, const std::string& of_what);

// Whether a benchmark is run when none is named: some take too long for that.
enum class asked { always, by_name };

// A part of the table. Registered by the file that measures it: only those engines are there that
// were built in. In the table they stand by their rank.
struct benchmark {
    benchmark(int rank, std::string name, void (*run)(), asked when = asked::always);
    int rank;
    std::string name;
    void (*run)();
    asked when;
};
// Sorted by rank.
const std::vector<benchmark>& benchmarks();

}  // namespace pawl::benchmarks
