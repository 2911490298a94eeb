#include "test_support/simulation/schedule/simulation.hpp"
#include "test_support/simulation/simulation_checks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

// PAWL_SEED=N repeats one seed and prints all that happened, with PAWL_FAULTS=N the beginning of it
// with so many faults; PAWL_SEEDS=N tries more seeds than usual.

namespace pawl::simulation::schedules {
namespace {

constexpr std::uint64_t seeds_usual = 300;
// A planted bug that takes longer to find would hide among the seeds of a usual run.
constexpr std::uint64_t seeds_to_find = 80;

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
    referee::fact_counts all{};
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
    expect_each_happened<fact>(all, seeds / 8);
    // A calendar of seconds is over after minutes; the other kinds go on for hours.
    EXPECT_GT(lived, std::chrono::minutes{90} * seeds);
}

constexpr std::uint64_t seeds_with_slots = 100;

// Whatever happens, no occurrence of a job with slots runs in two of them, or out of turn, none is
// forgotten, and no slot has two runs. PAWL_SLOTS_SEED=N repeats one seed.
TEST(ScheduleSimulation, TheLawsHoldForJobsWithSlots) {
    if (const auto seed = number_from("PAWL_SLOTS_SEED")) {
        const auto found = simulate_slots(*seed, tracing::on);
        std::puts(found.trace.c_str());
        ASSERT_FALSE(found.breach) << *found.breach;
        return;
    }
    if (number_from("PAWL_SEED")) return;
    const auto seeds = number_from("PAWL_SEEDS").value_or(seeds_with_slots);
    std::size_t runs = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto found = simulate_slots(seed);
        if (found.breach)
            FAIL() << "seed " << seed << ": " << *found.breach
                   << "\nsee all that happens with PAWL_SLOTS_SEED=" << seed;
        runs += found.counts[static_cast<std::size_t>(fact::runs)];
    }
    EXPECT_GT(runs, seeds);
}

// A failure can be repeated: a seed says everything.
TEST(ScheduleSimulation, ASeedSaysEverythingThatHappens) {
    expect_repeatable(
        5, [](std::uint64_t seed) { return simulate(seed); },
        [](std::uint64_t seed) { return simulate(seed, plant::none, tracing::on); });
}

using planted = planting<plant, law>;

class PlantedScheduleBug : public testing::TestWithParam<planted> {};

// The simulation tests the scheduler: with one of its rules broken, a law is soon seen to be.
TEST_P(PlantedScheduleBug, IsFound) {
    expect_found(GetParam(), seeds_to_find,
                 [](std::uint64_t seed, plant bug) { return simulate(seed, bug); });
}

INSTANTIATE_TEST_SUITE_P(
    Simulation, PlantedScheduleBug,
    testing::Values(planted{plant::occurrence_unsent, law::runs_once},
                    planted{plant::used_up_by_grant, law::completed},
                    planted{plant::no_early_guard, law::not_early},
                    planted{plant::unguarded, law::one_at_a_time},
                    planted{plant::skips_untold, law::none_forgotten},
                    planted{plant::misses_untold, law::none_forgotten},
                    planted{plant::pause_unheard, law::paused_rests},
                    planted{plant::orphans_left, law::completed},
                    // Few worlds withdraw a claim that had been granted.
                    planted{plant::mark_stays, law::none_forgotten, seeds_usual},
                    planted{plant::new_id, law::answers_recovered, seeds_usual}),
    [](const auto& one) { return std::string{name_of(one.param.bug)}; });

}  // namespace
}  // namespace pawl::simulation::schedules
