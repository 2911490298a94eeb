#include "test_support/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

// PAWL_SEED=N repeats one seed and prints its trace; PAWL_SEEDS=N tries more of them than usual.

namespace pawl::simulation {
namespace {

constexpr std::uint64_t seeds_usual = 4000;
// A planted bug that takes longer to find would hide among the seeds of a usual run.
constexpr std::uint64_t seeds_to_find = 150;

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* text = std::getenv(variable);
    if (!text) return std::nullopt;
    return std::stoull(text);
}

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
    fact_counts all{};
    const auto seeds = number_from("PAWL_SEEDS").value_or(seeds_usual);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto found = simulate(seed);
        ASSERT_FALSE(found.breach) << explain(seed, plant::none);
        for (std::size_t i = 0; i < facts; ++i) all[i] += found.counts[i];
    }
    // Few worlds, as a sanitizer has them, meet what they meet.
    if (seeds < seeds_usual) return;
    for (std::size_t i = 0; i < facts; ++i)
        EXPECT_GE(all[i], seeds / 50) << name_of(static_cast<fact>(i)) << " hardly ever happened";
}

// A failure can be repeated: a seed says everything.
TEST(Simulation, ASeedSaysEverythingThatHappens) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
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

class PlantedBug : public testing::TestWithParam<planting> {};

// The simulation tests the rules: with one of them broken, a law is soon seen to be.
TEST_P(PlantedBug, IsFound) {
    const auto [bug, broken] = GetParam();
    for (std::uint64_t seed = 1; seed <= seeds_to_find; ++seed)
        if (simulate(seed, bug).broke(broken)) return;
    FAIL() << name_of(bug) << " broke no " << name_of(broken) << " in " << seeds_to_find
           << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug,
                         testing::Values(planting{plant::clock_stops, law::one_holder},
                                         planting{plant::unguarded, law::one_holder},
                                         planting{plant::claim_id_reused, law::runs_once},
                                         planting{plant::callers_clock, law::one_holder},
                                         planting{plant::repeat_mints, law::trust_is_backed},
                                         planting{plant::renew_revives, law::holder_served},
                                         planting{plant::release_any, law::one_holder},
                                         planting{plant::at_least_ignored, law::kept_at_least},
                                         planting{plant::force_release_at_once, law::one_holder},
                                         planting{plant::occurrence_unmarked, law::runs_once},
                                         planting{plant::occurrence_used_up,
                                                  law::done_is_completed},
                                         planting{plant::no_early_guard, law::not_before_due},
                                         planting{plant::no_birth_guard, law::runs_once},
                                         planting{plant::birth_without_skew, law::runs_once},
                                         planting{plant::no_quarantine, law::one_holder},
                                         planting{plant::plain_counter, law::tokens_rise},
                                         planting{plant::unchecked, law::writes_rise}),
                         [](const auto& one) { return std::string{name_of(one.param.bug)}; });

}  // namespace
}  // namespace pawl::simulation
