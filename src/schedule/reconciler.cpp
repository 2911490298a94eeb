#include "schedule/reconciler.hpp"

#include "runs/stale_run.hpp"
#include "runtime/engine.hpp"
#include "runtime/inspect_keys.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/timing/intervals.hpp"
#include "time/rfc3339.hpp"

#include <pawl/lease.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

const std::string reconciler_key = "pawl/reconciler";
constexpr std::size_t stale_at_once_max = 500;
constexpr std::size_t stale_seen_max = 10'000;  // in one look
// Lost beginnings are looked for in so many keys at a time.
constexpr std::size_t keys_checked_max = 1'000;
// A key may be out of reach for long by itself. With so many in a row it is the store that is away.
constexpr int keys_unreached_max = 3;

}  // namespace

reconciler::reconciler(node_state& node, const job_table& jobs, const positions& where,
                       const control_cache& control, const registrar& nodes)
    : node_{node},
      jobs_{jobs},
      positions_{where},
      control_{control},
      registrar_{nodes},
      timer_{node.loop.get_executor()} {}

awaitable<void> reconciler::reconcile() {
    millis taken{0};  // for how long another node has the duty
    while (!node_.stopping) {
        const auto spread = std::chrono::floor<millis>(reconcile_interval * node_.uniform() / 2);
        const auto wait = std::max(taken, reconcile_interval * 3 / 4) + spread;
        taken = millis{0};
        auto waiting = timer_.wait_for(wait);
        co_await std::move(waiting);
        if (node_.stopping || !node_.records) continue;
        if (!may_judge()) continue;
        // Never released: its holder keeps the others from looking again for a while.
        lease_options options;
        // A store with a quarantine grants nothing for longer than that.
        constexpr millis longest = reconcile_interval * 2;
        options.ttl = std::min(longest, node_.engine->settings().quarantine.value_or(longest));
        options.hold_until_expiry = true;
        options.renew = renewal_mode::manual;
        auto claiming = runtime::engine::acquire_with_reason(
            node_.engine, reconciler_key, options, wait_policy{}, node_.call_off.get_token());
        auto answer = co_await std::move(claiming);
        if (answer.has_error()) continue;
        auto* won = std::get_if<std::shared_ptr<runtime::lease_state>>(&*answer);
        if (won == nullptr) {
            // Until then asking is of no use, and there may be hundreds of nodes.
            if (const auto* other = std::get_if<busy>(&*answer))
                taken = std::min(other->remaining, longest);
            continue;
        }
        std::optional<lease> held{lease{std::move(*won)}};
        auto judging = judge_stale_runs();
        co_await std::move(judging);
        auto finding = find_lost_beginnings();
        co_await std::move(finding);
        auto releasing = held->async_release();
        co_await std::move(releasing);
    }
}

// A round takes its time: the journal may go away in the middle of it, and come back with rows of
// which no node could say that it lives.
bool reconciler::may_judge() const {
    return !node_.stopping && control_.may_judge(node_.loop.now());
}

awaitable<void> reconciler::judge_stale_runs() {
    std::unordered_set<std::string> seen;
    std::size_t left = 0;
    int unreached = 0;
    // Those that are left stand in front of what has not been looked at. A page may be short.
    while (seen.size() < stale_seen_max && may_judge()) {
        auto asking = node_.records->stale_runs(stale_at_once_max, left);
        const auto stale = co_await std::move(asking);
        if (stale.has_error()) co_return;
        const auto before = seen.size();
        for (const auto& one : *stale) seen.insert(one.id);
        if (node_.observer) node_.observer->on_stale_runs(seen.size());
        if (seen.size() == before) break;
        for (const auto& one : *stale) {
            if (!may_judge()) co_return;
            auto judging = judge_stale(one);
            const auto judged = co_await std::move(judging);
            if (judged.has_value()) unreached = 0;
            if (judged.has_error() && is_outage(judged.error()) && ++unreached > keys_unreached_max)
                co_return;
            if (judged.has_error() || !*judged) ++left;
        }
    }
    forget_judged(seen);
}

void reconciler::forget_judged(const std::unordered_set<std::string>& seen) {
    // One that stood where another was judged meanwhile may have been missed, this time.
    const auto forgotten = node_.loop.now() - 2 * node_.recording_timeout;
    std::erase_if(unheld_since_, [&](const auto& one) {
        return !seen.contains(one.first) &&
               (seen.size() < stale_at_once_max || one.second < forgotten);
    });
}

// True when it is over now.
async<bool> reconciler::judge_stale(const run_record& one) {
    auto looking = node_.engine->store().inspect(one.key);
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return seen.error();
    const auto outcome = runs::resolve_stale_run(one, *seen);
    if (outcome.what == runs::stale_state::alive) co_return false;
    if (outcome.what == runs::stale_state::in_doubt) {
        const auto since = unheld_since_.try_emplace(one.id, node_.loop.now());
        if (node_.loop.now() - since.first->second < node_.recording_timeout) co_return false;
    }
    if (!may_judge()) co_return false;
    const auto& how = outcome.how;
    run_ref who{one.id, one.token};
    auto judging = node_.records->end_stale(std::move(who), how);
    const auto judged = co_await std::move(judging);
    if (!judged.has_value() || !*judged) co_return false;
    node_.log(log_level::warn, "run " + std::string{name_of(how.status)} + " " +
                                   job_field(one.job, one.key) + " run=" + one.id + ": " +
                                   how.reason);
    if (node_.observer) node_.observer->on_run_judged(one.job, how.status);
    co_return true;
}

// A program may have the same owner at each start: of its predecessor nothing is at work here.
bool reconciler::may_still_tell(const track& which, const std::string& owner,
                                occurrence what) const {
    if (owner != node_.me.owner) return registrar_.hears(owner);
    const auto home = which.owner.lock();
    // What has begun of a job that is gone is not known any more.
    if (!home || home->begun.has(which.key, what)) return true;
    const bool is_in_doubt = which.unresolved && which.unresolved->occurrence == what;
    return is_in_doubt || which.decisions.queue().wants_occurrence(what);
}

// Records what no other node could any more. No more than a row is at stake: the node that began it
// has lost its lease. False when the journal has not answered.
awaitable<bool> reconciler::tell_lost(std::shared_ptr<track> which, lost_beginning what) {
    // One that was given back has left the store with the moment before it.
    if (which->plan->when && !fires_at(*which->plan->when, wall_of(what.which))) co_return true;
    auto finding = node_.records->find_occurrence(which->plan->name, which->partition, what.which);
    const auto row = co_await std::move(finding);
    if (row.has_error()) co_return false;
    if (*row && (*row)->status != run_status::skipped) co_return true;
    // It asks for its claim again, or withdraws it, or records what has become of it. Behind an
    // outage of the journal no other node is heard at first.
    if (!control_.may_judge(node_.loop.now())) co_return false;
    if (may_still_tell(*which, what.owner, what.which)) co_return false;
    // The journal keeps the newest runs of a job, and may have let go of this one. Newer rows alone
    // are no evidence that it had one: who died has not signed off, and that is told in doubt.
    auto nodes_of = node_.records->list_nodes();
    const auto nodes = co_await std::move(nodes_of);
    if (nodes.has_error()) co_return false;
    const bool signed_off = nodes->size() < page_limit_max &&
                            std::ranges::find(*nodes, what.owner, &node_entry::id) == nodes->end();
    run_filter of_job;
    of_job.job = which->plan->name;
    const auto kept = std::min<std::size_t>(which->plan->runs_kept(), page_limit_max);
    auto listing = node_.records->list_runs(std::move(of_job), "", kept);
    const auto newest = co_await std::move(listing);
    if (newest.has_error()) co_return false;
    if (signed_off && newest->records.size() >= kept &&
        newest->records.back().started_at > number(what.which))
        co_return true;
    run_start start{node_.ids.next_uuid(), which->plan->name, which->key};
    start.partition = which->partition;
    start.owner = std::move(what.owner);
    start.token = what.token;
    start.occurrence = what.which;
    auto writing = write_lost(std::move(start), "its node was lost before it recorded the start");
    co_return co_await std::move(writing);
}

awaitable<bool> reconciler::write_lost(run_start start, std::string reason) {
    start.node = "unknown";
    start.trigger = "schedule";
    start.heartbeat_timeout = runs::run_heartbeat_timeout;
    const auto job = start.job;
    const auto which = "occurrence lost " + job_field(start.job, start.key) +
                       " scheduled=" + time::format_rfc3339(wall_of(*start.occurrence));
    const auto token = start.token;
    auto beginning_of = node_.records->begin(std::move(start));
    const auto begun = co_await std::move(beginning_of);
    if (begun.has_error()) co_return false;
    // It is over, or goes on under a later token.
    if (begun->outcome != begin_outcome::begun && begun->outcome != begin_outcome::resumed)
        co_return true;
    run_end how;
    how.status = run_status::lost;
    how.reason = std::move(reason);
    const auto told = which + ": " + how.reason;
    run_ref who{begun->id, token};
    auto finishing = node_.records->finish(std::move(who), std::move(how));
    const auto finished = co_await std::move(finishing);
    if (finished.has_error()) co_return false;
    node_.log(log_level::warn, told);
    if (node_.observer) node_.observer->on_run_judged(job, run_status::lost);
    co_return true;
}

// A node that was lost between a grant and the first line about it has left nothing but the mark at
// the store. At most once: that occurrence will not run, and a node should say so.
awaitable<void> reconciler::find_lost_beginnings() {
    std::vector<std::shared_ptr<track>> tracks;
    for (const auto& [name, which] : jobs_.all())
        if (which->plan->queue.delivery == delivery::at_most_once && which->plan->when)
            for (const auto& one : which->tracks) tracks.push_back(one);
    // Where there are more than one look takes, the next look goes on behind this one.
    const auto looked_at = std::min(tracks.size(), keys_checked_max);
    std::vector<std::shared_ptr<track>> some;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < looked_at; ++i) {
        some.push_back(tracks[keys_looked_at_++ % tracks.size()]);
        keys.push_back(some.back()->key);
    }
    auto looking = runtime::inspect_keys(node_.engine, std::move(keys));
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return;
    for (std::size_t i = 0; i < some.size(); ++i) {
        if (!may_judge()) co_return;
        auto finding = find_lost_beginning(some[i], (*seen)[i]);
        const auto found = co_await std::move(finding);
        if (found.has_error()) co_return;
    }
}

// Fails when the store or the journal has not answered.
async<void> reconciler::find_lost_beginning(std::shared_ptr<track> one,
                                            std::optional<record> seen) {
    if (!seen || !seen->last_done || seen->remaining.count() > 0) co_return result<void>{};
    const auto occurrence = *seen->last_done;
    if (begun_[one->key] == number(occurrence)) co_return result<void>{};
    if (may_still_tell(*one, seen->owner, occurrence)) co_return result<void>{};
    auto finding = node_.records->find_occurrence(one->plan->name, one->partition, occurrence);
    const auto row = co_await std::move(finding);
    if (row.has_error()) co_return row.error();
    begun_[one->key] = number(occurrence);
    // What the journal has let go of is no news, nor what ran before there was a journal. One that
    // is begun late, after an outage or a jitter, is as old as its grant; a later grant of the key,
    // for a manual run, says nothing of it.
    const auto latest = number(occurrence) + one->plan->when->lateness_max.count();
    const pawl::occurrence granted{std::clamp(seen->acquired_at, number(occurrence), latest)};
    const auto age = node_.now() - wall_of(granted);
    if ((*row && (*row)->status != run_status::skipped) || age > std::chrono::hours{1} ||
        positions_.is_before_all(one->plan->name, occurrence))
        co_return result<void>{};
    // The look at all keys may be a while ago, and what was given back has begun elsewhere since.
    auto looking = node_.engine->store().inspect(one->key);
    const auto again = co_await std::move(looking);
    if (again.has_error()) co_return again.error();
    const bool is_as_it_was = *again && (*again)->last_token == seen->last_token &&
                              (*again)->last_done == seen->last_done;
    if (!is_as_it_was) {
        begun_.erase(one->key);
        co_return result<void>{};
    }
    lost_beginning what{occurrence, seen->last_token, seen->owner};
    auto telling = tell_lost(one, std::move(what));
    const bool settled = co_await std::move(telling);
    // Without an answer of the journal it is looked at again.
    if (!settled) begun_.erase(one->key);
    co_return result<void>{};
}

awaitable<void> reconciler::keep_telling_lost(std::shared_ptr<track> which, lost_beginning what) {
    net::timer timer{node_.loop.get_executor()};
    for (int i = 0; i < journal_tries_max; ++i) {
        auto telling = tell_lost(which, what);
        const bool answered = co_await std::move(telling);
        if (answered || node_.stopping) co_return;
        auto waiting = timer.wait_for(journal_retry);
        co_await std::move(waiting);
    }
}

}  // namespace pawl::schedule
