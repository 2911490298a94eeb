// What one seed stands for: which jobs, in which zone and year, how many nodes, which faults, and
// which bug is planted.
#pragma once

#include "schedule/queue/key_state.hpp"
#include "schedule/timing/timetable.hpp"
#include "test_support/simulation/rng.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

using schedule::wall_instant;

// How far ahead of the store's clock an occurrence may be.
constexpr millis max_skew{60'000};

// A rule that is broken on purpose: the simulation must find out.
enum class plant {
    none,
    occurrence_unsent,  // claims carry no occurrence: the lease alone excludes
    used_up_by_grant,   // an at-least-once occurrence counts as done when it is granted
    no_early_guard,     // one fast clock uses up the future
    unguarded,          // a command lives on while its node is frozen
    skips_untold,       // nobody writes down what did not run
    misses_untold,      // nobody says what an outage has cost
    pause_unheard,      // nodes do not look at the control state for pauses
    orphans_left,       // nor for runs whose node is gone
    mark_stays,         // a claim that is withdrawn leaves its occurrence marked
    new_id              // a claim that was not answered is repeated under another id
};
std::string_view name_of(plant bug);

// When a job runs and over how many partitions, until a reload says otherwise.
struct edition {
    schedule::occurrence_rule when;
    std::uint32_t partitions = 1;
    bool has_slots = false;  // an occurrence runs under one of these keys, in turn

    // Whether this occurrence is to run under this key.
    bool has_turn(wall_instant at, std::uint32_t partition) const;
};

struct job_plan {
    std::string name;
    std::vector<edition> editions;  // each reload takes the next one
    schedule::queue_rules rules;
    millis ttl{30'000};
    millis jitter{0};
    nanos run_least{};
    nanos run_most{};

    millis lateness_max() const { return editions.front().when.lateness_max; }
};

std::string key_of(const job_plan& job, std::uint32_t partitions, std::uint32_t partition);

// What the registry tells nodes of each other. All of it is wrong, but for `right`: what a node
// makes of it may only ever be a matter of who asks first.
enum class registry_kind {
    right,
    stale,    // the others as they were a while ago, dead ones among them
    strange,  // nodes that do not exist, and how full the others are is made up
    partial,  // some of the others, and other ones each time
    empty     // none of the others
};
std::string_view name_of(registry_kind kind);

// What a world is like. Each kind meets cases that the others hardly ever do.
enum class character {
    mixed,    // hours of a bit of everything
    dense,    // a calendar of seconds, short leases, and faults at the moment of a claim
    overrun,  // runs take longer than the time between them, and clocks are right
    in_line,  // occurrences that wait for the key without an end
    leaping   // clocks leap, also while their machine stands still
};
std::string_view name_of(character kind);

struct world_plan {
    character kind = character::mixed;
    std::vector<job_plan> jobs;
    std::size_t nodes = 3;
    std::size_t groups = 1;  // of nodes, each with jobs of its own
    wall_instant start{};
    nanos faulty{};   // for how long there are faults
    nanos healthy{};  // and then none
    nanos faults_every{};
    nanos outage_most{};
    double at_claims = 0;    // how many faults wait for a claim, and strike who made it
    double clock_steps = 1;  // how many of the steps that are drawn take place
    double leaps = 0.2;      // how many of those are by years
    nanos look{};  // how often a node looks at the control state and the registry, at least
    bool has_journal = true;
    registry_kind registry = registry_kind::right;
    std::size_t runs_max = 8;  // of a node at a time
    double slow_way = 0.01;    // of all ways through the network
    double repeated = 0.01;    // of all requests
    bool loses_data = false;   // the store does, and has a quarantine for that
    nanos skew_most{};         // of wall clocks
    double drift_most = 0;
    plant bug = plant::none;

    std::optional<millis> quarantine() const;
    nanos end() const { return faulty + healthy; }
    // How far a clock may be off while its node counts as healthy.
    nanos clock_tolerated() const;
    // The first node that has this job; the others are `groups` apart.
    std::size_t first_node_of(std::size_t job) const { return job % groups; }
    // Within this time a healthy node begins what is due, or says why not.
    nanos timeout(const job_plan& job) const;
};

world_plan draw_plan(rng& random, plant bug);

// The same world, but every job has two slots or more, and a reload may change how many.
world_plan with_slots(world_plan plan);

}  // namespace pawl::simulation::schedules
