// What one seed stands for: which jobs, in which zone and year, how many nodes, which faults, and
// which bug is planted.
#pragma once

#include "schedule/lane.hpp"
#include "schedule/timetable.hpp"
#include "testing/simulation/dice.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

using schedule::wall_instant;

// A rule that is broken on purpose: the simulation must find out.
enum class plant {
    none,
    occurrence_unsent,  // claims carry no occurrence: the lease alone excludes
    withdrawn_used_up,  // a claim that is given up leaves its occurrence marked, and takes a new id
    used_up_by_grant,   // an at-least-once firing counts as done when it is granted
    busy_ends_it,       // an at-least-once firing that finds its key busy is let go of
    position_forgotten,  // a node that starts begins now, whatever was due before
    put_back_ignored,    // a clock that is put back is not noticed
    ahead_kept,          // firings of a clock that ran ahead stay when it is put back
    no_early_guard,      // one fast clock uses up the future
    unguarded,           // a command lives on while its node is frozen
    skips_untold,        // nobody writes down what did not run
    misses_untold,       // nobody says what an outage has cost
    pause_unheard,       // nodes do not look at the board for pauses
    orphans_left,        // nor for runs whose node is gone
    skipped_revived,     // what others have skipped is run by whoever comes later
    look_again_at_once   // the timer is set to what was due first, not to what is due next
};
std::string_view name_of(plant bug);

// Does not wait in line for a busy key: what one node has skipped is skipped for all.
bool gives_way(const schedule::lane_rules& rules);

struct job_plan {
    job_plan(std::string name, schedule::firing_rule when)
        : name{std::move(name)}, when{std::move(when)} {}

    std::string name;
    schedule::firing_rule when;
    schedule::lane_rules rules;
    millis ttl{30'000};
    millis jitter{0};
    nanos run_least{};
    nanos run_most{};
    std::uint32_t partitions = 1;
};

struct world_plan {
    std::vector<job_plan> jobs;
    std::size_t nodes = 3;
    wall_instant start{};
    nanos faulty{};   // for how long there are faults
    nanos healthy{};  // and then none
    nanos faults_every{};
    nanos look{};  // how often a node looks at its clock, the board and the registry
    bool has_journal = true;
    nanos skew_most{};  // of wall clocks
    double drift_most = 0;
    plant bug = plant::none;

    nanos end() const { return faulty + healthy; }
    // How far a clock may be off while its node counts as healthy.
    nanos clock_tolerated() const;
    // Within this time a healthy node begins what is due, or says why not.
    nanos patience(const job_plan& job) const;
};

world_plan draw_plan(dice& random, plant bug);

}  // namespace pawl::simulation::schedules
