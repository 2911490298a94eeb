// What every seeded simulation is asked beside its laws: that a seed says everything, that what is
// meant to happen does, and that a bug put in on purpose is found.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace pawl::simulation {

// A whole number that the environment gives.
inline std::optional<std::uint64_t> number_from(const char* variable) {
    const char* text = std::getenv(variable);
    if (!text) return std::nullopt;
    return std::stoull(text);
}

// `simulate(seed)` and `trace(seed)`, which writes down what happens, tell the same.
template <class Simulate, class Trace>
void expect_repeatable(std::uint64_t seeds, Simulate simulate, Trace trace) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto once = simulate(seed);
        const auto again = trace(seed);
        EXPECT_EQ(once.fingerprint, again.fingerprint) << seed;
        EXPECT_EQ(once.counts, again.counts) << seed;
        EXPECT_NE(once.fingerprint, simulate(seed + 1).fingerprint) << seed;
        EXPECT_FALSE(again.trace.empty());
    }
}

// What happened in all seeds together; each fact at least so often.
template <class Fact, class Counts>
void expect_each_happened(const Counts& counts, std::uint64_t least) {
    for (std::size_t i = 0; i < counts.size(); ++i)
        EXPECT_GE(counts[i], least) << name_of(static_cast<Fact>(i)) << " hardly ever happened";
}

// A bug that is put in, and the law that it breaks.
template <class Plant, class Law>
struct planting {
    Plant bug;
    Law broken;
    // How many it may take, where few worlds meet it.
    std::optional<std::uint64_t> seeds{};
};

// `simulate(seed, bug)` breaks the law within so many seeds, or as many as the bug may take.
template <class Plant, class Law, class Simulate>
void expect_found(const planting<Plant, Law>& planted, std::uint64_t seeds_usual,
                  Simulate simulate) {
    const auto seeds = planted.seeds.value_or(seeds_usual);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        if (simulate(seed, planted.bug).broke(planted.broken)) return;
    FAIL() << name_of(planted.bug) << " broke no " << name_of(planted.broken) << " in " << seeds
           << " seeds";
}

}  // namespace pawl::simulation
