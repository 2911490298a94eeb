// Members that share partitions on virtual time: the product's own engines and partition_runners,
// each on a loop whose time the world turns, while members join, leave, crash and freeze, and
// messages are late or lost.
//
// A seed is a world: some minutes of faults, then quiet, then a crash and a newcomer with nothing
// else going on, so that it can be said how soon everything is as it should be.
#pragma once

#include "test_support/simulation/simulation.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::simulation {

enum class sharing_law {
    one_holder,  // no partition is trusted to be held by two, nor any law of leases broken
    taken_over,  // what a dead member held is held again within ttl + interval
    fair_share,  // some intervals after the last change all members hold floor or ceil
    no_thrash    // with nothing going on nothing moves, and a newcomer moves few
};
constexpr std::size_t sharing_laws = 4;
std::string_view name_of(sharing_law which);

// What must have happened in some worlds, or they tested nothing.
enum class sharing_fact { joined, left, crashed, froze, answer_lost, moved, given_back, facts };
constexpr auto sharing_facts = static_cast<std::size_t>(sharing_fact::facts);

struct sharing_outcome {
    std::optional<sharing_law> broken;
    std::optional<std::string> breach;
    std::array<std::uint64_t, sharing_facts> counts{};
    double intervals_to_converge = 0;                 // when some joined; the longest of this world
    std::chrono::nanoseconds takeover_beyond_ttl{0};  // after the crash; the longest
    double node_hours = 0;
    std::string trace;  // of the end, up to the breach; empty unless asked for

    bool broke(sharing_law which) const { return broken == which; }
};

sharing_outcome simulate_sharing(std::uint64_t seed, tracing trace = tracing::off);

}  // namespace pawl::simulation
