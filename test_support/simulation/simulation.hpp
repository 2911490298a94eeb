// A seeded simulation of many nodes that compete for leases, on virtual time: the engines of
// src/runtime and the rules of src/engines/rules/store are the real ones; clocks, network and
// crashes are not.
//
// A seed says everything that happens, so that a failure is repeated exactly.
#pragma once

#include "test_support/simulation/plan.hpp"
#include "test_support/simulation/referee.hpp"

#include <cstdint>

namespace pawl::simulation {

using findings = findings_of<referee>;

findings simulate(std::uint64_t seed, plant bug = plant::none, tracing trace = tracing::off);

}  // namespace pawl::simulation
