#include "test_support/simulation/simulation.hpp"

#include "test_support/simulation/job.hpp"
#include "test_support/simulation/node.hpp"

#include <memory>
#include <vector>

namespace pawl::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t trace_lines = 80;

nanos draw_outage(world& all) {
    // Most faults are short, some outlast every lease.
    const auto most = all.random.happens(0.3) ? seconds{15} : milliseconds{1500};
    return all.random.between(milliseconds{1}, most);
}

void strike(world& all) {
    const auto uniform = all.random.fraction();
    auto& victim = *all.nodes[all.random.below(all.nodes.size())];
    if (uniform < 0.35) {
        victim.pause(draw_outage(all));
    } else if (uniform < 0.55) {
        victim.crash(all.random.between(milliseconds{1}, seconds{3}));
    } else if (uniform < 0.7) {
        all.cut_until[victim.index()] = all.time.now() + draw_outage(all);
        all.judge.note(victim.name(), " is cut off");
    } else if (uniform < 0.8) {
        all.restart_store(draw_outage(all));
    } else if (uniform < 0.9 && all.plan.faults.force_releases) {
        all.store.force_release(all.plan.keys[all.random.below(all.plan.keys.size())].key);
    } else if (uniform >= 0.9 && all.plan.faults.loses_data) {
        all.lose_data(draw_outage(all) / 4);
    }
}

void plan_faults(world& all) {
    const auto gap = all.random.between(nanos{0}, all.plan.faults.every * 2);
    all.time.after(gap, [&all] {
        if (all.healthy) return;
        strike(all);
        plan_faults(all);
    });
}

// Once faults have stopped, every key was granted again, and what had to be completed was.
void check_progress(world& all, const std::vector<std::weak_ptr<job>>& jobs, nanos healed) {
    for (const auto& weak : jobs)
        if (const auto each = weak.lock(); each && each->is_stuck())
            all.judge.broken(law::progress, each->key() + " is waited for without end");
    const auto since = std::chrono::floor<millis>(wall_at_start + healed).count();
    for (const auto& plan : all.plan.keys) {
        if (!plan.has_occurrences) {
            if (all.judge.last_grant(plan.key) < healed)
                all.judge.broken(law::progress, plan.key + " was not granted since faults stopped");
            continue;
        }
        const auto last = all.store.last_done(plan.key);
        if (!last || number(*last) < since)
            all.judge.broken(law::progress, plan.key + " has done nothing since faults stopped");
    }
}

}  // namespace

findings simulate(std::uint64_t seed, plant bug, tracing trace) {
    std::vector<std::weak_ptr<job>> jobs;
    world all{seed, [bug](rng& random) { return draw_plan(random, bug); }};
    if (trace == tracing::on) all.judge.trace_lines(trace_lines);
    const auto work = [&all, &jobs](node& home) {
        for (const auto& key : all.plan.keys) {
            for (int i = 0; i < key.rivals; ++i) {
                auto each = std::make_shared<job>(home, key);
                jobs.push_back(each);
                home.spawn(job::run(std::move(each)));
            }
        }
    };
    for (std::size_t i = 0; i < all.plan.nodes; ++i)
        all.nodes.push_back(std::make_unique<node>(all, i, work));
    for (const auto& each : all.nodes) each->start();
    plan_faults(all);
    all.run_until(all.plan.faulty);
    all.healthy = true;
    all.judge.note("faults stop");
    const auto healed = all.time.now();
    all.run_until(healed + all.plan.healthy);
    check_progress(all, jobs, healed);

    findings found;
    found.conclude(all.judge, all.time, all.plan.nodes);
    return found;
}

}  // namespace pawl::simulation
