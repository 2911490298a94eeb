#include "test_support/simulation/world.hpp"

#include "test_support/simulation/node.hpp"

#include <algorithm>

namespace pawl::simulation {
namespace {

constexpr nanos quickest = std::chrono::microseconds{100};
constexpr nanos usual = std::chrono::milliseconds{3};

}  // namespace

world::world(std::uint64_t seed, const std::function<world_plan(rng&)>& draw)
    : random{seed},
      plan{draw(random)},
      judge{time},
      store{plan, time, judge},
      cut_until(plan.nodes) {}

world::~world() = default;

void world::settle() {
    for (const auto& each : nodes) each->turn();
}

nanos world::next_event() const {
    auto next = nanos::max();
    for (const auto& each : nodes) next = std::min(next, each->next_event());
    return next;
}

void world::fire(nanos /*at*/) {
    for (const auto& each : nodes) each->fire();
}

void world::run_until(nanos end) { run_world_until(end, time, *this); }

int world::carry(std::size_t node, const std::function<void()>& deliver) {
    const auto& faults = plan.faults;
    if (!healthy && (time.now() < cut_until[node] || random.happens(faults.lost))) return 0;
    const bool slow = !healthy && random.happens(faults.slow);
    time.after(random.between(quickest, slow ? faults.slowest : usual), deliver);
    if (healthy || !random.happens(faults.repeated)) return 1;
    time.after(random.between(quickest, faults.slowest), deliver);
    return 2;
}

void world::restart_store(nanos outage) {
    store.restart(outage);
    lose_connections();
}

void world::lose_data(nanos outage) {
    store.lose_data(outage);
    lose_connections();
}

// Some hear that the server is gone, and some only hear nothing any more.
void world::lose_connections() {
    for (const auto& each : nodes)
        if (random.happens(0.5)) each->lose_connections();
}

void world::audit(const std::string& key) {
    std::size_t trusting = 0;
    for (const auto& each : nodes) {
        each->for_each_trusted(key, [&](fence_token token) {
            ++trusting;
            if (!store.backs(key, token))
                judge.broken(law::trust_is_backed, each->name() + " trusts " +
                                                       std::to_string(number(token)) + " of " +
                                                       key + ", which the store does not hold");
        });
    }
    if (trusting > 1)
        judge.broken(law::one_holder, std::to_string(trusting) + " trust their lease of " + key);
}

}  // namespace pawl::simulation
