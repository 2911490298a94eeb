#include "test_support/simulation/schedule/referee.hpp"

#include "schedule/timing/intervals.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

// What a node may do within a minute; it does a tenth of that.
constexpr seconds work_window{60};
constexpr std::size_t work_most = 50'000;
// A slow answer of the store to a claim.
constexpr nanos answer_takes = seconds{2};
// A wait for a busy key that was under way when the job was paused ends within this.
constexpr nanos pause_heard_after = schedule::busy_retry_longest + seconds{10};
// Longer than a node leaves a partition to others, and than a claim is on its way.
constexpr nanos skip_heard_after = std::chrono::minutes{2};
// For so long what is done is left to its node to write down.
constexpr nanos recording_timeout = std::chrono::minutes{9};
constexpr nanos clock_heard_after = std::chrono::hours{2};
constexpr nanos time_to_ask = seconds{5};
// A node's clock that goes by the journal's may be as far off: half the longest way of an answer.
constexpr millis clock_error{1'000};
constexpr nanos for_ever = nanos::max();

std::string text_of(pawl::occurrence occurrence) {
    return time::format_rfc3339(wall_instant{millis{number(occurrence)}});
}

}  // namespace

std::string_view name_of(law which) {
    constexpr std::array<std::string_view, laws> names{
        "runs_once",       "one_at_a_time", "none_forgotten", "on_time",
        "completed",       "not_early",     "paused_rests",   "skipped_rests",
        "tokens_rise",     "no_spin",       "asked_once",     "cancel_heard",
        "since_published", "done_rests",    "settles",        "answers_recovered"};
    return names[static_cast<std::size_t>(which)];
}

std::string_view name_of(fact which) {
    constexpr std::array<std::string_view, facts> names{
        "grants",  "runs",         "completions", "taken_up",      "killed",
        "overlap", "late",         "superseded",  "forgotten",     "missed",
        "early",   "already_done", "crashes",     "freezes",       "cuts",
        "outages", "deploys",      "steps_back",  "steps_forward", "pauses",
        "losses",  "reloads",      "asked",       "cancelled",     "checked"};
    return names[static_cast<std::size_t>(which)];
}

referee::referee(const world_plan& plan, const timeline& time)
    : referee_base{time,
                   [&plan](nanos since) {
                       return time::format_rfc3339(plan.start +
                                                   floor<std::chrono::microseconds>(since));
                   }},
      plan_{plan},
      missed_(plan.jobs.size()),
      healthy_(plan.nodes),
      paused_(plan.jobs.size()),
      born_(plan.nodes),
      work_(plan.nodes),
      published_(plan.jobs.size()),
      reloaded_(plan.jobs.size(), std::vector{nanos{0}}),
      taken_(plan.nodes) {}

nanos referee::due(pawl::occurrence occurrence) const {
    return wall_instant{millis{number(occurrence)}} - plan_.start;
}

void referee::on_grant(const std::string& key, const std::string& claim_id,
                       std::optional<pawl::occurrence> occurrence) {
    happened(fact::grants);
    auto& seen = keys_[key];
    seen.claim_id = claim_id;
    if (!seen.spans.empty()) seen.spans.back().to = std::min(seen.spans.back().to, time_.now());
    seen.spans.push_back({time_.now(), for_ever, occurrence});
    if (!occurrence) return;
    mix(static_cast<std::uint64_t>(number(*occurrence)));
    note("grant of ", key, " for ", text_of(*occurrence));
    auto& history = seen.occurrences[number(*occurrence)];
    history.given_back.reset();
    if (++history.grants == 1) history.first_grant = time_.now();
    if (due(*occurrence) > time_.now() + max_skew + seconds{1})
        broken(law::not_early, key + " was granted for " + text_of(*occurrence));
}

void referee::on_granted(const std::string& key, pawl::occurrence occurrence, std::size_t node,
                         bool lives, bool hears) {
    auto& history = keys_[key].occurrences[number(occurrence)];
    if (history.grants == 1) history.unheard = !hears;
    history.granted_to = node;
    history.lost = history.lost || !lives;
}

void referee::on_death(std::size_t node) {
    born_[node] = time_.now();
    for (auto& [key, seen] : keys_)
        for (auto& [occurrence, history] : seen.occurrences) {
            const bool granted = history.grants > 0 && !history.given_back;
            if (granted && history.begins == 0 && history.granted_to == node) history.lost = true;
            if (history.let_go_by == node) history.row_lost = true;
        }
}

void referee::on_let_go(const std::string& key, pawl::occurrence occurrence, std::size_t node) {
    keys_[key].occurrences[number(occurrence)].let_go_by = node;
}

void referee::on_withdrawn(const std::string& key, const std::string& claim_id) {
    auto& seen = keys_[key];
    if (seen.claim_id != claim_id || seen.spans.empty()) return;
    const auto& occurrence = seen.spans.back().occurrence;
    if (!occurrence) return;
    auto& history = seen.occurrences[number(*occurrence)];
    if (history.begins > 0 || history.lost) return;
    note(key, " ", text_of(*occurrence), " is given back");
    history.given_back = time_.now();
}

void referee::on_free(const std::string& key) {
    auto& seen = keys_[key];
    if (!seen.spans.empty() && seen.spans.back().to == for_ever) seen.spans.back().to = time_.now();
}

void referee::on_remembered(const std::string& key, pawl::occurrence occurrence) {
    auto& first = keys_[key].remembered;
    if (!first || number(occurrence) < number(*first)) first = occurrence;
}

// Whether this key was there when it came due, or has been since: what was due before a job had as
// many partitions was run by those that it had then.
bool referee::is_known(const begun_run& what) const {
    const auto at = due(what.occurrence);
    const auto& plan = plan_.jobs[what.job];
    for (std::size_t i = 0; i <= what.edition; ++i) {
        if (reloaded_[what.job][i] > at) break;
        const auto partitions = plan.editions[i].partitions;
        for (std::uint32_t which = 0; which < partitions; ++which)
            if (key_of(plan, partitions, which) == what.key) return true;
    }
    return false;
}

void referee::on_done(const std::string& key, pawl::occurrence occurrence) {
    auto& history = keys_[key].occurrences[number(occurrence)];
    if (history.completed) history.done = time_.now();
}

// Whether what was done can be known: the journal had its beginning, its node lives and either has
// told the end or has the time to do so yet, and the store has lost nothing.
bool referee::must_rest(const occurrence_history& history) const {
    if (!history.done || history.unwritten || born_[history.node] >= *history.done) return false;
    if (time_.now() - *history.done > recording_timeout) return false;
    return losses_.empty() || losses_.back() < *history.done;
}

// Whether its key is the one for this occurrence. A claim that is under way when a node is
// configured anew, and what is taken up again, go by an edition before.
bool referee::has_turn(const begun_run& what) const {
    const auto& plan = plan_.jobs[what.job];
    for (std::size_t i = 0; i <= what.edition; ++i) {
        const auto& now = plan.editions[i];
        for (std::uint32_t which = 0; which < now.partitions; ++which)
            if (now.has_turn(schedule::wall_of(what.occurrence), which) &&
                key_of(plan, now.partitions, which) == what.key)
                return true;
    }
    return false;
}

void referee::on_begin(const begun_run& what) {
    const auto& [key, occurrence, job, edition, node, token, is_written, is_heard] = what;
    happened(fact::runs);
    note("begin ", key, " ", text_of(occurrence), " on node ", node);
    auto& seen = keys_[key];
    auto& history = seen.occurrences[number(occurrence)];
    if (must_rest(history))
        broken(law::done_rests, key + " began " + text_of(occurrence) + " again, which was done");
    history.node = node;
    history.open = true;
    history.done.reset();
    // A node that hears nothing of its journal goes by its own clock, which may be behind the key.
    if (plan_.has_journal && is_heard && !is_known(what))
        broken(law::since_published,
               key + " began " + text_of(occurrence) + ", older than the key");
    history.unwritten = !is_written;
    if (++history.begins > 1) happened(fact::taken_up);
    // A node that cannot reach its journal, or hears no answers, cannot read there what others have
    // told.
    const bool was_skipped = history.begins == 1 && history.skipped && is_written && is_heard &&
                             time_.now() - history.skipped_at > skip_heard_after;
    // It was granted before that could be heard, and its runner died when its row had begun: this
    // is another attempt of it.
    const bool is_resumed =
        history.lost && history.first_grant - history.skipped_at <= skip_heard_after;
    const bool clocks_right = !stepped_at_ || time_.now() - *stepped_at_ > clock_heard_after;
    if (was_skipped && !is_resumed && plan_.has_journal && may_be_skipped(plan_.jobs[job].rules) &&
        clocks_right)
        broken(law::skipped_rests, key + " began " + text_of(occurrence) + ", which was skipped");
    if (!has_turn(what))
        broken(law::runs_once, key + " began " + text_of(occurrence) + " out of turn");
    if (history.begins > 1 && plan_.jobs[job].rules.delivery == delivery::at_most_once)
        broken(law::runs_once, key + " began " + text_of(occurrence) + " again");
    if (token < seen.begun) broken(law::tokens_rise, key + " began under an older token");
    seen.begun = std::max(seen.begun, token);
    if (++seen.running > 1) broken(law::one_at_a_time, key + " runs twice");
    const auto since = [&](const std::vector<interval>& all) {
        const bool open = !all.empty() && all.back().to == for_ever;
        return open ? time_.now() - all.back().from : nanos{0};
    };
    const auto paused_for = since(paused_[job]);
    // Whoever has started since can have read nothing else, be his journal away or not.
    const bool knew = paused_for > time_.now() - born_[node];
    if (knew || std::min(paused_for, since(healthy_[node])) > pause_heard_after + 3 * plan_.look)
        broken(law::paused_rests, key + " began " + text_of(occurrence));
}

void referee::on_end(const std::string& key, pawl::occurrence occurrence, bool completed) {
    auto& seen = keys_[key];
    --seen.running;
    happened(completed ? fact::completions : fact::killed);
    note(completed ? "completed " : "broken off ", key, " ", text_of(occurrence));
    auto& history = seen.occurrences[number(occurrence)];
    history.open = false;
    if (history.cancelled && !completed) happened(fact::cancelled);
    if (completed)
        history.completed = time_.now();
    else
        history.broken_at = time_.now();
}

// Whether this node was granted the key last, for this occurrence, by a store that remembers it.
// Without a journal nobody says of which partition what is skipped is.
bool referee::is_recoverable(const key_history& seen, occurrence which, std::size_t node) const {
    const auto& history = seen.occurrences.at(number(which));
    if (!plan_.has_journal || history.grants == 0 || history.granted_to != node || history.lost)
        return false;
    if (!losses_.empty() && losses_.back() >= history.first_grant) return false;
    return !seen.spans.empty() && seen.spans.back().occurrence == which;
}

void referee::on_skip(const std::string& key, pawl::occurrence occurrence,
                      schedule::skip_reason why, std::size_t node) {
    using schedule::skip_reason;
    note("skipped ", key, " ", text_of(occurrence), ": ", schedule::text_of(why));
    auto& history = keys_[key].occurrences[number(occurrence)];
    if (why == skip_reason::answer_lost && is_recoverable(keys_[key], occurrence, node))
        broken(law::answers_recovered, key + " was granted to node " + std::to_string(node) +
                                           " for " + text_of(occurrence) +
                                           ", which has it for lost");
    const bool is_first = !std::exchange(history.skipped, true);
    // A row that is older than its occurrence was written by a clock that was fast: it keeps nobody
    // from running what has not come due yet.
    const bool is_premature = plan_.start + floor<std::chrono::microseconds>(time_.now()) <
                              schedule::wall_of(occurrence) - clock_error;
    if (is_premature && is_first)
        history.skipped_at = for_ever;
    else if (!is_premature && (is_first || history.skipped_at == for_ever))
        history.skipped_at = time_.now();
    if (why == skip_reason::overlap) happened(fact::skipped_overlap);
    if (why == skip_reason::too_late) {
        happened(fact::skipped_late);
        keys_[key].occurrences[number(occurrence)].late = true;
    }
    if (why == skip_reason::superseded) happened(fact::superseded);
    if (why == skip_reason::forgotten) happened(fact::forgotten);
}

// The occurrences before `latest` by the calendar.
void referee::on_missed(std::size_t job, const schedule::occurrence_rule& when, wall_instant latest,
                        std::uint64_t count) {
    happened(fact::missed);
    note("job ", job, " has missed ", count, " before ", time::format_rfc3339(latest));
    auto step = std::chrono::hours{1};
    std::vector<wall_instant> before;
    // Far enough back to see all of them.
    while (before.size() < count && latest - step > plan_.start - std::chrono::hours{48}) {
        step *= 2;
        before.clear();
        for (auto next = when.when.next(latest - step, when.where, when.policy);
             next && *next < latest; next = when.when.next(*next, when.where, when.policy))
            before.push_back(*next);
    }
    const auto told = std::min<std::size_t>(before.size(), count);
    for (auto each = before.end() - static_cast<std::ptrdiff_t>(told); each != before.end(); ++each)
        missed_[job][floor<millis>(each->time_since_epoch()).count()] = true;
}

void referee::on_health(std::size_t node, bool healthy) {
    auto& intervals = healthy_[node];
    const bool was = !intervals.empty() && intervals.back().to == for_ever;
    if (was == healthy) return;
    note("node ", node, healthy ? " is healthy" : " is not healthy");
    if (healthy)
        intervals.push_back({time_.now(), for_ever});
    else
        intervals.back().to = time_.now();
}

void referee::on_pause(std::size_t job, bool paused) {
    note("job ", job, paused ? " is paused" : " is resumed");
    if (paused) {
        happened(fact::pauses);
        paused_[job].push_back({time_.now(), for_ever});
    } else {
        paused_[job].back().to = time_.now();
    }
}

// -- by hand

void referee::on_trigger(const std::string& id, std::size_t job, std::uint32_t partition) {
    happened(fact::asked);
    note("run ", id, " of job ", job, "/", partition, " is asked for");
    asked_[id] = {job, partition, time_.now(), 0};
}

void referee::on_manual_begin(const std::string& key, const std::string& id, fence_token token) {
    note("begin ", key, " by hand: ", id);
    auto& seen = keys_[key];
    if (++asked_[id].begins > 1)
        broken(law::asked_once, "run " + id + " of " + key + " began again");
    if (token < seen.begun) broken(law::tokens_rise, key + " began under an older token");
    seen.begun = std::max(seen.begun, token);
    if (++seen.running > 1) broken(law::one_at_a_time, key + " runs twice");
}

// Whether the key was free at a stretch for so long.
bool referee::was_free(const key_history& seen, nanos from, nanos how_long) const {
    auto since = from;
    for (const auto& one : seen.spans) {
        if (one.to <= since) continue;
        if (one.from >= since + how_long) return true;
        since = one.to;
        if (since == for_ever) return false;
    }
    return plan_.end() >= since + how_long;
}

// What the schedule has in line goes before it: a job that is never done leaves it no room.
void referee::check_asked() {
    for (const auto& [id, one] : asked_) {
        const auto& plan = plan_.jobs[one.job];
        const auto& last = plan.editions[reloaded_[one.job].size() - 1];
        const bool gone = one.partition >= last.partitions;
        // By then all that was away is back.
        const auto all_well = plan_.end() - plan_.healthy / 2;
        if (gone || one.begins > 0 || one.at > all_well) continue;
        const auto key = key_of(plan, last.partitions, one.partition);
        // What is due, and waits for its own moment, goes before it.
        if (!was_free(keys_[key], all_well, 4 * plan_.look + plan.jitter)) continue;
        if (runs_ && runs_(id).empty())
            broken(law::asked_once, "run " + id + " of " + plan.name + " was asked for, never ran");
    }
}

void referee::on_cancel(const std::string& key, pawl::occurrence occurrence) {
    note(key, " ", text_of(occurrence), " is to be cancelled");
    auto& history = keys_[key].occurrences[number(occurrence)];
    history.cancelled = true;
    history.cancelled_at = time_.now();
}

nanos referee::cancel_timeout() const { return 3 * plan_.look + seconds{15}; }

void referee::check_cancelled(const std::string& key, pawl::occurrence occurrence) {
    const auto& history = keys_[key].occurrences[number(occurrence)];
    if (!history.open) return;
    const auto& all = healthy_[history.node];
    const bool heard =
        !all.empty() && all.back().to == for_ever && all.back().from <= history.cancelled_at;
    if (heard)
        broken(law::cancel_heard,
               key + " goes on with " + text_of(occurrence) + ", which is cancelled");
}

void referee::on_loss() {
    note("the store loses its data");
    happened(fact::losses);
    losses_.push_back(time_.now());
    for (auto& [key, seen] : keys_) {
        on_free(key);
        seen.remembered.reset();
    }
}

bool referee::lost_to_store(std::size_t job, nanos at) const {
    const auto& plan = plan_.jobs[job];
    const auto timeout = plan_.timeout(plan);
    return std::ranges::any_of(losses_, [&](nanos when) {
        return at <= when + max_skew + plan_.quarantine().value_or(millis{0}) + timeout &&
               at >= when - plan.lateness_max() - timeout;
    });
}

void referee::on_reload(std::size_t job) {
    note("job ", job, " is configured anew");
    happened(fact::reloads);
    reloaded_[job].push_back(time_.now());
}

void referee::on_edition(std::size_t node, std::size_t job, std::size_t edition) {
    taken_[node][job].push_back({time_.now(), edition});
}

nanos referee::replaced_at(std::size_t job, std::size_t edition) const {
    return edition + 1 < reloaded_[job].size() ? reloaded_[job][edition + 1] : for_ever;
}

std::vector<referee::interval> referee::healthy_with(std::size_t node, std::size_t job,
                                                     std::size_t edition) const {
    std::vector<interval> all;
    const auto found = taken_[node].find(job);
    if (found == taken_[node].end()) return all;
    const auto& taken = found->second;
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (taken[i].edition != edition) continue;
        const auto until = i + 1 < taken.size() ? taken[i + 1].from : for_ever;
        for (const auto& one : healthy_[node]) {
            const interval both{std::max(one.from, taken[i].from), std::min(one.to, until)};
            if (both.from < both.to) all.push_back(both);
        }
    }
    return all;
}

bool referee::on_work(std::size_t node, std::size_t handlers) {
    auto& seen = work_[node];
    if (time_.now() - seen.since > work_window) seen = {time_.now(), 0};
    seen.handlers += handlers;
    if (seen.handlers <= work_most) return true;
    broken(law::no_spin, "node " + std::to_string(node) + " is busy without end");
    return false;
}

// As this node knows it: one that was away when a pause ended hears of it when it is back.
bool referee::paused_within(std::size_t job, std::size_t node, nanos from, nanos to) const {
    const auto& all = paused_[job];
    return std::any_of(all.begin(), all.end(), [&](const interval& pause) {
        auto until = pause.to;
        for (const auto& one : healthy_[node]) {
            if (one.to <= pause.to) continue;
            until = std::max(pause.to, one.from);
            break;
        }
        return pause.from <= to && (until == for_ever || until + 3 * plan_.look >= from);
    });
}

// Whether a later occurrence was granted before the node that had begun this one could ask again,
// or while it was away: only a journal remembers those.
bool referee::overtaken(const key_history& seen, pawl::occurrence occurrence) const {
    const auto found = seen.occurrences.find(number(occurrence));
    if (found == seen.occurrences.end()) return false;
    const auto& history = found->second;
    auto back = for_ever;
    // A store that is there for a moment only is not asked in it.
    for (const auto& one : healthy_[history.node])
        if (one.to > history.broken_at + time_to_ask && one.to > one.from + time_to_ask)
            back = std::min(back, std::max(one.from, history.broken_at));
    const auto asks_again = back == for_ever ? back : back + time_to_ask;
    // It asked, found the key busy with another occurrence, and was not there when that ended.
    const auto missed_its_turn = [&](nanos when) {
        const auto& all = healthy_[history.node];
        return held_within(seen, occurrence, asks_again, asks_again) &&
               std::none_of(all.begin(), all.end(), [&](const interval& one) {
                   return one.from <= when - time_to_ask && one.to >= when;
               });
    };
    return std::any_of(seen.occurrences.upper_bound(number(occurrence)), seen.occurrences.end(),
                       [&](const auto& later) {
                           const auto when = later.second.first_grant;
                           return later.second.grants > 0 && when > history.first_grant &&
                                  (when < asks_again || missed_its_turn(when));
                       });
}

// Whether one before this occurrence had begun by then, and was not over.
bool referee::open_at(const key_history& seen, occurrence before, nanos when) const {
    return std::any_of(seen.occurrences.begin(), seen.occurrences.lower_bound(number(before)),
                       [&](const auto& one) {
                           const auto& history = one.second;
                           return history.begins > 0 && history.first_grant < when &&
                                  (!history.completed || *history.completed > when);
                       });
}

// Whether a later occurrence was granted before this node knew, when it was back, what had run.
bool referee::passed_by(const key_history& seen, pawl::occurrence occurrence, std::size_t node,
                        nanos back) const {
    return std::any_of(seen.occurrences.upper_bound(number(occurrence)), seen.occurrences.end(),
                       [&](const auto& one) {
                           const auto& later = one.second;
                           const auto slack = later.granted_to == node ? nanos{0} : time_to_ask;
                           return later.grants > 0 && later.first_grant <= back + slack;
                       });
}

bool referee::slots_passed_by(std::size_t job, std::size_t edition, pawl::occurrence occurrence,
                              std::size_t node, nanos back) const {
    const auto& plan = plan_.jobs[job];
    const auto& now = plan.editions[edition];
    if (!now.has_slots) return false;
    for (std::uint32_t i = 0; i < now.partitions; ++i) {
        const auto seen = keys_.find(key_of(plan, now.partitions, i));
        if (seen != keys_.end() && passed_by(seen->second, occurrence, node, back)) return true;
    }
    return false;
}

// With slots, a node that starts without a journal goes on after the latest that any slot has run:
// what another one has begun is known to who began it alone.
bool referee::left_behind(std::size_t job, std::size_t edition, pawl::occurrence occurrence,
                          const occurrence_history& history) const {
    if (history.begins == 0 || born_[history.node] < history.broken_at) return false;
    return slots_passed_by(job, edition, occurrence, history.node, time_.now());
}

bool referee::held_within(const key_history& seen, occurrence but, nanos from, nanos to) const {
    return std::any_of(seen.spans.begin(), seen.spans.end(), [&](const held_span& one) {
        return one.occurrence != but && one.from <= to && one.to >= from;
    });
}

// Whether one node may have had no room, as so many keys were held by then.
bool referee::may_be_full(nanos from, nanos to) const {
    if (keys_.size() < plan_.runs_max) return false;
    const auto held = std::ranges::count_if(
        keys_, [&](const auto& one) { return held_within(one.second, occurrence{}, from, to); });
    return static_cast<std::size_t>(held) >= plan_.runs_max;
}

// Soon after it was granted the key, and until its lease was over and it counted as silent.
bool referee::was_away(std::size_t node, nanos granted, millis ttl) const {
    const auto from = granted + answer_takes;
    const auto to = granted + std::max(ttl, schedule::node_heartbeat_timeout);
    const auto& all = healthy_[node];
    return std::none_of(all.begin(), all.end(),
                        [&](const interval& one) { return one.from <= to && one.to > from; });
}

// A run's row is of its job, partition and occurrence: where an edition with another number of
// partitions has skipped it while a reload went from node to node, that row tells of this one.
bool referee::skipped_by_another_edition(std::size_t job, std::uint32_t partition,
                                         pawl::occurrence occurrence) const {
    const auto& plan = plan_.jobs[job];
    for (std::size_t which = 0; which < reloaded_[job].size(); ++which) {
        const auto partitions = plan.editions[which].partitions;
        if (partition >= partitions) continue;
        const auto seen = keys_.find(key_of(plan, partitions, partition));
        if (seen == keys_.end()) continue;
        const auto found = seen->second.occurrences.find(number(occurrence));
        if (found != seen->second.occurrences.end() && found->second.skipped) return true;
    }
    return false;
}

// What another number of partitions has left is nobody's share of the work any more.
bool referee::is_there_at_the_end(std::size_t job, const std::string& key) const {
    const auto& plan = plan_.jobs[job];
    const auto partitions = plan.editions[reloaded_[job].size() - 1].partitions;
    for (std::uint32_t i = 0; i < partitions; ++i)
        if (key_of(plan, partitions, i) == key) return true;
    return false;
}

void referee::check_occurrence(std::size_t job, std::size_t edition, std::uint32_t partition,
                               pawl::occurrence occurrence, bool tells) {
    const auto& plan = plan_.jobs[job];
    const auto key = key_of(plan, plan.editions[edition].partitions, partition);
    const auto row = rows_ ? " (" + rows_(plan.name, partition, occurrence) + ")" : std::string{};
    const auto timeout = plan_.timeout(plan);
    const auto at = due(occurrence);
    auto& seen = keys_[key];
    const auto found = seen.occurrences.find(number(occurrence));
    const auto history = found == seen.occurrences.end() ? occurrence_history{} : found->second;
    // Who froze between its grant and its work may write that down so late that it cannot give the
    // occurrence back any more.
    const bool told = history.skipped || history.row_lost ||
                      (row.starts_with(" (skipped: ") &&
                       skipped_by_another_edition(job, partition, occurrence)) ||
                      missed_[job].contains(number(occurrence)) ||
                      row == " (skipped: its lease ended before its work began)";
    // A grant that nobody acts upon is no beginning, unless who was granted it could not.
    // While a reload goes from node to node, one may have run it under the key of the edition
    // before.
    const bool begun = history.begins > 0 || history.lost || row.starts_with(" (completed");

    // Without a journal nobody knows since when there is a schedule, until the store knows of a
    // run.
    const bool known =
        plan_.has_journal || (seen.remembered && number(*seen.remembered) < number(occurrence));
    // With a journal it is taken up again. Without one a node that starts knows only what is due
    // now, and says what it has missed.
    const bool missed = missed_[job].contains(number(occurrence));
    const bool forgotten = lost_to_store(job, at);
    const bool let_go = !plan_.has_journal && (missed || history.late || !known || !tells ||
                                               forgotten || overtaken(seen, occurrence) ||
                                               left_behind(job, edition, occurrence, history));
    // Others may have skipped what began where its journal could not be reached, and died there;
    // and what has killed all that took it up is not taken up for ever.
    const bool is_told = (history.cancelled && row.starts_with(" (cancelled: ")) ||
                         (forgotten && row.starts_with(" (lost: ")) ||
                         row.starts_with(" (skipped: ") || row.starts_with(" (failed: given up") ||
                         (row == " (no row)" && history.unwritten);
    if (plan.rules.delivery == delivery::at_least_once && history.begins > 0 &&
        !history.completed && !let_go && !is_told && is_there_at_the_end(job, key))
        broken(law::completed,
               key + " began " + text_of(occurrence) + " and never completed it" + row);
    // Who was granted it could be reached by nobody for so long that others took it for lost:
    // before it wrote a line, or between that and the beginning.
    // When it was back it may have given that up, but the row stays.
    const bool granted_only = history.grants > 0 && history.begins == 0;
    const bool lost_with_node =
        granted_only && ((row.starts_with(" (lost: its node was lost") &&
                          was_away(history.granted_to, history.first_grant, plan.ttl)) ||
                         (!history.given_back && row.starts_with(" (lost: its node ") &&
                          row.ends_with(" became unresponsive)")));
    // Others have found it marked, and left it to who had it; so it is that node's to run.
    const bool given_back = history.given_back && plan.rules.delivery == delivery::at_most_once;
    bool needed = false;
    bool prompt = false;
    for (auto node = plan_.first_node_of(job); node < healthy_.size() && known && !forgotten;
         node += plan_.groups) {
        for (const auto& one : healthy_with(node, job, edition)) {
            auto from = std::max(at, one.from);
            if (given_back) from = std::max(from, *history.given_back);
            if (given_back && node != history.granted_to) continue;
            if (from > at && passed_by(seen, occurrence, node, from)) continue;
            if (from > at && slots_passed_by(job, edition, occurrence, node, from)) continue;
            // Those in line for a busy key may be passed, and without a journal nothing tells them.
            if (!plan_.has_journal && held_within(seen, occurrence, from, from + timeout)) continue;
            if (one.to < from + timeout || from + timeout > at + plan.lateness_max()) continue;
            // One that waited its turn is let go of by a pause.
            if (paused_within(job, node, std::min(at, one.from) - timeout,
                              at + plan.lateness_max()))
                continue;
            needed = true;
            if (!prompt && one.from <= at - timeout && !open_at(seen, occurrence, at) &&
                !held_within(seen, occurrence, at - timeout, at + timeout) &&
                !may_be_full(at - timeout, at + timeout))
                prompt = true;
        }
    }
    if (needed) happened(fact::checked);
    if (needed && tells && !begun && !told && !lost_with_node)
        broken(law::none_forgotten,
               key + " did not run " + text_of(occurrence) + ", and nobody says so" + row);
    const bool granted = history.grants > 0 || begun;
    if (prompt && !history.unheard && (!granted || history.first_grant > at + timeout))
        broken(law::on_time, key + " did not run " + text_of(occurrence) + " in time" + row);
}

void referee::check() {
    for (std::size_t job = 0; job < plan_.jobs.size(); ++job)
        for (std::size_t which = 0; which < reloaded_[job].size(); ++which)
            check_edition(job, which);
    check_asked();
}

void referee::check_edition(std::size_t job, std::size_t which) {
    const auto at = [&](nanos when) {
        return plan_.start + floor<std::chrono::microseconds>(when);
    };
    const auto& plan = plan_.jobs[job];
    const auto& now = plan.editions[which];
    const auto after = [&](wall_instant when) {
        return now.when.when.next(when, now.when.where, now.when.policy);
    };
    const auto since = published_[job].find(which);
    if (plan_.has_journal && since == published_[job].end()) return;
    auto begin = at(reloaded_[job][which]);
    // What comes due at that moment is past for a node whose clock is ahead.
    if (since != published_[job].end()) begin = std::max(begin, since->second + clock_error);
    const auto replaced = replaced_at(job, which);
    const bool is_last = replaced == for_ever;
    // What has not come to its end by then may be let go of by the reload.
    const auto last = is_last ? at(plan_.end() - plan_.healthy / 2)
                              : at(replaced - plan.lateness_max() - plan_.timeout(plan));
    // What was missed is told with the occurrence after it.
    const auto told_with = after(at(plan_.faulty) + std::chrono::minutes{10});
    const bool tells = is_last && told_with && *told_with < last;
    for (auto next = after(begin); next && *next < last; next = after(*next))
        for (std::uint32_t i = 0; i < now.partitions; ++i)
            if (now.has_turn(*next, i))
                check_occurrence(job, which, i,
                                 occurrence{floor<millis>(next->time_since_epoch()).count()},
                                 tells);
}

}  // namespace pawl::simulation::schedules
