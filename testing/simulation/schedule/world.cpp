#include "testing/simulation/schedule/world.hpp"

#include "journals/memory/memory_journal.hpp"
#include "journals/rules/checked_journal.hpp"
#include "stores/memory/memory_store.hpp"
#include "testing/simulation/schedule/node.hpp"

#include <algorithm>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;

store_settings settings_of(const world_plan& plan) {
    store_settings settings;
    constexpr millis no_bound = std::chrono::hours{24 * 3650};
    settings.max_skew = plan.bug == plant::no_early_guard ? no_bound : max_skew;
    return settings;
}

}  // namespace

world::world(std::uint64_t seed, plant bug)
    : random{seed},
      plan{draw_plan(random, bug)},
      judge{plan, time},
      server_{plan, time, seed},
      loop_{server_},
      leases_{std::make_shared<memory::data_set>([this] {
          return rules::store_time{floor<rules::micros>(server_.now().time_since_epoch()),
                                   floor<rules::micros>(server_.wall().time_since_epoch())};
      })},
      paused_(plan.jobs.size()) {
    store = memory::make_memory_store(loop_, settings_of(plan), leases_);
    records = journals::checked(memory::make_memory_journal(std::make_shared<memory::journal_data>(
        [this] { return floor<millis>(server_.wall().time_since_epoch()).count(); })));
}

world::~world() { nodes.clear(); }

void world::settle() {
    for (bool busy = true; busy;) {
        turn_server();
        busy = false;
        for (const auto& each : nodes) busy = each->turn() || busy;
    }
}

nanos world::next_event() const {
    auto next = time.next();
    for (const auto& each : nodes) next = std::min(next, each->next_event());
    return next;
}

void world::run_until(nanos end) {
    for (settle();; settle()) {
        const auto next = next_event();
        if (next > end) break;
        time.run_until(next);
        for (const auto& each : nodes) each->fire();
    }
    time.run_until(end);
}

void world::report_health() {
    for (const auto& each : nodes) each->report_health();
}

void world::take_down(side which, nanos how_long) {
    auto& up = which == side::store ? store_up_ : journal_up_;
    if (!up) return;
    const char* name = which == side::store ? "the store" : "the journal";
    judge.note(name, " is down");
    judge.happened(fact::outages);
    up = false;
    for (const auto& each : nodes) each->lose_connections(which);
    report_health();
    time.after(how_long, [this, &up, name] {
        judge.note(name, " is up");
        up = true;
        report_health();
    });
}

void world::pause_job(std::size_t job, nanos how_long) {
    if (!plan.has_journal || paused_[job]) return;
    paused_[job] = true;
    const auto& name = plan.jobs[job].name;
    serve(records->pause(name, "by the simulation", "the simulation"));
    judge.on_pause(job, true);
    time.after(how_long, [this, job, name] {
        paused_[job] = false;
        serve(records->unpause(name));
        judge.on_pause(job, false);
    });
}

}  // namespace pawl::simulation::schedules
