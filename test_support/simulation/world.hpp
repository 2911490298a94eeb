// A simulated world: machines with their processes, the store, the network between them, and the
// referee who sees all of it.
//
// Nothing here decides anything that the product decides: the processes are the product's own
// engines, each on a loop whose time the world turns, and the store keeps the rules that all stores
// share.
#pragma once

#include "test_support/simulation/plan.hpp"
#include "test_support/simulation/referee.hpp"
#include "test_support/simulation/simulated_store.hpp"
#include "test_support/simulation/timeline.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pawl::simulation {

class node;

// Outlives everything in it.
class world {
public:
    world(std::uint64_t seed, const std::function<world_plan(rng&)>& draw);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void run_until(nanos end);
    // For run_world_until().
    void settle();
    nanos next_event() const;
    void fire(nanos at);
    // A message from or to a node: lost, delayed, repeated, and overtaken by others.
    int carry(std::size_t node, const std::function<void()>& deliver);
    // The store restarts, with its data or without.
    void restart_store(nanos outage);
    void lose_data(nanos outage);
    // Holds what is trusted on all machines in this instant against what the store says.
    void audit(const std::string& key);

    rng random;
    const world_plan plan;
    timeline time;
    referee judge;
    simulated_store store;
    bool healthy = false;
    std::vector<nanos> cut_until;  // for each node: the network between it and the store
    std::vector<std::unique_ptr<node>> nodes;

private:
    void lose_connections();
};

}  // namespace pawl::simulation
