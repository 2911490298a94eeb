#include "benchmarks/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

namespace pawl::benchmarks {
namespace {

std::vector<benchmark>& registry() {
    static std::vector<benchmark> all;
    return all;
}

// What so many threads get done in a second together.
double rate_of_threads(std::size_t count, int times, const std::function<void(std::size_t)>& work) {
    const int each = times / static_cast<int>(count);
    const auto micros = micros_of([&] {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                for (int j = 0; j < each; ++j) work(i);
            });
    });
    return static_cast<double>(count) * each / micros * 1e6;
}

}  // namespace

benchmark::benchmark(int rank, std::string name, void (*run)(), asked when)
    : rank{rank}, name{std::move(name)}, run{run}, when{when} {
    auto& all = registry();
    all.insert(std::upper_bound(all.begin(), all.end(), rank,
                                [](int mine, const benchmark& other) { return mine < other.rank; }),
               *this);
}

const std::vector<benchmark>& benchmarks() { return registry(); }

double percentile(std::vector<double> samples, double fraction) {
    if (samples.empty()) return 0;
    const auto at = samples.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<double>(samples.size() - 1) * fraction);
    std::nth_element(samples.begin(), at, samples.end());
    return *at;
}

double median(std::vector<double> samples) { return percentile(std::move(samples), 0.5); }

double micros_of(const std::function<void()>& work) {
    const auto begun = lease_clock::now();
    work();
    return std::chrono::duration<double, std::micro>(lease_clock::now() - begun).count();
}

pair_result compare(int rounds, const std::function<void()>& bare,
                    const std::function<void()>& ours) {
    std::vector<double> bare_samples, our_samples;
    // A burst of one and a burst of the other: caches and the server's wake-ups settle within each.
    constexpr int burst = 50;
    for (int round = 0; round < rounds; round += burst) {
        for (int i = 0; i < burst; ++i) bare_samples.push_back(micros_of(bare));
        for (int i = 0; i < burst; ++i) our_samples.push_back(micros_of(ours));
    }
    return {median(std::move(bare_samples)), median(std::move(our_samples))};
}

crowd_result compare_crowds(const std::vector<std::size_t>& connections, int times,
                            const std::function<void(std::size_t)>& bare,
                            const std::function<double()>& our_rate) {
    std::map<std::size_t, std::vector<double>> bare_rates;
    std::vector<double> our_rates;
    for (int round = 0; round < 5; ++round) {
        for (const auto count : connections)
            bare_rates[count].push_back(rate_of_threads(count, times, bare));
        our_rates.push_back(our_rate());
    }
    crowd_result found;
    for (const auto& [count, rates] : bare_rates)
        if (const double rate = median(rates); rate > found.bare) {
            found.bare = rate;
            found.connections = count;
        }
    found.ours = median(std::move(our_rates));
    return found;
}

nanos cpu_time_of(pid_t process) {
    std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    // The name in parentheses may hold anything; fields are counted after it.
    std::istringstream fields{text.substr(text.rfind(')') + 2)};
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    long user = 0, system = 0;
    fields >> user >> system;
    return std::chrono::seconds{1} * (user + system) / sysconf(_SC_CLK_TCK);
}

void print_heading() {
    std::printf("| what | bare | pawl | ratio | goal | met |\n|---|---|---|---|---|---|\n");
}

void print_row(const std::string& what, const std::string& bare, const std::string& ours,
               double ratio, const std::string& goal, bool met) {
    std::printf("| %s | %s | %s | %.3g | %s | %s |\n", what.c_str(), bare.c_str(), ours.c_str(),
                ratio, goal.c_str(), met ? "yes" : "**no**");
    std::fflush(stdout);
}

std::string micros_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f µs", value);
    return text;
}

std::string rate_text(double value, const std::string& of_what) {
    return std::to_string(static_cast<long>(value)) + " " + of_what + "/s";
}

}  // namespace pawl::benchmarks
