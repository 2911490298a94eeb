#include "benchmarks/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pawl::benchmarks {
namespace {

std::vector<benchmark>& registry() {
    static std::vector<benchmark> all;
    return all;
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

}  // namespace pawl::benchmarks
