#include "schedule/dispatcher.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// So that the place of the schedule stays as it is, with an occurrence that is due at this moment.
bool fire_alike(const job_plan& a, const job_plan& b) {
    if (a.enabled != b.enabled || a.when.has_value() != b.when.has_value()) return false;
    if (!a.when) return true;
    return a.when->when.text() == b.when->when.text() && a.when->where == b.when->where &&
           a.when->policy.gap == b.when->policy.gap &&
           a.when->policy.repeat == b.when->policy.repeat &&
           a.when->lateness_max == b.when->lateness_max;
}

}  // namespace

dispatcher::dispatcher(parts made_of)
    : node_{made_of},
      control_{node_.records ? control_cache::control_source::journal
                             : control_cache::control_source::none},
      runner_{node_, control_},
      skips_{node_, control_},
      registrar_{node_, jobs_, positions_, runner_, made_of.runs_max},
      reconciler_{node_, jobs_, positions_, control_, registrar_},
      acquirer_{node_, {positions_, control_, runner_, skips_, reconciler_}, made_of.runs_max},
      deferred_poller_{node_, acquirer_},
      timekeeper_{node_, jobs_, registrar_, acquirer_, deferred_poller_},
      finder_{node_, jobs_, positions_, control_},
      control_state_{node_,
                     {jobs_, positions_, control_, registrar_, finder_, reconciler_, runner_,
                      acquirer_, timekeeper_}} {}

dispatcher::~dispatcher() = default;

std::optional<wall_instant> dispatcher::next_occurrence(const std::string& name) const {
    const auto found = jobs_.find(name);
    if (!found || found->paused) return std::nullopt;
    return jobs_.times().next_of(found->entry);
}

// -- jobs

void dispatcher::replace_jobs(std::vector<std::shared_ptr<const job_plan>> plans) {
    std::unordered_set<std::string> names;
    for (auto& plan : plans) {
        names.insert(plan->name);
        take_plan(std::move(plan));
    }
    for (const auto& name : jobs_.names_beside(names)) {
        registrar_.retire(name);
        positions_.forget(name);
        const auto which = jobs_.find(name);
        jobs_.remove(name);
        for (auto& one : which->tracks) acquirer_.let_go(one);
    }
    registrar_.publish_soon();
}

void dispatcher::take_plan(std::shared_ptr<const job_plan> plan) {
    const auto home = jobs_.find_or_add(plan->name);
    auto& which = *home;
    if (which.plan == plan) return;
    if (const auto* pause = control_.pause_of(plan->name); !which.plan && pause)
        which.paused = *pause;
    const bool is_new = !which.plan;
    const bool moves = is_new || !fire_alike(*which.plan, *plan);
    const bool same_tracks = which.plan && which.plan->partitions == plan->partitions &&
                             which.plan->has_slots == plan->has_slots;
    which.plan = std::move(plan);
    if (same_tracks) {
        for (auto& one : which.tracks) {
            one->plan = which.plan;
            one->decisions.queue().follow(which.plan->queue);
        }
    } else {
        for (auto& one : which.tracks) acquirer_.let_go(one);
        which.tracks.clear();
        which.shares.reset();
        for (std::uint32_t i = 0; i < which.plan->partitions; ++i)
            which.tracks.push_back(
                std::make_shared<track>(node_.loop.get_executor(), which.plan, home, i));
    }
    // What is there from the start may have been there before.
    const bool is_changed = is_new ? placed_ : moves || !same_tracks;
    if (is_changed) positions_.on_changed(which.plan->name, node_.now());
    if (placed_ && moves) timekeeper_.schedule(which);
    // New keys begin now: what a node that stood still has yet to see was due under the old ones.
    if (!same_tracks) jobs_.times().not_before(which.entry, node_.now(), node_.now());
}

// -- the node's day

awaitable<void> dispatcher::run(self_ptr self, std::stop_token stop, millis shutdown_grace) {
    auto& me = *self;
    me.node_.home = self;
    net::timer stopped{me.node_.loop.get_executor()};
    auto wake_up = [&me, &stopped] {
        boost::asio::post(me.node_.loop.get_executor(), [&me, &stopped] {
            me.node_.stopping = true;
            stopped.cancel();
            me.node_.time_changed.cancel();
            me.control_state_.wake_up();
            me.registrar_.wake_up();
            me.reconciler_.wake_up();
            me.deferred_poller_.wake_up();
            me.skips_.wake_up();
        });
    };
    const std::stop_callback on_stop{stop, wake_up};

    auto registering = me.registrar_.register_first();
    co_await std::move(registering);
    auto noting = me.control_state_.note_pauses();
    co_await std::move(noting);
    auto publishing = me.registrar_.publish_jobs();
    co_await std::move(publishing);
    auto finding = me.finder_.find();
    co_await std::move(finding);
    // A reload that comes from now on gives its jobs their places itself.
    me.placed_ = true;
    // Behind the store, which may be slow: nothing goes by what was paused before that.
    auto looking = me.control_state_.look();
    co_await std::move(looking);
    if (!me.knows_pauses())
        me.node_.log(
            log_level::warn,
            "control state not read: no scheduled run starts before it is known what is paused");
    me.node_.ready = true;
    if (me.node_.observer) me.node_.observer->on_ready();
    if (!me.positions_.are_known()) me.node_.spawn(me.finder_.keep_finding());
    me.node_.spawn(me.timekeeper_.keep_time());
    me.node_.spawn(me.deferred_poller_.keep_looking());
    me.node_.spawn(me.control_state_.watch());
    me.node_.spawn(me.registrar_.keep_registered());
    me.node_.spawn(me.registrar_.keep_published());
    me.node_.spawn(me.runner_.beat());
    me.node_.spawn(me.reconciler_.reconcile());
    while (!me.node_.stopping) {
        auto waiting = stopped.wait_for(std::chrono::hours{24});
        co_await std::move(waiting);
    }
    auto draining = me.drain(shutdown_grace);
    co_await std::move(draining);
}

// Rule of ending: claim nothing more, let finish, stop, release.
awaitable<void> dispatcher::drain(millis grace) {
    node_.call_off.request_stop();
    for (auto& [name, which] : jobs_.all())
        for (auto& one : which->tracks) {
            one->decisions.queue().forget_occurrences();
            one->timer.cancel();
        }
    acquirer_.send_away();
    runner_.stop_waiting();
    if (node_.records) {
        auto registering = registrar_.register_node();
        co_await std::move(registering);
    }
    const auto longest_grace = runner_.longest_grace();
    const auto times_out = node_.loop.now() + grace;
    while (node_.work.goes_on() && !forced_ && node_.loop.now() < times_out) {
        const auto left = std::chrono::ceil<millis>(times_out - node_.loop.now());
        auto waiting = node_.work.wait_for(left);
        co_await std::move(waiting);
    }
    runner_.stop_all();
    // Killed after its grace; then its last words have to be written and its lease released.
    const auto end = node_.loop.now() + longest_grace + runs::journal_timeout * 2 +
                     node_.engine->settings().timeout * 2;
    while (node_.work.goes_on() && node_.loop.now() < end) {
        const auto left = std::chrono::ceil<millis>(end - node_.loop.now());
        auto waiting = node_.work.wait_for(left);
        co_await std::move(waiting);
    }
    // Claims that were not answered are given up, so that others can have what they claimed.
    auto settling =
        runtime::claimer::drain(node_.engine->claims(), node_.engine->settings().timeout * 2);
    co_await std::move(settling);
    runner_.wake_up();
    // What is left goes on under its lease: outlast() waits for it, or leave() does not.
    if (node_.work.goes_on()) co_return;
    auto leaving = registrar_.sign_off();
    co_await std::move(leaving);
}

awaitable<void> dispatcher::outlast(self_ptr self) {
    auto& me = *self;
    while (me.node_.work.goes_on()) {
        auto waiting = me.node_.work.wait_for(std::chrono::hours{24});
        co_await std::move(waiting);
    }
    auto leaving = leave(self);
    co_await std::move(leaving);
}

awaitable<void> dispatcher::leave(self_ptr self) {
    auto leaving = self->registrar_.sign_off();
    co_await std::move(leaving);
}

void dispatcher::force_stop() {
    forced_ = true;
    node_.work.wake_up();
}

}  // namespace pawl::schedule
