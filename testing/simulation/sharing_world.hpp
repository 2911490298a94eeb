// Members that share partitions on virtual time: the real machines of src/lease over the real rules
// at the store, while members join, leave, crash and freeze, and messages are late or lost.
//
// A seed is a world: some minutes of faults, then quiet, then a crash and a newcomer with nothing
// else going on, so that it can be said how soon everything is as it should be.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::simulation {

// What can be broken on purpose, to see that it is found.
enum class sharing_plant {
    none,
    trusts_for_ever,  // a member believes in its leases without end
    keeps_all,        // it gives nothing up
    looks_once        // it never looks again who is there
};

enum class sharing_law {
    one_holder,  // no partition is trusted to be held by two
    taken_over,  // what a dead member held is held again within ttl + interval
    fair_share,  // some intervals after the last change everybody holds floor or ceil
    no_thrash    // with nothing going on nothing moves, and a newcomer moves few
};

// What must have happened in some worlds, or they tested nothing.
enum class sharing_fact { joined, left, crashed, froze, answer_lost, moved, late_grant, facts };
constexpr auto sharing_facts = static_cast<std::size_t>(sharing_fact::facts);

struct sharing_outcome {
    std::optional<sharing_law> broken;
    std::string story;  // of the breach
    std::array<std::uint64_t, sharing_facts> counts{};
    double intervals_to_converge = 0;                 // when some joined; the longest of this world
    std::chrono::nanoseconds takeover_beyond_ttl{0};  // after the crash; the longest
};

sharing_outcome simulate_sharing(std::uint64_t seed, sharing_plant bug = sharing_plant::none);

}  // namespace pawl::simulation
