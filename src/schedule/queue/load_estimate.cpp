#include "schedule/queue/load_estimate.hpp"

#include "runs/recorder.hpp"
#include "schedule/timing/intervals.hpp"

#include <pawl/options.hpp>

#include <algorithm>

namespace pawl::schedule {
namespace {

double a_second(millis interval) { return 1000.0 / static_cast<double>(interval.count()); }

}  // namespace

load_estimate load_of(const fleet& what) {
    const auto agents = static_cast<double>(what.agents);
    load_estimate all;
    all.occurrences = static_cast<double>(what.jobs) * a_second(what.every);
    all.running = all.occurrences * static_cast<double>(what.run.count()) / 1000.0;
    all.acquired = 2 * all.occurrences;
    all.recorded = 2 * all.occurrences;
    // Most runs end before the first renewal is due where they are short.
    const auto between = lease_options{}.renew_fraction * static_cast<double>(what.ttl.count());
    if (static_cast<double>(what.run.count()) > between)
        all.renewed = all.running * 1000.0 / between;
    if (what.run > runs::run_heartbeat_interval)
        all.kept_alive = std::min(all.running, agents) * a_second(runs::run_heartbeat_interval);
    // What is left to others is looked at in one request a second; and one asks to be the
    // reconciler.
    all.looked = agents * (a_second(control_interval) + a_second(reconcile_interval));
    // The control state; a heartbeat and the list of nodes.
    all.registered = agents * (a_second(control_interval) + 2 * a_second(registry_interval));
    return all;
}

}  // namespace pawl::schedule
