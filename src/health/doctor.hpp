// The checks behind `pawl doctor`: what a store says of itself, what can be measured from here, and
// what its locks look like.
#pragma once

#include "health/lock_debt.hpp"

#include <pawl/clock.hpp>
#include <pawl/locks.hpp>
#include <pawl/spi/examination.hpp>
#include <pawl/spi/store_settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pawl::health {

using micros = std::chrono::microseconds;

struct doctor_bounds {
    std::size_t round_trips = 50;  // how many are measured
    millis watched{2000};          // for how long turnover is counted
    debt_bounds debt;
};

struct diagnosis {
    std::string version;  // of the engine; "" when it does not say
    std::vector<finding> findings;

    severity worst() const noexcept;
};

// Blocks for `watched` and some requests. Throws store_error if the store cannot be asked at all.
diagnosis diagnose(locks& store, const store_settings& settings, const doctor_bounds& bounds);

// The parts that need no store.

// REQUIRES: !samples.empty().
finding judge_round_trips(std::vector<micros> samples, millis timeout);
// `offset`: the store's clock minus ours, known to half a round trip.
finding check_clock(micros offset, micros round_trip, millis max_skew);
// Of agents, by name, and the time zones that each goes by; empty where it does not say.
finding judge_zones(const std::vector<std::pair<std::string, std::string>>& agents);
finding judge_quarantine(const store_settings& settings, const store_traits& traits);

}  // namespace pawl::health
