// A seeded simulation of many nodes that run schedules, on virtual time: a day around an odd
// transition of a zone, of crashes, freezes, cuts, outages, deploys, pauses and clocks
// that step.
//
// The nodes run the product: engine, dispatcher, run sessions. The servers apply the real rules.
#pragma once

#include "test_support/simulation/schedule/referee.hpp"

#include <cstddef>
#include <cstdint>

namespace pawl::simulation::schedules {

struct findings : findings_of<referee> {
    std::size_t faults = 0;  // how many things were done to the world
    nanos lived{};
};

constexpr std::size_t all_faults = static_cast<std::size_t>(-1);
// With no more than so many faults of those that the seed stands for: up to the last of them it is
// the same history.
findings simulate(std::uint64_t seed, plant bug = plant::none, tracing trace = tracing::off,
                  std::size_t faults_most = all_faults);

// The world of this seed, but its jobs have slots.
findings simulate_slots(std::uint64_t seed, tracing trace = tracing::off);

// How many of its faults a seed that breaks a law needs for that: the shortest beginning of its
// history after which some law is broken, though nothing more is done to the world.
std::size_t faults_needed(std::uint64_t seed, const findings& whole);

}  // namespace pawl::simulation::schedules
