// What a node does beside its own runs: it looks at the board, one node at a time, looks after
// those whose node does not.
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "schedule/dispatcher.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

}  // namespace

// -- the board

awaitable<void> dispatcher::watch_board(self_ptr self) {
    auto& me = *self;
    while (!me.node_.stopping) {
        auto waiting = me.board_timer_.wait_for(board_interval);
        co_await std::move(waiting);
        if (me.node_.stopping) break;
        auto looking = look_at_board(self);
        co_await std::move(looking);
    }
}

awaitable<void> dispatcher::look_at_board(self_ptr self) {
    auto& me = *self;
    if (!me.node_.records) co_return;
    auto reading = me.node_.records->read_board();
    auto seen = co_await std::move(reading);
    if (seen.has_error()) co_return;
    // A node that has not published its jobs does not know since when they have been due.
    if (!me.control_.was_read() && (me.node_.ready || !me.positions_.knows_since())) {
        auto learning = learn_what_is_due(self);
        const bool knows = co_await std::move(learning);
        if (!knows) co_return;
    }
    if (me.node_.ready && !me.control_.was_read())
        me.node_.log(log_level::info, "the board was read: what has waited for it fires now");
    me.control_.on_read(me.node_.loop.now());
    me.take_board(std::move(*seen));
}

// A node that started without its journal has begun now, whatever was due before; nothing has fired
// since, so it begins anew. False when the journal is away again.
awaitable<bool> dispatcher::learn_what_is_due(self_ptr self) {
    auto& me = *self;
    if (!me.node_.ready) co_return false;
    auto registering = me.registrar_.register_node();
    co_await std::move(registering);
    auto publishing = me.registrar_.publish_jobs();
    co_await std::move(publishing);
    if (!me.positions_.knows_since()) co_return false;
    const bool is_learning = !me.positions_.are_known();
    auto finding = me.finder_.find();
    co_await std::move(finding);
    if (!me.positions_.are_known() && !is_learning) me.node_.spawn(me.finder_.keep_finding());
    co_return true;
}

// Of a hundred thousand jobs only those are looked at that are paused, or were.
void dispatcher::take_pauses(std::vector<job_pause> pauses) {
    for (const auto& one : pauses) {
        const auto found = jobs_.find(one.job);
        if (!found) continue;
        auto& which = *found;
        if (!which.paused) {
            node_.log(log_level::info,
                      "job '" + one.job + "' is paused by " + one.by + ": " + one.reason);
            for (auto& each : which.tracks) each->decisions.forget_firings();
        }
        which.paused = one;
    }
    for (const auto& [name, pause] : control_.replace_pauses(std::move(pauses))) {
        const auto found = jobs_.find(name);
        if (control_.pause_of(name) || !found || !found->paused) continue;
        found->paused.reset();
        node_.log(log_level::info, "job '" + name + "' is resumed");
        // What was due meanwhile was not to run.
        if (node_.ready) timekeeper_.schedule(*found);
    }
}

void dispatcher::take_board(board seen) {
    take_pauses(std::move(seen.pauses));
    for (const auto& id : seen.cancels) runner_.stop(id, stop_cause::cancelled);
    const auto at = node_.loop.now();
    for (auto& one : seen.triggers) {
        const auto found = jobs_.find(one.job);
        if (!found || !found->plan->enabled) continue;
        if (one.partition >= found->tracks.size()) continue;
        auto& where = found->tracks[one.partition];
        const bool fresh = where->decisions.offer_trigger(one.id, at);
        control_.on_trigger(one, at);
        if (fresh) acquirer_.wake(where);
    }
    control_.forget_old(at, seen.orphans);
    for (const auto& one : seen.orphans) offer_orphan(one);
}

void dispatcher::offer_orphan(const run_record& one) {
    const auto found = jobs_.find(one.job);
    if (!found || !one.firing || found->paused) return;
    // What `pawl exec` or a program has left is not for the job that is called the same.
    if (one.trigger != "schedule" || !found->plan->enabled) return;
    if (one.partition >= found->tracks.size()) return;
    auto& where = found->tracks[one.partition];
    const auto at = node_.loop.now();
    auto* known = control_.find_done(one.id);
    if (!known) {
        if (where->decisions.offer_orphan(one.id, *one.firing, at)) acquirer_.wake(where);
        return;
    }
    if (known->closing || at - known->seen < node_.recording_patience) return;
    known->closing = true;
    node_.spawn(close_done_orphan(shared_from_this(), one, known->token, known->owner));
}

// Nobody will tell any more how it ended, and it must not run again.
awaitable<void> dispatcher::close_done_orphan(self_ptr self, run_record one, fence_token token,
                                              std::string owner) {
    auto& me = *self;
    run_start start{me.node_.ids.next_uuid(), one.job, one.key};
    start.partition = one.partition;
    start.owner = std::move(owner);
    // The last grant may be the row's own: its node told the store that it was done after it had
    // been judged. The journal takes a row over for a newer one only.
    start.token = std::max(token, fence_token{number(one.token) + 1});
    start.firing = one.firing;
    start.mode = delivery::at_least_once;
    auto writing = me.reconciler_.write_lost(std::move(start),
                                             "it ended, and its node could not write down how");
    co_await std::move(writing);
    if (auto* known = me.control_.find_done(one.id)) known->closing = false;
}

}  // namespace pawl::schedule
