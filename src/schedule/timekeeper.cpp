#include "schedule/timekeeper.hpp"

#include "base/duration.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/queue/ranking.hpp"
#include "schedule/queue/turns.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// However far away the next occurrence is: the wall clock may be stepped at any moment.
constexpr millis clock_look{1'000};
constexpr std::size_t due_at_once_max = 1'000;
// What a node that was away for a moment asks for beside the latest occurrence of a job whose
// occurrences are taken in their order.
constexpr millis catch_up_max{60'000};

// One that was not there for a moment must not overtake those who were: they may still wait with an
// earlier occurrence, which could not be granted any more. So where occurrences are taken in their
// order, a node asks for all that came due a short while ago; those that have run are told as done.
std::vector<wall_instant> worth_offering(const job_plan& plan, const due_occurrence& due) {
    std::vector<wall_instant> all;
    if (takes_in_order(plan.queue) && due.missed > 0 && plan.when) {
        const auto& rule = *plan.when;
        const auto since = due.at - std::min<millis>(catch_up_max, rule.lateness_max);
        auto next = rule.when.next(since, rule.where, rule.policy);
        while (next && *next < due.at) {
            all.push_back(*next);
            next = rule.when.next(*next, rule.where, rule.policy);
        }
        const auto most = std::min<std::size_t>(due.missed, occurrences_queued_max - 1);
        if (all.size() > most)
            all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
    }
    all.push_back(due.at);
    return all;
}

}  // namespace

awaitable<void> timekeeper::keep_time() {
    while (!node_.stopping) {
        const auto local = node_.loop.wall();
        if (const auto found = node_.clock.look(node_.loop.now(), local)) {
            node_.log(log_level::warn,
                      "wall clock set back by=" +
                          base::format_duration(std::chrono::floor<millis>(found->by)));
            put_clock_back(node_.clock.corrected(local), found->last_right);
        }
        const auto wall = node_.clock.corrected(local);
        const auto due = jobs_.times().advance(wall, due_at_once_max);
        for (const auto& one : due) take_due(one, wall);
        auto pause = clock_look;
        if (const auto next = jobs_.times().next_due()) {
            const auto away = std::chrono::ceil<millis>(*next - node_.now());
            pause = std::clamp(away, millis{0}, clock_look);
        }
        // Even when more is due already, others have their turn.
        auto waiting = node_.time_changed.wait_for(pause);
        co_await std::move(waiting);
    }
}

void timekeeper::put_clock_back(wall_instant now, std::optional<wall_instant> last_right) {
    jobs_.times().clock_put_back(now, last_right);
    for (const auto& [name, which] : jobs_.all())
        for (const auto& one : which->tracks) {
            if (one->decisions.queue().is_idle()) continue;
            one->decisions.queue().forget_ahead(occurrence_of(now));
            acquirer_.wake(one);
        }
}

void timekeeper::take_due(const due_occurrence& due, wall_instant now) {
    const auto which = jobs_.of(due.entry);
    if (!which || which->paused || !which->plan->enabled) return;
    const auto occurrences = worth_offering(*which->plan, due);
    std::size_t offered = 0;
    for (const auto& occurrence : occurrences) {
        bool in_time = false;
        if (which->plan->has_slots) {
            const auto slot = slot_of(*which->plan->when, occurrence, which->plan->partitions);
            in_time = offer(*which, which->tracks[slot], occurrence, now);
        } else {
            for (auto& one : which->tracks) in_time |= offer(*which, one, occurrence, now);
        }
        if (in_time) ++offered;
    }
    const auto left_out = due.missed + 1 - std::min<std::uint64_t>(due.missed + 1, offered);
    if (left_out == 0) return;
    node_.log(log_level::warn, "missed occurrences not executed " + job_field(which->plan->name) +
                                   " count=" + std::to_string(left_out));
    if (node_.observer) node_.observer->on_missed(which->plan->name, occurrences.front(), left_out);
}

bool timekeeper::offer(known_job& which, const std::shared_ptr<track>& one, wall_instant at,
                       wall_instant now) {
    const auto what = occurrence_of(at);
    const auto since = std::max(std::chrono::floor<millis>(now - at), millis{0});
    const auto delay = jitter_of(*one, what);
    // A node that comes in the middle of the delay waits for the rest of it, and the window is from
    // its end.
    const auto jitter = std::max(delay - since, millis{0});
    const auto late = std::max(since - delay, millis{0});
    const auto here = node_.loop.now();
    auto& queue = one->decisions.queue();
    if (late > which.plan->when->lateness_max - which.plan->jitter) return false;
    const auto place = place_of(which, *one, what);
    if (asks_first(*one, what, place)) {
        queue.offer_occurrence(what, here, late, jitter);
        acquirer_.wake(one);
        return true;
    }
    deferral::timing where;
    where.place = place;
    where.first_asks = here + jitter;
    const auto interval = interval_of(which, at);
    where.hold_back = schedule::hold_back_of(place, interval);
    if (interval.count() > 0) where.next_asks = where.first_asks + interval;
    where.first_look = where.first_asks + std::min(where.hold_back, hold_back_first);
    if (where.hold_back > schedule::hold_back_of(places_max, millis{0}))
        where.first_look = aligned(where.first_asks + where.hold_back, far_look_interval,
                                   deferred_poller_.phase());
    where.give_up = here + std::max(queue.rules().lateness_max - late, millis{0}) + jitter;
    if (queue.defer_occurrence(what, where)) deferred_poller_.watch(one);
    return true;
}

// No other node is before this one in line, or nothing would tell it what the others do. A claim
// that was not answered is this node's to ask for again.
bool timekeeper::asks_first(const track& one, occurrence what, std::size_t place) const {
    const auto& queue = one.decisions.queue();
    if (queue.rules().delivery == delivery::off || !node_.records) return true;
    if (one.unresolved && one.unresolved->occurrence == what) return true;
    if (place > 0) return false;
    // What it has left to others comes first; a look says whether they have run it.
    return !takes_in_order(queue.rules()) || queue.deferred().empty();
}

std::size_t timekeeper::place_of(known_job& which, const track& one, occurrence what) {
    if (!which.plan->is_shared) return 0;
    // Of a job with slots one key is wanted at a time: no share that could be fair.
    if (which.plan->partitions <= 1 || which.plan->has_slots)
        return registrar_.ranking().place(one.key, what);
    const auto& nodes = registrar_.live_nodes();
    if (!which.shares || which.shared_among != nodes) {
        which.shared_among = nodes;
        which.shares.emplace(which.plan->name, which.plan->partitions, nodes);
    }
    if (!registrar_.ranking().knows_others()) return 0;
    return std::min(which.shares->rank(one.partition, node_.me.owner), places_max);
}

// The same on all nodes that go by each other, which ask one after the other, and after a restart;
// where there is no journal, another for each process.
millis timekeeper::jitter_of(const track& one, occurrence what) const {
    const auto uniform =
        shared_uniform(node_.records ? one.key : one.key + '\n' + node_.me.owner, what);
    return std::chrono::floor<millis>(one.plan->jitter * uniform);
}

// Until the next one comes due; none where that is not known.
millis timekeeper::interval_of(const known_job& which, wall_instant at) const {
    const auto next = jobs_.times().next_of(which.entry);
    return next && *next > at ? std::chrono::floor<millis>(*next - at) : millis{0};
}

void timekeeper::schedule(known_job& which, wall_instant since) {
    if (jobs_.schedule_from(since, node_.now(), which)) node_.time_changed.cancel();
}

}  // namespace pawl::schedule
