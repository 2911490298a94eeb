#include "test_support/simulation/schedule/cost.hpp"

#include "test_support/simulation/schedule/node.hpp"
#include "test_support/simulation/schedule/world.hpp"

#include <algorithm>
#include <memory>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// By then all nodes have read who the others are.
constexpr nanos settled_after = seconds{20};
// So far apart that the registry has forgotten the one before.
constexpr nanos misfortunes_every = seconds{15};
constexpr nanos misfortune_takes = seconds{3};
// Before a full second, at which occurrences come due.
constexpr nanos strikes_before = milliseconds{5};
constexpr std::uint64_t seed = 15;

world_plan plan_of(const cost_case& what) {
    world_plan plan;
    plan.nodes = what.nodes;
    plan.groups = what.groups;
    plan.start = wall_instant{std::chrono::hours{24 * 365 * 56}};
    plan.faulty = settled_after + what.measured;
    plan.healthy = seconds{20};
    plan.look = seconds{3};
    plan.registry = what.registry;
    plan.slow_way = plan.repeated = 0;
    plan.runs_max = what.jobs + 1;  // one node has room for all
    for (std::size_t i = 0; i < what.jobs; ++i) {
        job_plan job;
        job.name = "job-" + std::to_string(i);
        job.editions.push_back({{*time::cron::parse(what.when(i))}, 1});
        job.rules = what.rules;
        job.ttl = what.ttl;
        job.run_least = what.run_least;
        job.run_most = what.run_most;
        plan.jobs.push_back(std::move(job));
    }
    return plan;
}

// One node after the other, so that each is back before the next one goes.
void hurt(world& all, misfortune how, std::size_t which) {
    auto& victim = *all.nodes[which % all.nodes.size()];
    if (how == misfortune::killed) victim.crash(misfortune_takes);
    if (how == misfortune::frozen) victim.freeze(misfortune_takes);
    all.time.after(misfortunes_every, [&all, how, which] { hurt(all, how, which + 1); });
}

nanos at_share(const std::vector<nanos>& sorted, double share) {
    if (sorted.empty()) return nanos{0};
    const auto place = static_cast<std::size_t>(static_cast<double>(sorted.size()) * share);
    return sorted[std::min(place, sorted.size() - 1)];
}

}  // namespace

cost measure_cost(const cost_case& what) {
    world all{seed, plan_of(what)};
    for (std::size_t i = 0; i < all.plan.nodes; ++i)
        all.nodes.push_back(std::make_unique<node>(all, i));
    for (const auto& each : all.nodes)
        all.time.after(all.random.between(seconds{1}, seconds{5}), [&each] { each->start(); });
    if (what.hurt != misfortune::none)
        all.time.at(settled_after + misfortunes_every - strikes_before,
                    [&all, how = what.hurt] { hurt(all, how, 0); });
    // Halfway between two seconds, so that no occurrence is counted in part.
    all.run_until(settled_after + milliseconds{900});
    all.counted = {};
    all.run_until(settled_after + milliseconds{900} + what.measured);
    const auto counted = all.counted;
    if (what.checks_calendar) {
        all.run_until(all.plan.end());
        for (std::size_t i = 0; i < what.jobs; ++i) all.note_published(i);
        all.judge.check();
    }
    cost found;
    auto late = counted.late;
    std::sort(late.begin(), late.end());
    found.occurrences = late.size();
    const auto each = static_cast<double>(std::max<std::size_t>(late.size(), 1));
    found.store = static_cast<double>(counted.requests[0]) / each;
    found.journal = static_cast<double>(counted.requests[1]) / each;
    found.late_median = at_share(late, 0.5);
    found.late_p99 = at_share(late, 0.99);
    found.late_most = late.empty() ? nanos{0} : late.back();
    found.checked = all.judge.counts()[static_cast<std::size_t>(fact::checked)];
    found.breach = all.judge.first_breach();
    return found;
}

}  // namespace pawl::simulation::schedules
