#include "test_support/simulation/simulation.hpp"
#include "test_support/simulation/simulation_checks.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

// PAWL_SEED=N repeats one seed and prints its trace; PAWL_SEEDS=N tries more of them than usual.

namespace pawl::simulation {
namespace {

constexpr std::uint64_t seeds_usual = 4000;
// A planted bug that takes longer to find would hide among the seeds of a usual run.
constexpr std::uint64_t seeds_to_find = 150;

std::string explain(std::uint64_t seed, plant bug) {
    const auto again = simulate(seed, bug, tracing::on);
    return "seed " + std::to_string(seed) + ": " + again.breach.value_or("all laws hold") + "\n" +
           again.trace + "repeat it with PAWL_SEED=" + std::to_string(seed);
}

// The laws hold whatever happens. Thousands of worlds of two to five nodes, each a minute of faults
// and then one of health, and everything that is meant to happen does.
TEST(Simulation, TheLawsHoldInEveryWorld) {
    if (const auto seed = number_from("PAWL_SEED")) {
        const auto found = simulate(*seed);
        std::puts(explain(*seed, plant::none).c_str());
        ASSERT_FALSE(found.breach) << *found.breach;
        return;
    }
    referee::fact_counts all{};
    const auto seeds = number_from("PAWL_SEEDS").value_or(seeds_usual);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto found = simulate(seed);
        ASSERT_FALSE(found.breach) << explain(seed, plant::none);
        for (std::size_t i = 0; i < facts; ++i) all[i] += found.counts[i];
    }
    // Few worlds, as a sanitizer has them, meet what they meet.
    if (seeds < seeds_usual) return;
    expect_each_happened<fact>(all, seeds / 50);
}

// A failure can be repeated: a seed says everything.
TEST(Simulation, ASeedSaysEverythingThatHappens) {
    expect_repeatable(
        20, [](std::uint64_t seed) { return simulate(seed); },
        [](std::uint64_t seed) { return simulate(seed, plant::none, tracing::on); });
}

using planted = planting<plant, law>;

class PlantedBug : public testing::TestWithParam<planted> {};

// The simulation tests the rules: with one of them broken, a law is soon seen to be.
TEST_P(PlantedBug, IsFound) {
    expect_found(GetParam(), seeds_to_find,
                 [](std::uint64_t seed, plant bug) { return simulate(seed, bug); });
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug,
                         testing::Values(planted{plant::clock_stops, law::one_holder},
                                         planted{plant::unguarded, law::one_holder},
                                         planted{plant::claim_id_reused, law::runs_once},
                                         planted{plant::callers_clock, law::one_holder},
                                         planted{plant::repeat_mints, law::trust_is_backed},
                                         planted{plant::renew_revives, law::holder_served},
                                         planted{plant::withdraw_any, law::one_holder},
                                         planted{plant::release_any, law::one_holder},
                                         planted{plant::min_hold_ignored, law::kept_min_hold},
                                         planted{plant::force_release_at_once, law::one_holder},
                                         planted{plant::occurrence_unmarked, law::runs_once},
                                         planted{plant::occurrence_used_up, law::done_is_completed},
                                         planted{plant::no_early_guard, law::not_before_due},
                                         planted{plant::no_birth_guard, law::runs_once},
                                         planted{plant::birth_without_skew, law::runs_once},
                                         planted{plant::no_quarantine, law::one_holder},
                                         planted{plant::plain_counter, law::tokens_rise},
                                         planted{plant::unchecked, law::writes_rise}),
                         [](const auto& one) { return std::string{name_of(one.param.bug)}; });

}  // namespace
}  // namespace pawl::simulation
