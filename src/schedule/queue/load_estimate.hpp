// What a fleet of agents asks its store and its journal, as arithmetic. The simulation holds the
// estimate to what whole nodes ask.
#pragma once

#include <pawl/types.hpp>

#include <cstdint>

namespace pawl::schedule {

struct fleet {
    std::uint64_t agents = 3;
    std::uint64_t jobs = 1;
    millis every{60'000};  // between two occurrences of a job
    millis run{1'000};     // how long each takes
    millis ttl{30'000};    // of its lease
};

// A second, from all agents together.
struct load_estimate {
    double occurrences = 0;
    double running = 0;  // at a time

    double acquired = 0;    // requests to the store that acquire and release
    double renewed = 0;     // that renew: an agent sends what is due together in one
    double looked = 0;      // that each agent sends however many jobs there are
    double recorded = 0;    // requests to the journal that begin and finish runs
    double kept_alive = 0;  // heartbeats of runs: one for all of an agent
    double registered = 0;  // that each agent sends however many jobs there are

    double store() const noexcept { return acquired + renewed + looked; }
    double journal() const noexcept { return recorded + kept_alive + registered; }
};

// REQUIRES: every, run and ttl are positive.
load_estimate load_of(const fleet& what);

}  // namespace pawl::schedule
