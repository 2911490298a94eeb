#include "schedule/queue/deferral.hpp"

#include "schedule/queue/ranking.hpp"

#include <algorithm>

namespace pawl::schedule {

void deferral::add(occurrence which, const timing& where) {
    entry one;
    one.which = which;
    one.where = where;
    one.free_since = where.first_asks;
    one.look_at = where.first_look;
    const auto behind = std::find_if(entries_.begin(), entries_.end(), [&](const entry& other) {
        return number(other.which) > number(which);
    });
    entries_.insert(behind, one);
    if (entries_.size() <= deferred_max) return;
    // So many wait that the oldest is not left to anybody any more.
    auto& oldest = entries_.front();
    oldest.where.place = 0;
    oldest.where.hold_back = millis{0};
    oldest.free_since = oldest.look_at = instant{};
}

std::optional<instant> deferral::take(occurrence which) {
    const auto it = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const entry& one) { return one.which == which; });
    if (it == entries_.end()) return std::nullopt;
    const auto give_up = it->where.give_up;
    entries_.erase(it);
    return give_up;
}

bool deferral::has(occurrence which) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const entry& one) { return one.which == which; });
}

std::vector<occurrence> deferral::all() const {
    std::vector<occurrence> found;
    for (const auto& one : entries_) found.push_back(one.which);
    return found;
}

std::optional<instant> deferral::next_look() const {
    std::optional<instant> next;
    for (const auto& one : entries_)
        if (!one.consulting && (!next || one.look_at < *next)) next = one.look_at;
    return next;
}

void deferral::forget_ahead(occurrence now) {
    std::erase_if(entries_, [&](const entry& one) { return number(one.which) > number(now); });
}

deferral::conclusion deferral::judge_held(const queue_rules& rules, const record& seen, entry& one,
                                          instant now, millis max_skew) {
    if (rules.hold_until_expiry) return conclusion::done;
    one.was_held = true;
    // What is left of a lease is told in whole milliseconds.
    one.free_since = now + seen.remaining + millis{1};
    const bool is_cooldown = number(seen.holder) == 0;
    if (!is_cooldown && gives_way(rules)) return conclusion::consult;
    // Its row first: the node before this one in the line may have written it.
    if (is_overlapped(rules, seen, one.which, max_skew))
        return one.where.place == 0 ? conclusion::ask : conclusion::consult;
    if (!is_cooldown && one.where.place == 0) return conclusion::ask;
    const auto soon = one.where.place < places_max ? held_look_interval : held_look_far;
    one.look_at = std::min(now + soon, turn_of(one));
    const auto before_next = one.where.next_asks - look_before_next;
    if (before_next > now) one.look_at = std::min(one.look_at, before_next);
    return conclusion::wait;
}

deferral::conclusion deferral::judge(const queue_rules& rules, const std::optional<record>& seen,
                                     entry& one, instant now, millis max_skew) {
    const auto last = seen ? seen->last_done : std::nullopt;
    if (last == one.which) return conclusion::done;
    if (one.consulting) return conclusion::wait;
    if (last && number(*last) > number(one.which)) return conclusion::find_row;
    if (one.where.give_up < now) return conclusion::ask;
    if (seen && seen->remaining.count() > 0) return judge_held(rules, *seen, one, now, max_skew);
    // A lease may be given back before its end.
    if (one.was_held)
        one.free_since = std::min(one.free_since, std::max(now, one.where.first_asks));
    one.look_at = turn_of(one);
    if (one.look_at > now) return conclusion::wait;
    // While the key was held, those before this node may have skipped it.
    const bool may_be_skipped = one.was_held && rules.when_running == overlap::skip;
    return may_be_skipped ? conclusion::consult : conclusion::ask;
}

// Where occurrences are taken in their order, what comes before one that is asked for is asked for
// before it, and what is still being found out is waited for.
std::vector<deferral::finding> deferral::conclude(const queue_rules& rules,
                                                  std::vector<conclusion> conclusions,
                                                  instant now) {
    if (takes_in_order(rules)) {
        const auto last = std::find(conclusions.rbegin(), conclusions.rend(), conclusion::ask);
        const auto behind = static_cast<std::size_t>(conclusions.rend() - last);
        bool waits = false;
        for (std::size_t i = 0; i < behind; ++i) {
            if (conclusions[i] == conclusion::done) continue;
            waits = waits || entries_[i].consulting;
            if (waits) {
                entries_[i].look_at = std::max(entries_[i].look_at, now + held_look_interval / 4);
                conclusions[i] = conclusion::wait;
            } else {
                conclusions[i] = conclusion::ask;
            }
        }
    }
    std::vector<finding> found;
    std::vector<entry> left;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto& one = entries_[i];
        if (conclusions[i] == conclusion::done) continue;
        if (conclusions[i] == conclusion::ask) found.push_back({one.which, act::ask});
        if (conclusions[i] == conclusion::consult) found.push_back({one.which, act::consult});
        if (conclusions[i] == conclusion::find_row) found.push_back({one.which, act::find_row});
        one.consulting = one.consulting || conclusions[i] == conclusion::consult ||
                         conclusions[i] == conclusion::find_row;
        left.push_back(one);
    }
    entries_ = std::move(left);
    return found;
}

std::vector<deferral::finding> deferral::on_look(const queue_rules& rules,
                                                 const std::optional<record>& seen, instant now,
                                                 millis max_skew) {
    std::vector<conclusion> conclusions;
    conclusions.reserve(entries_.size());
    for (auto& one : entries_) conclusions.push_back(judge(rules, seen, one, now, max_skew));
    return conclude(rules, std::move(conclusions), now);
}

std::vector<deferral::finding> deferral::on_no_answer(const queue_rules& rules, instant now) {
    std::vector<conclusion> conclusions;
    conclusions.reserve(entries_.size());
    for (auto& one : entries_) {
        const bool has_its_turn = !one.consulting && turn_of(one) <= now;
        if (!has_its_turn) one.look_at = std::max(turn_of(one), now + hold_back_unread);
        conclusions.push_back(has_its_turn ? conclusion::ask : conclusion::wait);
    }
    return conclude(rules, std::move(conclusions), now);
}

bool is_overlapped(const queue_rules& rules, const record& seen, occurrence which,
                   millis max_skew) noexcept {
    return rules.when_running == overlap::skip && rules.delivery == delivery::at_least_once &&
           number(seen.holder) != 0 && seen.acquired_at + max_skew.count() < number(which);
}

bool settles(const queue_rules& rules, const run_record& row) noexcept {
    if (row.status == run_status::skipped) return rules.when_running == overlap::skip;
    return rules.delivery == delivery::at_most_once || is_finished(row.status);
}

}  // namespace pawl::schedule
