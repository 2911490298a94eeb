#include "schedule/control_watcher.hpp"

#include "schedule/job/log_text.hpp"
#include "schedule/timing/intervals.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::schedule {

using boost::asio::awaitable;

awaitable<void> control_watcher::watch() {
    while (!node_.stopping) {
        auto waiting = timer_.wait_for(control_interval);
        co_await std::move(waiting);
        if (node_.stopping) break;
        auto looking = look();
        co_await std::move(looking);
    }
}

// Once for each time. Of a journal that is away the registrar tells.
void control_watcher::on_not_read(const failure& why) {
    if (node_.journal_down || std::exchange(is_unread_, true)) return;
    node_.log(log_level::warn, "control state not read: " + why.detail);
}

awaitable<void> control_watcher::look() {
    if (!node_.records) co_return;
    auto reading = node_.records->read_control_state();
    auto seen = co_await std::move(reading);
    if (seen.has_error()) co_return on_not_read(seen.error());
    is_unread_ = false;
    std::optional<control_cache::learning> learned;
    // A node that has not published its jobs does not know since when they have been due.
    if (!others_.control.was_read() && (node_.ready || !others_.where.knows_since())) {
        take_pauses(std::move(seen->pauses));
        learned.emplace(others_.control);
        auto learning = learn_what_is_due();
        const bool knows = co_await std::move(learning);
        if (!knows) co_return;
        learned->on_offered();
        // That took as long as the store did, and a job may be paused by now.
        auto again = node_.records->read_control_state();
        seen = co_await std::move(again);
        if (seen.has_error()) co_return on_not_read(seen.error());
    }
    if (node_.ready && !others_.control.was_read())
        node_.log(log_level::info,
                  "control state read, starting the occurrences that waited for it");
    others_.control.on_read(node_.loop.now());
    auto following = follow(std::move(*seen));
    co_await std::move(following);
}

awaitable<void> control_watcher::note_pauses() {
    if (!node_.records) co_return;
    auto reading = node_.records->read_control_state();
    auto seen = co_await std::move(reading);
    if (seen.has_error()) co_return;
    take_pauses(std::move(seen->pauses));
}

// A node that started without its journal has begun now, whatever was due before; nothing has fired
// since, so it begins anew. False when the journal is away again.
awaitable<bool> control_watcher::learn_what_is_due() {
    if (!node_.ready) co_return false;
    auto registering = others_.nodes.register_node();
    co_await std::move(registering);
    auto publishing = others_.nodes.publish_jobs();
    co_await std::move(publishing);
    if (!others_.where.knows_since()) co_return false;
    const bool is_learning = !others_.where.are_known();
    auto finding = others_.finder.find();
    co_await std::move(finding);
    if (!others_.where.are_known() && !is_learning) node_.spawn(others_.finder.keep_finding());
    co_return true;
}

// Of a hundred thousand jobs only those are looked at that are paused, or were.
void control_watcher::follow_pauses(std::vector<job_pause> pauses) {
    for (const auto& one : pauses) {
        const auto found = others_.jobs.find(one.job);
        if (!found) continue;
        auto& which = *found;
        if (!which.paused) {
            node_.log(log_level::info,
                      "job paused " + job_field(one.job) + " by=" + one.by + ": " + one.reason);
            for (auto& each : which.tracks) {
                each->decisions.queue().skip_paused();
                if (each->decisions.queue().has_skipped()) others_.keys.wake(each);
            }
        }
        which.paused = one;
    }
    take_pauses(std::move(pauses));
}

// Those that are gone go on, once it is known from where.
void control_watcher::take_pauses(std::vector<job_pause> pauses) {
    for (const auto& [name, pause] : others_.control.replace_pauses(std::move(pauses))) {
        const bool is_known = std::ranges::find(resuming_, name) != resuming_.end();
        if (!others_.control.pause_of(name) && !is_known) resuming_.push_back(name);
    }
}

// What was due during the pause was not to run, and what has come due since it ended is; until that
// is known the job rests. What has run of one that no store keeps in mind is unknown.
// False when it has to be asked again.
awaitable<bool> control_watcher::resume(std::string name) {
    if (!others_.jobs.find(name)) co_return true;
    auto finding = node_.records->find_job(name);
    const auto told = co_await std::move(finding);
    const auto found = others_.jobs.find(name);
    if (!found || others_.control.pause_of(name)) co_return true;
    if (told.has_error() && may_pass(told.error().code)) co_return false;
    found->paused.reset();
    node_.log(log_level::info, "job resumed " + job_field(name));
    const bool is_known = told.has_value() && *told && others_.nodes.take_since(**told);
    auto since = node_.now();
    if (is_known && found->plan->queue.delivery != delivery::off)
        since = wall_of(occurrence{(*told)->since});
    others_.times.schedule(*found, since);
    co_return true;
}

// Up to the first that the journal does not answer: with a thousand of them the control state would
// not be read for as long as it takes a thousand times not to.
awaitable<void> control_watcher::resume_all() {
    while (!resuming_.empty()) {
        const auto name = resuming_.front();
        auto resuming = resume(name);
        const bool is_settled = co_await std::move(resuming);
        resuming_.pop_front();
        if (is_settled) continue;
        // The others come first then, so that one alone holds none of them up.
        resuming_.push_back(name);
        co_return;
    }
}

awaitable<void> control_watcher::follow(control_state seen) {
    follow_pauses(std::move(seen.pauses));
    for (const auto& id : seen.cancels) others_.runs.stop(id, stop_cause::cancelled);
    const auto at = node_.loop.now();
    for (const auto& one : seen.triggers) offer_trigger(one, at);
    others_.control.forget_old(at, seen.orphans);
    for (const auto& one : seen.orphans) offer_orphan(one);
    auto resuming = resume_all();
    co_await std::move(resuming);
}

void control_watcher::offer_trigger(const run_trigger& one, instant now) {
    const auto found = others_.jobs.find(one.job);
    if (!found || !found->plan->enabled) return;
    // Whatever number of slots there was when it was asked for: a run of a slot is all of the work.
    const auto many = found->tracks.size();
    const auto partition = found->plan->has_slots ? one.partition % many : one.partition;
    if (partition >= many) return;
    auto& where = found->tracks[partition];
    const bool fresh = where->decisions.queue().offer_trigger(one.id, now);
    others_.control.on_trigger(one, now);
    if (fresh) others_.keys.wake(where);
}

void control_watcher::offer_orphan(const run_record& one) {
    const auto found = others_.jobs.find(one.job);
    if (!found || !one.occurrence || found->paused) return;
    // What `pawl exec` or a program has left is not for the job that is called the same.
    if (one.trigger != "schedule" || !found->plan->enabled) return;
    if (one.partition >= found->tracks.size()) return;
    auto& where = found->tracks[one.partition];
    // One of another number of partitions: its share of the work is not this one's.
    if (one.key != where->key) return;
    const auto at = node_.loop.now();
    auto* known = others_.control.find_done(one.id);
    if (!known) {
        if (where->decisions.queue().offer_orphan(one.id, *one.occurrence, at))
            others_.keys.wake(where);
        return;
    }
    if (known->closing || at - known->seen < node_.recording_timeout) return;
    known->closing = true;
    node_.spawn(close_done_orphan(one, known->token, known->owner));
}

// No node will tell any more how it ended, and it must not run again.
awaitable<void> control_watcher::close_done_orphan(run_record one, fence_token token,
                                                   std::string owner) {
    run_start start{node_.ids.next_uuid(), one.job, one.key};
    start.partition = one.partition;
    start.owner = std::move(owner);
    // The last grant may be the row's own: its node told the store that it was done after it had
    // been judged. The journal takes a row over for a newer one only.
    start.token = std::max(token, fence_token{number(one.token) + 1});
    start.occurrence = one.occurrence;
    start.delivery = delivery::at_least_once;
    auto writing =
        others_.lost.write_lost(std::move(start), "it ended, and its node could not record how");
    co_await std::move(writing);
    if (auto* known = others_.control.find_done(one.id)) known->closing = false;
}

}  // namespace pawl::schedule
