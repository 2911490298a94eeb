#include "api/jobs/job_health.hpp"

#include "base/comma_list.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "schedule/dispatcher.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/queue/turns.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using schedule::wall_instant;

// Of agents, in one sentence.
constexpr std::size_t nodes_named_max = 3;
// A manual request is taken up within that, where nothing stands in its way.
constexpr millis taken_up_within{2 * schedule::control_interval};

// To the second: sentences are read, not computed with.
std::string when(std::int64_t unix_millis) {
    return time::format_rfc3339(
        wall_instant{std::chrono::floor<std::chrono::seconds>(millis{unix_millis})},
        std::chrono::seconds{0});
}

std::string length(millis how_long) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(how_long);
    return base::format_duration(std::max(millis{seconds}, millis{1'000}));
}

std::string shown(std::string_view text) { return base::printable(text); }

std::string plural(std::size_t count, const std::string& word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

// -- when it is due

// What was last asked of the schedule: occurrences up to here have been dealt with.
std::int64_t position_of_one(const job_facts& job, const partition_facts& part,
                             const shared_facts& around) {
    auto position = job.entry->since;
    const auto reach = [&](std::int64_t at) { position = std::max(position, at); };
    if (part.last_occurrence)
        reach(*part.last_occurrence);
    else if (part.passed_over)
        reach(*part.passed_over - 1);
    if (part.lock && part.lock->last_done) reach(number(*part.lock->last_done));
    if (job.resumed_at) reach(*job.resumed_at);
    const auto& terms = *job.terms;
    // Such occurrences leave no row where they find the key busy: they are not late, they are done.
    if ((terms.hold_until_expiry || !terms.remembers) && part.last_run) {
        const auto& run = *part.last_run;
        if (run.completed_at) reach(*run.completed_at);
        if (terms.hold_until_expiry) reach(run.started_at + terms.ttl.count());
    }
    // They are not remembered either: a node that starts begins anew.
    if (!terms.remembers) {
        std::optional<std::int64_t> begun;
        for (const auto& one : *around.nodes)
            if (documents::is_live(one))
                begun = std::min(begun.value_or(one.started_at), one.started_at);
        if (begun) reach(*begun);
    }
    return position;
}

// Of a job with slots whose occurrences give way, a later one that has begun in another slot has
// left the earlier ones behind.
std::int64_t position_of(const job_facts& job, const partition_facts& part,
                         const shared_facts& around) {
    auto position = position_of_one(job, part, around);
    if (job.terms->has_slots && !job.terms->takes_in_order)
        for (const auto& other : job.partitions)
            position = std::max(position, position_of_one(job, other, around));
    return position;
}

bool quietly_busy(const job_facts& job, const partition_facts& part) {
    const bool closed = part.lock && part.lock->remaining.count() > 0;
    return (job.terms->hold_until_expiry || !job.terms->remembers) && (closed || part.active);
}

struct dueness {
    std::optional<std::int64_t> due{};     // late since
    std::optional<std::int64_t> missed{};  // came due, and will not run any more
};

// Of this partition, up to `until`.
std::optional<std::int64_t> occurrence_after(const job_facts& job, const partition_facts& part,
                                             std::int64_t position, std::int64_t until) {
    const auto& rule = *job.terms->rule;
    const auto latest = wall_instant{millis{until}};
    auto next = rule.when.next(wall_instant{millis{position}}, rule.where, rule.policy);
    while (next && *next <= latest && job.terms->has_slots &&
           schedule::slot_of(rule, *next, job.terms->partitions) != part.partition)
        next = rule.when.next(*next, rule.where, rule.policy);
    if (!next || *next > latest) return std::nullopt;
    return std::chrono::floor<millis>(*next).time_since_epoch().count();
}

// `may_begin`: a node is there that could run it.
dueness look_at_schedule(const job_facts& job, const partition_facts& part,
                         const shared_facts& around, bool may_begin) {
    dueness seen;
    if (!job.terms->rule || quietly_busy(job, part)) return seen;
    const auto expiry = late_after + job.terms->jitter;
    const auto late = around.now - expiry.count();
    const auto first = occurrence_after(job, part, position_of(job, part, around), late);
    if (!first) return seen;
    const auto window = job.terms->rule->lateness_max;
    if (!may_begin || around.now - *first <= window.count()) {
        seen.due = first;
        return seen;
    }
    seen.missed = first;
    const auto next = occurrence_after(job, part, around.now - window.count() - 1, late);
    if (next && *next > *first) seen.due = next;
    return seen;
}

// -- what stands in its way

std::string no_live_agent(const std::vector<node_entry>& nodes) {
    if (nodes.empty()) return "no agent has been seen within a day: start one";
    const node_entry* last = nullptr;
    const node_entry* leaving = nullptr;
    for (const auto& one : nodes) {
        if (one.age <= schedule::node_heartbeat_timeout) leaving = &one;
        if (last == nullptr || one.last_seen > last->last_seen) last = &one;
    }
    if (leaving != nullptr)
        return "no agent takes new runs: " + shown(leaving->name) + " is draining";
    const auto others = nodes.size() - 1;
    return "no agent is live: " + shown(last->name) + " has been unresponsive since " +
           when(last->last_seen) +
           (others > 0 ? ", and " + plural(others, "other") + " for longer" : std::string{});
}

// Empty while one of them has room.
std::string no_free_room(const std::vector<node_entry>& nodes) {
    std::string text;
    std::size_t live = 0;
    for (const auto& one : nodes) {
        if (!documents::is_live(one)) continue;
        if (one.running_max == 0 || one.running < one.running_max) return "";
        if (live++ >= nodes_named_max) continue;
        base::add_to_list(text, std::to_string(one.running) + " of " +
                                    std::to_string(one.running_max) + " on " + shown(one.name));
    }
    if (live > nodes_named_max) text += " and " + std::to_string(live - nodes_named_max) + " more";
    return "every slot of every live agent is taken: " + text +
           "; it starts when a run finishes (max_concurrent_runs)";
}

std::string of_run(const run_record& run) {
    return (run.occurrence ? "of " + when(number(*run.occurrence)) + " " : std::string{}) +
           "still runs on " + shown(run.node) + " since " + when(run.started_at) + " (run " +
           shown(run.id) + ")";
}

std::string held_by(const job_facts& job, const partition_facts& part) {
    const auto& lock = *part.lock;
    if (part.active && part.active->token == lock.holder)
        return (part.active->occurrence ? "its previous run " : "a manual run ") +
               of_run(*part.active);
    auto owner = "lock " + shown(lock.key) + " is held by " + shown(lock.owner) + " since " +
                 when(lock.acquired_at) + " (token " + std::to_string(number(lock.holder)) +
                 "), expires in " + length(lock.remaining) + " unless renewed";
    const bool known = part.last_run && part.last_run->token == lock.holder;
    if (known)
        return owner + "; its run " + shown(part.last_run->id) + " is " +
               std::string{name_of(part.last_run->status)};
    if (part.holder_known) return owner;
    return owner + "; no run of " + shown(job.entry->name) + " has this token";
}

// An agent that has acquired the key writes its run down a moment later.
bool is_held_by_an_outsider(const partition_facts& part, const shared_facts& around) {
    if (!part.lock || number(part.lock->holder) == 0 || part.lock->remaining.count() <= 0)
        return false;
    const auto token = part.lock->holder;
    if (part.holder_known || (part.active && part.active->token == token) ||
        (part.last_run && part.last_run->token == token))
        return false;
    return std::none_of(around.nodes->begin(), around.nodes->end(),
                        [&](const node_entry& one) { return one.id == part.lock->owner; });
}

std::string in_cooldown(const job_facts& job, const partition_facts& part,
                        const shared_facts& around) {
    const auto& lock = *part.lock;
    const auto until = around.now + lock.remaining.count();
    const auto& terms = *job.terms;
    std::string cause = "after a force release, or a minimum hold time";
    if (terms.hold_until_expiry)
        cause = "hold_until_expiry = true";
    else if (terms.min_hold.count() > 0 &&
             std::abs(lock.acquired_at + terms.min_hold.count() - until) < 2'000)
        cause = "min_hold = " + base::format_duration(terms.min_hold);
    return "its lock " + shown(lock.key) + " is in cooldown until " + when(until) + " (" + cause +
           ")";
}

// A node that has it in its configuration publishes it again and again.
std::string unpublished(const job_facts& job, const shared_facts& around) {
    const auto& entry = *job.entry;
    const node_entry* publisher = nullptr;
    for (const auto& one : *around.nodes)
        if (one.name == entry.node && (publisher == nullptr || one.age < publisher->age))
            publisher = &one;
    if (publisher != nullptr && publisher->age > schedule::node_heartbeat_timeout)
        return "the agent that has it, " + shown(entry.node) + ", has been unresponsive since " +
               when(publisher->last_seen) + ", and no other has published it since then";
    const auto expiry = published_lately * static_cast<long>(1 + around.jobs / 1000);
    if (around.now - entry.published_at <= expiry.count()) return "";
    return "no live agent has it in its configuration: " + shown(entry.node) +
           " published it last, at " + when(entry.published_at);
}

// One line; empty when nothing stands in its way that is seen from here.
std::string obstacle(const job_facts& job, const partition_facts& part,
                     const shared_facts& around) {
    if (!around.store_trouble.empty()) return "the store does not answer: " + around.store_trouble;
    if (documents::count_live(*around.nodes) == 0) return no_live_agent(*around.nodes);
    if (part.lock && part.lock->remaining.count() > 0)
        return number(part.lock->holder) != 0 ? held_by(job, part) : in_cooldown(job, part, around);
    if (part.active)
        return "its previous run " + of_run(*part.active) + ", without its lock " +
               shown(job.terms->key(part.partition));
    if (auto full = no_free_room(*around.nodes); !full.empty()) return full;
    return unpublished(job, around);
}

std::string or_unseen(std::string why, const job_facts& job, const partition_facts& part) {
    if (!why.empty()) return why;
    return "its lock " + shown(job.terms->key(part.partition)) +
           " is free and agents are live: one acquires it within seconds, or its log and 'pawl "
           "doctor' say why not";
}

std::string in_partition(const job_facts& job, std::uint32_t which, std::string why) {
    if (job.terms->partitions == 1) return why;
    return (job.terms->has_slots ? "slot " : "partition ") + std::to_string(which) + ": " + why;
}

// "; 3 of its 8 partitions are late"
std::string how_many(const job_facts& job, std::uint32_t count, const std::string& are_what) {
    return "; " + std::to_string(count) + " of its " + std::to_string(job.terms->partitions) +
           (job.terms->has_slots ? " slots are " : " partitions are ") + are_what;
}

bool has_failed(run_status status) {
    return status == run_status::failed || status == run_status::timed_out;
}

// -- the states

job_health late(const job_facts& job, const shared_facts& around) {
    job_health seen;
    const bool may_begin = around.store_trouble.empty() && documents::count_live(*around.nodes) > 0;
    const partition_facts* first = nullptr;
    std::optional<std::int64_t> missed;
    for (const auto& part : job.partitions) {
        if (!part.rows_known) continue;
        const auto what = look_at_schedule(job, part, around, may_begin);
        if (what.missed) missed = std::max(missed.value_or(*what.missed), *what.missed);
        if (!what.due) continue;
        ++seen.late;
        if (first != nullptr && *seen.since <= *what.due) continue;
        first = &part;
        seen.since = what.due;
    }
    if (first != nullptr) {
        seen.state = job_state::late;
        seen.why = in_partition(job, first->partition,
                                or_unseen(obstacle(job, *first, around), job, *first));
        if (seen.late > 1) seen.why += how_many(job, seen.late, "late");
    } else if (missed) {
        seen.why = "its run of " + when(*missed) +
                   " was missed and is not executed: no agent could start it within " +
                   base::format_duration(job.terms->rule->lateness_max - job.terms->jitter) +
                   " (misfire, misfire_window)";
        seen.since = seen.missed = missed;
    }
    return seen;
}

job_health blocked(const job_facts& job, const shared_facts& around) {
    job_health seen;
    const partition_facts* first = nullptr;
    for (const auto& part : job.partitions) {
        if (!is_held_by_an_outsider(part, around)) continue;
        ++seen.blocked;
        if (first == nullptr || part.lock->acquired_at < first->lock->acquired_at) first = &part;
    }
    if (first == nullptr) return seen;
    seen.state = job_state::blocked;
    seen.since = first->lock->acquired_at;
    seen.blocked_by = blockage{first->partition, *first->lock};
    seen.why = in_partition(job, first->partition, held_by(job, *first));
    if (seen.blocked > 1) seen.why += how_many(job, seen.blocked, "blocked");
    return seen;
}

job_health failing(const job_facts& job) {
    job_health seen;
    const auto& streak = job.failures.worst;
    if (streak.count == 0) return seen;
    const auto& run = *streak.newest;
    seen.state = job_state::failing;
    seen.since = streak.since;
    seen.why = (streak.count == 1 ? std::string{"its last run"}
                                  : "its last " + std::to_string(streak.count) + " runs") +
               " failed" + (streak.count == 1 ? "" : ", the newest") + " on " + shown(run.node) +
               " at " + when(run.at) + ": " + run.reason;
    if (run.partition) seen.why = in_partition(job, *run.partition, std::move(seen.why));
    if (job.failures.partitions > 1) seen.why += how_many(job, job.failures.partitions, "failing");
    return seen;
}

const partition_facts* partition_of(const job_facts& job, std::uint32_t which) {
    const auto found =
        std::find_if(job.partitions.begin(), job.partitions.end(),
                     [&](const partition_facts& one) { return one.partition == which; });
    return found == job.partitions.end() ? nullptr : &*found;
}

std::optional<job_health> waiting(const job_facts& job, const shared_facts& around) {
    job_health seen;
    seen.state = job_state::waiting;
    if (!job.triggers.empty()) {
        const auto& what = *job.triggers.front();
        const auto* part = partition_of(job, what.partition);
        const partition_facts unknown;
        seen.since = what.at;
        auto why = obstacle(job, part != nullptr ? *part : unknown, around);
        if (why.empty() && around.now - what.at <= taken_up_within.count())
            why = "an agent starts it within " + length(taken_up_within);
        seen.why = "a run that " + shown(what.by) + " queued at " + when(what.at) + " waits: " +
                   in_partition(job, part != nullptr ? part->partition : 0,
                                or_unseen(why, job, part != nullptr ? *part : unknown));
        return seen;
    }
    for (const auto& part : job.partitions) {
        if (!part.orphan) continue;
        const auto& run = *part.orphan;
        seen.since = run.completed_at.value_or(run.last_heartbeat);
        seen.why =
            "its run " + shown(run.id) + " is to be resumed, as " +
            (run.reason.empty() ? shown(run.node) + " has left it" : shown(run.reason)) + ": " +
            in_partition(job, part.partition, or_unseen(obstacle(job, part, around), job, part));
        return seen;
    }
    return std::nullopt;
}

job_health running(const job_facts& job) {
    job_health seen;
    const run_record* oldest = nullptr;
    for (const auto& part : job.partitions)
        if (part.active && (oldest == nullptr || part.active->started_at < oldest->started_at))
            oldest = &*part.active;
    if (oldest == nullptr) return seen;
    seen.state = job_state::running;
    seen.since = oldest->started_at;
    seen.why = "runs on " + shown(oldest->node) + " since " + when(oldest->started_at) +
               " under token " + std::to_string(number(oldest->token));
    if (oldest->cancel_requested) seen.why += "; it is being cancelled";
    return seen;
}

job_health choose(const job_facts& job, const shared_facts& around) {
    job_health seen;
    if (!job.terms->enabled) {
        seen.state = job_state::disabled;
        seen.why = "it is not enabled in its configuration: it never runs";
        return seen;
    }
    // Its key explains whatever else there is to say; a paused job wants nothing of it.
    auto in_the_way = blocked(job, around);
    const bool wants = job.pause == nullptr || !job.triggers.empty();
    if (in_the_way.state == job_state::blocked && wants) {
        if (!job.triggers.empty())
            in_the_way.why += "; a run that " + shown(job.triggers.front()->by) + " queued at " +
                              when(job.triggers.front()->at) + " waits for it";
        return in_the_way;
    }
    // Occurrences of a paused job are let go of, what a user has queued is not.
    auto schedule = job.pause == nullptr ? late(job, around) : job_health{};
    if (schedule.state == job_state::late) return schedule;
    if (auto asked = waiting(job, around)) return *asked;
    if (job.pause != nullptr) {
        seen.state = job_state::paused;
        seen.since = job.pause->at;
        seen.why = "paused by " + shown(job.pause->by) + " since " + when(job.pause->at) + ": " +
                   shown(job.pause->reason);
        return seen;
    }
    seen = running(job);
    if (seen.state == job_state::running) return seen;
    seen = failing(job);
    if (seen.state == job_state::failing) {
        seen.missed = schedule.missed;
        if (!schedule.why.empty()) seen.why += "; " + schedule.why;
        return seen;
    }
    seen = schedule;
    // It is said before anything is late.
    if (seen.state == job_state::idle && job.terms->rule && !around.store_trouble.empty())
        seen.why = obstacle(job, partition_facts{}, around);
    return seen;
}

}  // namespace

std::string_view word_of(job_state state) noexcept {
    switch (state) {
        case job_state::running:
            return "running";
        case job_state::blocked:
            return "blocked";
        case job_state::late:
            return "late";
        case job_state::waiting:
            return "waiting";
        case job_state::paused:
            return "paused";
        case job_state::disabled:
            return "disabled";
        case job_state::failing:
            return "failing";
        case job_state::idle:
            break;
    }
    return "idle";
}

std::string reason_of(const run_record& run) {
    if (!run.reason.empty()) return shown(run.reason);
    if (run.exit_status) return "exit status " + std::to_string(*run.exit_status);
    return std::string{name_of(run.status)};
}

bool is_conclusive(const run_record& run) {
    return run.status == run_status::completed || has_failed(run.status);
}

bool waited_in_vain(const run_record& run) {
    // As rows have it that were written before an occurrence was called one.
    constexpr std::string_view before = "a later firing came due before it could begin";
    return run.occurrence && run.status == run_status::skipped &&
           (run.reason.starts_with(text_of(schedule::skip_reason::superseded)) ||
            run.reason.starts_with(before));
}

void failure_streak::add(const run_record& run) {
    if (over || !is_finished(run.status)) return;
    over = run.status == run_status::completed;
    if (!has_failed(run.status)) return;
    since = run.completed_at.value_or(run.started_at);
    if (!newest) newest = failed_run{run.id, run.node, reason_of(run), since, {}};
    ++count;
}

job_failures failures_in(const std::vector<run_record>& runs, const documents::job_terms& terms) {
    job_failures seen;
    if (terms.has_slots || terms.partitions == 1) {
        for (const auto& run : runs)
            if (terms.has_slots || run.partition == 0) seen.worst.add(run);
        seen.partitions = seen.worst.count > 0 ? 1 : 0;
        return seen;
    }
    std::map<std::uint32_t, failure_streak> streaks;
    // Partitions that it had once will never complete again.
    for (const auto& run : runs)
        if (run.partition < terms.partitions) streaks[run.partition].add(run);
    for (auto& [partition, streak] : streaks) {
        if (streak.count == 0) continue;
        ++seen.partitions;
        streak.newest->partition = partition;
        if (streak.count > seen.worst.count) seen.worst = std::move(streak);
    }
    return seen;
}

void partition_facts::add(const run_record& run) {
    if (!last_run) last_run = run;
    holder_known = holder_known || (lock && lock->holder == run.token && number(run.token) != 0);
    if (run.status == run_status::started && !active) active = run;
    if (!run.occurrence) return;
    const auto occurrence = number(*run.occurrence);
    if (waited_in_vain(run))
        passed_over = std::min(passed_over.value_or(occurrence), occurrence);
    else
        last_occurrence = std::max(last_occurrence.value_or(occurrence), occurrence);
}

job_health judge(const job_facts& job, const shared_facts& around) {
    auto seen = choose(job, around);
    seen.failures = job.failures;
    seen.running = static_cast<std::uint32_t>(
        std::count_if(job.partitions.begin(), job.partitions.end(),
                      [](const partition_facts& one) { return one.active.has_value(); }));
    return seen;
}

}  // namespace pawl::api
