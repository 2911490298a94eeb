#include "test_support/simulation/schedule/simulation.hpp"

#include "test_support/simulation/schedule/node.hpp"

#include <algorithm>
#include <memory>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr millis silent_for_ever = minutes{15};
constexpr std::size_t trace_lines = 1'000'000;

// Most faults are short, some outlast every lease and some misfire windows.
nanos draw_outage(world& all) {
    const auto uniform = all.random.fraction();
    if (uniform < 0.5) return all.random.between(seconds{1}, seconds{20});
    if (uniform < 0.9) return all.random.between(seconds{20}, minutes{3});
    return all.random.between(std::min<nanos>(minutes{3}, all.plan.outage_most / 2),
                              all.plan.outage_most);
}

// Mostly as far as clocks are set wrong by hand or by a virtual machine, sometimes by years.
nanos draw_step(world& all) {
    const auto most =
        all.random.happens(all.plan.leaps) ? nanos{hours{24 * 400}} : nanos{minutes{10}};
    return all.random.between(-most, most);
}

node::far_end draw_far_end(world& all) {
    constexpr node::far_end ends[]{node::far_end::all, node::far_end::store,
                                   node::far_end::journal};
    return ends[all.random.below(3)];
}

void disturb_clock(world& all, node& victim) {
    // Without a journal nobody can tell a node that its clock is slow.
    if (!all.plan.has_journal || !all.random.happens(all.plan.clock_steps)) return;
    const auto by = draw_step(all);
    // A virtual machine that stood still is given the time of its host as it goes on, or before.
    if (all.plan.kind == character::leaping && all.random.happens(0.5)) {
        const auto how_long = all.random.between(seconds{10}, minutes{2});
        victim.freeze(how_long);
        all.time.after(all.random.between(nanos{0}, how_long),
                       [&victim, by] { victim.step_clock(by); });
        return;
    }
    victim.step_clock(by);
    if (all.random.happens(0.7))
        all.time.after(draw_outage(all), [&victim, by] { victim.step_clock(-by); });
}

// What was granted has not begun, or nobody knows of the grant but the store.
void strike_at_grant(world& all, node& winner) {
    const auto uniform = all.random.fraction();
    // Mostly as long as a short lease, but not so long that others take the node for lost.
    const auto short_while = all.random.happens(0.6) ? all.random.between(seconds{5}, seconds{11})
                                                     : all.random.between(seconds{1}, seconds{20});
    if (uniform < 0.2) {
        winner.crash(short_while);
    } else if (uniform < 0.5) {
        winner.freeze(short_while);
    } else if (uniform < 0.85) {
        winner.cut(draw_outage(all), node::direction::answers, node::far_end::store);
        if (all.random.happens(0.6)) all.time.after(short_while, [&winner] { winner.deploy(); });
    } else if (uniform < 0.93) {
        all.take_down(side::store, short_while);
    } else {
        all.take_down(side::journal, short_while);
    }
}

void strike(world& all) {
    if (all.random.happens(all.plan.at_claims))
        return all.at_next_grant([&all](node& winner) { strike_at_grant(all, winner); });
    const auto uniform = all.random.fraction();
    auto& victim = *all.nodes[all.random.below(all.nodes.size())];
    const auto job = all.random.below(all.plan.jobs.size());
    if (all.plan.kind == character::leaping && all.random.happens(0.4))
        return disturb_clock(all, victim);
    if (uniform < 0.2) {
        victim.crash(draw_outage(all));
    } else if (uniform < 0.35) {
        victim.freeze(draw_outage(all));
    } else if (uniform < 0.45) {
        victim.cut(draw_outage(all), node::direction::both, draw_far_end(all));
    } else if (uniform < 0.55) {
        victim.cut(draw_outage(all), node::direction::answers, draw_far_end(all));
    } else if (uniform < 0.62) {
        all.take_down(side::store, draw_outage(all));
    } else if (uniform < 0.7) {
        all.take_down(side::journal, draw_outage(all));
    } else if (uniform < 0.77) {
        disturb_clock(all, victim);
    } else if (uniform < 0.83) {
        all.pause_job(job, draw_outage(all));
    } else if (uniform < 0.86) {
        all.trigger_job(job);
    } else if (uniform < 0.91) {
        all.cancel_run();
    } else if (uniform < 0.94) {
        all.reload_job(job);
    } else if (uniform < 0.965) {
        all.lose_data(draw_outage(all));
    } else {
        // One after the other, as a rolling deploy does.
        for (std::size_t i = 0; i < all.nodes.size(); ++i)
            all.time.after(seconds{45} * i, [&all, i] { all.nodes[i]->deploy(); });
    }
}

void plan_faults(world& all, std::size_t most, std::size_t& done) {
    const auto gap = all.random.between(nanos{0}, all.plan.faults_every * 2);
    all.time.after(gap, [&all, most, &done] {
        if (!all.faulty || done == most) return;
        ++done;
        strike(all);
        plan_faults(all, most, done);
    });
}

constexpr std::int64_t second_ms = 1'000;

// No row tells of an occurrence that never came due: all calendars here are of full seconds. And no
// row tells of a run that it goes on, when nothing has been heard of it for so long.
void check_rows(world& all) {
    const auto now =
        floor<millis>((all.plan.start + floor<microseconds>(all.time.now())).time_since_epoch())
            .count();
    const auto lost =
        *all.serve(all.records->list_runs({std::nullopt, run_status::lost, std::nullopt}, {}, 500));
    for (const auto& row : lost.records)
        if (row.occurrence && number(*row.occurrence) % second_ms != 0)
            all.judge.broken(law::settles,
                             row.key + ": row " + row.id + " is of no occurrence of its schedule");
    const auto open = *all.serve(
        all.records->list_runs({std::nullopt, run_status::started, std::nullopt}, {}, 500));
    for (const auto& row : open.records)
        if (now - row.last_heartbeat > silent_for_ever.count())
            all.judge.broken(law::settles,
                             row.key + ": row " + row.id + " says for ever that it runs");
}

findings play(world& all, tracing trace, std::size_t faults_most) {
    if (trace == tracing::on) all.judge.trace_lines(trace_lines);
    for (std::size_t i = 0; i < all.plan.nodes; ++i)
        all.nodes.push_back(std::make_unique<node>(all, i));
    for (const auto& each : all.nodes)
        all.time.after(all.random.between(seconds{1}, seconds{30}), [&each] { each->start(); });
    findings found;
    plan_faults(all, faults_most, found.faults);
    all.run_until(all.plan.faulty);
    all.faulty = false;
    all.judge.note("faults stop");
    all.run_until(all.plan.end());
    for (std::size_t i = 0; i < all.plan.jobs.size(); ++i) all.note_published(i);
    if (all.plan.has_journal) {
        all.judge.read_rows([&all](const std::string& job, std::uint32_t partition,
                                   pawl::occurrence occurrence) -> std::string {
            const auto row = all.row_of(job, partition, occurrence);
            if (!row) return "no row";
            return std::string{pawl::name_of(row->status)} + ": " + row->reason;
        });
        all.judge.read_runs([&all](const std::string& id) -> std::string {
            const auto row = *all.serve(all.records->find_run(id));
            return row ? std::string{pawl::name_of(row->status)} : std::string{};
        });
        check_rows(all);
    }
    all.judge.check();

    found.conclude(all.judge, all.time, all.plan.nodes);
    found.lived = all.time.now();
    return found;
}

}  // namespace

findings simulate(std::uint64_t seed, plant bug, tracing trace, std::size_t faults_most) {
    world all{seed, bug};
    return play(all, trace, faults_most);
}

findings simulate_slots(std::uint64_t seed, tracing trace) {
    rng random{seed};
    world all{seed, with_slots(draw_plan(random, plant::none))};
    return play(all, trace, all_faults);
}

std::size_t faults_needed(std::uint64_t seed, const findings& whole) {
    for (std::size_t most = 0; most < whole.faults; ++most)
        if (simulate(seed, plant::none, tracing::off, most).breach) return most;
    return whole.faults;
}

}  // namespace pawl::simulation::schedules
