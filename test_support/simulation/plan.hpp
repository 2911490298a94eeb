// What one seed stands for: how many nodes, which keys, which faults, and which bug is planted.
#pragma once

#include "test_support/simulation/rng.hpp"

#include <pawl/options.hpp>
#include <pawl/spi/store_settings.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::simulation {

// A rule that is broken on purpose: the simulation must find out.
enum class plant {
    none,
    // At the node, and on the way from it
    clock_stops,      // rule 8: the clock does not count the time asleep
    unguarded,        // rule 10: a command lives on while its node is paused
    claim_id_reused,  // rule 2: a node has one claim id for ever
    callers_clock,    // rule 14: the wall clock of the caller ends leases
    // At the store
    repeat_mints,           // rule 2: a repeated claim gets a new token
    renew_revives,          // rule 3: a renewal takes the key back from whoever has it
    withdraw_any,           // rule 2: a withdrawal frees the key whoever has it
    release_any,            // rule 4: a release frees the key whoever has it
    min_hold_ignored,       // rule 4: a release frees the key though it was to stay held
    force_release_at_once,  // rule 5: no lock delay
    occurrence_unmarked,    // rule 6: an at-most-once occurrence is not marked by its grant
    occurrence_used_up,     // rule 6: an at-least-once occurrence is marked by its grant
    no_early_guard,         // rule 6: one fast clock uses up the future
    no_birth_guard,         // rule 6: a loss of data forgets what has run
    birth_without_skew,     // rule 6: a loss of data forgets what has run early
    no_quarantine,          // rule 7: a store that lost its data grants at once
    plain_counter,          // rule 1: tokens start again after a loss of data
    // At the guarded resource
    unchecked  // rule 15: writes of any token are accepted
};

std::string_view name_of(plant bug);

struct key_plan {
    std::string key;
    lease_options options;  // occurrence is chosen for each claim
    bool has_occurrences = false;
    nanos period{};     // between two occurrences
    nanos job_least{};  // how long a job takes
    nanos job_most{};
    double hangs = 0;  // how often a job never ends
    int rivals = 1;    // jobs in one process that want it
};

struct fault_plan {
    double lost = 0;      // of all messages
    double repeated = 0;  // of all messages
    double slow = 0;      // of all messages: delayed by up to `slowest`
    nanos slowest{};
    nanos every{};  // between two faults of nodes, the network and the store
    bool loses_data = false;
    bool force_releases = false;
};

struct world_plan {
    std::size_t nodes = 3;
    std::vector<key_plan> keys;
    fault_plan faults;
    store_settings settings;
    double drift = 0;    // how far the rates of clocks are apart
    nanos skew_most{};   // of wall clocks
    nanos faulty{};      // for how long there are faults
    nanos healthy{};     // and then none: within this time everybody who waits is served
    bool guards = true;  // a command outlives its process, until its guard ends it
    plant bug = plant::none;
};

world_plan draw_plan(rng& random, plant bug);

}  // namespace pawl::simulation
