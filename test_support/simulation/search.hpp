// Looks for a seed that breaks a law, for as many seeds or for as long as it is told: what the
// programs simulate_leases, simulate_sharing, simulate_schedules and simulate_slots do.
//
//     simulate_… FIRST STEP COUNT SECONDS [LAW]
//
// Tries FIRST, FIRST + STEP, … until COUNT of them hold, or SECONDS are over; either may be 0 for
// no bound. With LAW only that one counts. Prints one line, and ends with 1 when a law was broken.
#pragma once

#include "base/number.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::simulation {

// `Law` counts from 0 to `laws`, each with its name_of(); `simulate` says what it found in a seed:
// the first breach, which laws were broken, and for how many node-hours it went on.
template <class Law, class Simulate>
int search(int count, char** words, std::size_t laws, Simulate simulate) {
    using clock_type = std::chrono::steady_clock;
    const auto reject = [&](const char* why) {
        std::fprintf(stderr, "%s: %s\n", words[0], why);
        return 64;
    };
    const std::vector<std::string> given(words + 1, words + count);
    if (given.size() < 4 || given.size() > 5)
        return reject("give FIRST STEP COUNT SECONDS, and perhaps a LAW");
    std::uint64_t numbers[4]{};
    for (std::size_t i = 0; i < 4; ++i) {
        const auto number = base::parse_number<std::uint64_t>(given[i]);
        if (!number) return reject("FIRST, STEP, COUNT and SECONDS are integers");
        numbers[i] = *number;
    }
    const auto [first, step, seeds_max, seconds_max] = numbers;
    std::optional<Law> wanted;
    for (std::size_t i = 0; i < laws; ++i)
        if (given.size() == 5 && name_of(static_cast<Law>(i)) == given[4])
            wanted = static_cast<Law>(i);
    if (given.size() == 5 && !wanted) return reject("there is no such law");

    const auto began = clock_type::now();
    const auto passed = [&] { return std::chrono::duration<double>(clock_type::now() - began); };
    std::uint64_t seeds = 0;
    double node_hours = 0;
    const auto is_finished = [&] {
        return (seeds_max > 0 && seeds == seeds_max) ||
               (seconds_max > 0 && passed().count() >= static_cast<double>(seconds_max));
    };
    for (auto seed = first; !is_finished(); seed += std::max<std::uint64_t>(step, 1), ++seeds) {
        const auto found = simulate(seed);
        node_hours += found.node_hours;
        if (!(wanted ? found.broke(*wanted) : found.breach.has_value())) continue;
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                    found.breach.value_or("").c_str());
        return 1;
    }
    std::printf("%llu seeds hold: %.0f node-hours in %.0f s\n",
                static_cast<unsigned long long>(seeds), node_hours, passed().count());
    return 0;
}

}  // namespace pawl::simulation
