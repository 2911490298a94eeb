#include "test_support/simulation/schedule/world.hpp"

#include "engines/memory/journal/memory_journal.hpp"
#include "engines/memory/store/memory_store.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "schedule/timing/intervals.hpp"
#include "test_support/simulation/schedule/node.hpp"

#include <algorithm>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;

using std::chrono::seconds;

constexpr nanos between_reloads = seconds{5};
// From a grant until its run has begun.
constexpr nanos beginning_takes = std::chrono::milliseconds{60};

store_settings settings_of(const world_plan& plan) {
    store_settings settings;
    constexpr millis no_bound = std::chrono::hours{24 * 3650};
    settings.max_skew = plan.bug == plant::no_early_guard ? no_bound : max_skew;
    settings.quarantine = plan.quarantine();
    return settings;
}

world_plan drawn_from(std::uint64_t seed, plant bug) {
    rng random{seed};
    return draw_plan(random, bug);
}

// How old a registry may be that is stale.
constexpr nanos registry_lag = seconds{60};
constexpr std::uint32_t strange_nodes = 3;

// Nobody leaves anything to it, and what is written down about it is as if it were there.
void hide(node_entry& one) { one.draining = true; }

}  // namespace

world::world(std::uint64_t seed, plant bug) : world{seed, drawn_from(seed, bug)} {}

world::world(std::uint64_t seed, const world_plan& given)
    : random{~seed},
      plan{given},
      judge{plan, time},
      server_{plan, time, seed},
      loop_{server_},
      paused_(plan.jobs.size()),
      editions_(plan.jobs.size()) {
    make_store();
    records = journals::checked(memory::make_memory_journal(std::make_shared<memory::journal_data>(
        [this] { return floor<millis>(server_.wall().time_since_epoch()).count(); })));
}

world::~world() { nodes.clear(); }

void world::make_store() {
    leases_ = std::make_shared<memory::data_set>([this] {
        return rules::store_time{floor<rules::micros>(server_.now().time_since_epoch()),
                                 floor<rules::micros>(server_.wall().time_since_epoch())};
    });
    store = memory::make_memory_store(loop_, settings_of(plan), leases_);
}

// Only nodes that have been touched: what a moment costs does not grow with those at rest.
void world::settle() {
    next_of_nodes_.resize(nodes.size(), nanos::max());
    for (turn_server(); !touched_.empty(); turn_server())
        for (const auto which : std::exchange(touched_, {})) {
            auto& one = *nodes[which];
            if (one.turn()) touch(which);
            next_of_nodes_[which] = one.next_event();
        }
}

nanos world::next_event() const {
    auto next = nanos::max();
    for (const auto each : next_of_nodes_) next = std::min(next, each);
    return next;
}

void world::fire(nanos at) {
    for (std::size_t i = 0; i < next_of_nodes_.size(); ++i) {
        if (next_of_nodes_[i] > at) continue;
        nodes[i]->fire();
        touch(i);
    }
}

void world::run_until(nanos end) { run_world_until(end, time, *this); }

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
    serve(records->pause_job(name, "by the simulation", "the simulation"));
    judge.on_pause(job, true);
    time.after(how_long, [this, job, name] {
        paused_[job] = false;
        serve(records->resume_job(name));
        judge.on_pause(job, false);
    });
}

void world::lose_data(nanos how_long) {
    if (!plan.loses_data || !store_up_) return;
    take_down(side::store, how_long);
    judge.on_loss();
    lost_.push_back(store);
    make_store();
}

void world::on_granted(node& winner) {
    if (!at_next_grant_ || !faulty) return;
    auto strike = std::exchange(at_next_grant_, nullptr);
    // Half of the time before the answer is there.
    const auto when = random.happens(0.5) ? nanos{0} : random.between(nanos{0}, beginning_takes);
    time.after(when, [strike = std::move(strike), &winner] { strike(winner); });
}

void world::reload_job(std::size_t job) {
    if (editions_[job] + 1 == plan.jobs[job].editions.size()) return;
    note_published(job);
    ++editions_[job];
    judge.on_reload(job);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        time.after(between_reloads * i, [this, i] { nodes[i]->reload(); });
}

void world::note_published(std::size_t job) {
    const auto& wanted = plan.jobs[job];
    const auto& now = wanted.editions[editions_[job]];
    const auto known = *serve(records->find_job(wanted.name));
    if (known && known->schedule == now.when.when.text() && known->zone == now.when.where.name() &&
        known->partitions == now.partitions)
        judge.on_published(job, editions_[job], wall_instant{millis{known->since}});
}

std::vector<node_entry> world::registry_told(const std::string& owner) {
    auto told = *serve(records->list_nodes());
    if (plan.registry == registry_kind::right) return told;
    registries_.emplace_back(time.now(), told);
    while (registries_.size() > 1 && registries_[1].first <= time.now() - registry_lag)
        registries_.erase(registries_.begin());
    const auto& before = registries_.front().second;
    const auto was_there = [&](const node_entry& one) {
        return std::any_of(before.begin(), before.end(),
                           [&](const node_entry& old) { return old.id == one.id; });
    };
    for (auto& one : told) {
        if (one.id == owner) continue;
        if (plan.registry == registry_kind::empty) hide(one);
        if (plan.registry == registry_kind::partial && random.happens(0.5)) hide(one);
        if (plan.registry == registry_kind::stale && !was_there(one)) hide(one);
        if (plan.registry == registry_kind::strange)
            one.running = static_cast<std::uint32_t>(random.below(one.running_max + 1));
    }
    const auto is_told = [&](const node_entry& one) {
        return std::any_of(told.begin(), told.end(),
                           [&](const node_entry& now) { return now.id == one.id; });
    };
    if (plan.registry == registry_kind::stale)
        for (auto one : before) {
            if (is_told(one) && one.age < schedule::node_heartbeat_timeout) continue;
            one.age = millis{0};
            std::erase_if(told, [&](const node_entry& now) { return now.id == one.id; });
            told.push_back(std::move(one));
        }
    if (plan.registry == registry_kind::strange && !told.empty())
        for (std::uint32_t i = 0; i < strange_nodes; ++i) {
            auto ghost = told.front();
            ghost.id = "ghost-" + std::to_string(i);
            ghost.age = millis{0};
            ghost.running = 0;
            told.push_back(std::move(ghost));
        }
    return told;
}

void world::count_begin(pawl::occurrence occurrence) {
    const auto wall = plan.start + floor<std::chrono::microseconds>(time.now());
    counted.late.push_back(wall - schedule::wall_of(occurrence));
}

std::string world::fresh_id() {
    std::string id = "00000000-0000-4000-8000-000000000000";
    for (auto& each : id)
        if (each == '0') each = "0123456789abcdef"[random.below(16)];
    return id;
}

void world::trigger_job(std::size_t job) {
    if (!plan.has_journal || !journal_up_) return;
    const auto& wanted = plan.jobs[job];
    const auto partitions = wanted.editions[editions_[job]].partitions;
    run_trigger what;
    what.id = fresh_id();
    what.job = wanted.name;
    what.partition = static_cast<std::uint32_t>(random.below(partitions));
    what.by = "the simulation";
    if (serve(records->add_trigger(what)).has_value())
        judge.on_trigger(what.id, job, what.partition);
}

void world::cancel_run() {
    if (!plan.has_journal || !journal_up_) return;
    const auto running =
        serve(records->list_runs({std::nullopt, run_status::started, std::nullopt}, {}, 10));
    if (running.has_error() || running->records.empty()) return;
    const auto& chosen = running->records[random.below(running->records.size())];
    if (!chosen.occurrence || !*serve(records->request_cancel(chosen.id, "the simulation"))) return;
    judge.on_cancel(chosen.key, *chosen.occurrence);
    time.after(judge.cancel_timeout(), [this, key = chosen.key, occurrence = *chosen.occurrence] {
        judge.check_cancelled(key, occurrence);
    });
}

}  // namespace pawl::simulation::schedules
