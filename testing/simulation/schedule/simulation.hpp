// A seeded simulation of many nodes that run schedules, on virtual time: a day around an odd
// transition of a zone, of crashes, freezes, cuts, outages, deploys, pauses and clocks
// that step.
//
// The timetable, the lanes, the shares, the calendar and the rules of leases are the real ones;
// what drives them does as src/schedule's dispatcher does, without its I/O.
#pragma once

#include "testing/simulation/schedule/referee.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::simulation::schedules {

struct findings {
    std::optional<std::string> breach;  // the first law that was broken, and how
    std::array<bool, laws> broken{};    // every law that was
    tally counts{};
    std::uint64_t events = 0;
    std::uint64_t fingerprint = 0;  // differs as soon as anything of note differs
    nanos lived{};
    double node_hours = 0;
    std::string trace;  // of the end, up to the breach; empty unless asked for

    bool broke(law which) const { return broken[static_cast<std::size_t>(which)]; }
};

enum class tracing { off, on };

findings simulate(std::uint64_t seed, plant bug = plant::none, tracing trace = tracing::off);

}  // namespace pawl::simulation::schedules
