// A seeded simulation of many nodes that compete for leases, on virtual time: the engines of
// src/runtime and the rules of src/engines/rules/store are the real ones; clocks, network and
// crashes are not.
//
// A seed says everything that happens, so that a failure is repeated exactly.
#pragma once

#include "test_support/simulation/plan.hpp"
#include "test_support/simulation/referee.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::simulation {

struct findings {
    std::optional<std::string> breach;  // the first law that was broken, and how
    std::array<bool, laws> broken{};    // every law that was
    fact_counts counts{};
    std::uint64_t events = 0;
    std::uint64_t fingerprint = 0;  // differs as soon as anything of note differs
    double node_hours = 0;
    std::string trace;  // of the end, up to the breach; empty unless asked for

    bool broke(law which) const { return broken[static_cast<std::size_t>(which)]; }
};

enum class tracing { off, on };

findings simulate(std::uint64_t seed, plant bug = plant::none, tracing trace = tracing::off);

}  // namespace pawl::simulation
