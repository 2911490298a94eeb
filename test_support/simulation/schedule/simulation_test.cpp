#include "test_support/simulation/schedule/simulation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

// PAWL_SEED=N repeats one seed and prints all that happened, with PAWL_FAULTS=N the beginning of it
// with so many faults; PAWL_SEEDS=N tries more seeds than usual.

namespace pawl::simulation::schedules {
namespace {

constexpr std::uint64_t seeds_usual = 300;
// A planted bug that takes longer to find would hide among the seeds of a usual run.
constexpr std::uint64_t seeds_to_find = 80;

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* text = std::getenv(variable);
    if (!text) return std::nullopt;
    return std::stoull(text);
}

std::string explain(std::uint64_t seed, const findings& found) {
    const auto needed = std::to_string(faults_needed(seed, found));
    return "seed " + std::to_string(seed) + ": " + found.breach.value_or("all laws hold") +
           "\nthe first " + needed + " of its " + std::to_string(found.faults) +
           " faults suffice; see all that happens with PAWL_SEED=" + std::to_string(seed) +
           " PAWL_FAULTS=" + needed;
}

// Whatever happens, no occurrence runs twice and none is forgotten: in worlds of one to six nodes,
// around the odd transitions of five zones and over months of nightly runs.
TEST(ScheduleSimulation, TheLawsHoldInEveryWorld) {
    if (const auto seed = number_from("PAWL_SEED")) {
        const auto found = simulate(*seed, plant::none, tracing::on,
                                    number_from("PAWL_FAULTS").value_or(all_faults));
        std::puts(found.trace.c_str());
        ASSERT_FALSE(found.breach) << *found.breach;
        return;
    }
    fact_counts all{};
    nanos lived{};
    const auto seeds = number_from("PAWL_SEEDS").value_or(seeds_usual);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto found = simulate(seed);
        if (found.breach) FAIL() << explain(seed, found);
        for (std::size_t i = 0; i < facts; ++i) all[i] += found.counts[i];
        lived += found.lived;
    }
    // Few worlds, as a sanitizer has them, meet what they meet.
    if (seeds < seeds_usual) return;
    for (std::size_t i = 0; i < facts; ++i)
        EXPECT_GE(all[i], seeds / 8) << name_of(static_cast<fact>(i)) << " hardly ever happened";
    // A calendar of seconds is over after minutes; the other kinds go on for hours.
    EXPECT_GT(lived, std::chrono::minutes{90} * seeds);
}

// A failure can be repeated: a seed says everything.
TEST(ScheduleSimulation, ASeedSaysEverythingThatHappens) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto once = simulate(seed);
        const auto again = simulate(seed, plant::none, tracing::on);
        EXPECT_EQ(once.fingerprint, again.fingerprint) << seed;
        EXPECT_EQ(once.counts, again.counts) << seed;
        EXPECT_NE(once.fingerprint, simulate(seed + 1).fingerprint) << seed;
        EXPECT_FALSE(again.trace.empty());
    }
}

struct planting {
    plant bug;
    law broken;
};

class PlantedScheduleBug : public testing::TestWithParam<planting> {};

// The simulation tests the scheduler: with one of its rules broken, a law is soon seen to be.
TEST_P(PlantedScheduleBug, IsFound) {
    const auto [bug, broken] = GetParam();
    for (std::uint64_t seed = 1; seed <= seeds_to_find; ++seed)
        if (simulate(seed, bug).broke(broken)) return;
    FAIL() << name_of(bug) << " broke no " << name_of(broken) << " in " << seeds_to_find
           << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedScheduleBug,
                         testing::Values(planting{plant::occurrence_unsent, law::runs_once},
                                         planting{plant::used_up_by_grant, law::completed},
                                         planting{plant::no_early_guard, law::not_early},
                                         planting{plant::unguarded, law::one_at_a_time},
                                         planting{plant::skips_untold, law::none_forgotten},
                                         planting{plant::misses_untold, law::none_forgotten},
                                         planting{plant::pause_unheard, law::paused_rests},
                                         planting{plant::orphans_left, law::completed}),
                         [](const auto& one) { return std::string{name_of(one.param.bug)}; });

}  // namespace
}  // namespace pawl::simulation::schedules
