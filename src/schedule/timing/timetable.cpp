#include "schedule/timing/timetable.hpp"

#include "base/ensure.hpp"

#include <algorithm>
#include <string_view>

namespace pawl::schedule {
namespace {

using std::chrono::microseconds;

constexpr std::size_t branches = 4;  // of the heap: flatter than two, and kinder to the cache
constexpr microseconds first_step_back = std::chrono::seconds{1};

// However odd a schedule or a zone is, no loop here can stand still.
std::optional<wall_instant> next_after(const occurrence_rule& rule, wall_instant when) {
    const auto next = rule.when.next(when, rule.where, rule.policy);
    base::ensure(!next || *next > when);
    return next;
}

// The last occurrence that is not after `now`. REQUIRES: `known` is such a one.
//
// Steps back from now that double until one lands before an occurrence, and then halves what lies
// between: a schedule of each second costs as little after a year of sleep as after a minute.
wall_instant latest_until(const occurrence_rule& rule, wall_instant known, wall_instant now) {
    auto none_after = now;  // and up to now
    // Asks about (from, now], where known <= from; says whether there is an occurrence.
    const auto look = [&](wall_instant from) {
        const auto found = next_after(rule, from);
        const bool any = found && *found <= now;
        if (any) known = *found;
        if (!any) none_after = from;
        return any;
    };
    auto step = first_step_back;
    while (now - step > known && !look(now - step)) step *= 2;
    // What was found is usually the latest one already.
    while (known < none_after && look(known)) {
        const auto middle = known + (none_after - known) / 2;
        if (known < middle) look(middle);
    }
    return known;
}

std::size_t mix(std::size_t hash, std::size_t more) {
    return (hash ^ more) * 0x9e3779b97f4a7c15U + (hash >> 29U);
}

}  // namespace

bool fires_at(const occurrence_rule& rule, wall_instant at) {
    return next_after(rule, at - microseconds{1}) == at;
}

std::size_t timetable::rule_hash::operator()(const occurrence_rule& rule) const noexcept {
    auto hash = std::hash<std::string_view>{}(rule.when.text());
    hash = mix(hash, std::hash<std::string_view>{}(rule.where.name()));
    hash = mix(hash, static_cast<std::size_t>(rule.policy.gap) * 2 +
                         static_cast<std::size_t>(rule.policy.repeat));
    return mix(hash, static_cast<std::size_t>(rule.lateness_max.count()));
}

bool timetable::rule_equal::operator()(const occurrence_rule& a,
                                       const occurrence_rule& b) const noexcept {
    return a.lateness_max == b.lateness_max && a.where == b.where && a.policy.gap == b.policy.gap &&
           a.policy.repeat == b.policy.repeat && a.when.text() == b.when.text();
}

std::optional<wall_instant> timetable::occurrence_after(shared_rule& rule, wall_instant when) {
    auto& known = rule.second.looked_up;
    if (!known || known->first != when) known = {when, next_after(rule.first, when)};
    return known->second;
}

timetable::outcome timetable::settle(shared_rule& rule, wall_instant from, wall_instant first,
                                     wall_instant now) {
    auto& last = rule.second.last;
    const bool holds = last && last->from == from && last->latest <= now &&
                       (!last->following || *last->following > now);
    if (holds) return *last;
    outcome found;
    found.from = from;
    found.latest = first;
    found.following = next_after(rule.first, first);
    if (found.following && *found.following <= now) {
        found.latest = latest_until(rule.first, *found.following, now);
        found.between = 1;  // the first
        auto each = *found.following;
        while (each < found.latest && found.between < missed_max) {
            ++found.between;
            each = *next_after(rule.first, each);
        }
        found.following = next_after(rule.first, found.latest);
    }
    last = found;
    return found;
}

void timetable::add(entry_id entry, occurrence_rule rule, wall_instant position, wall_instant now) {
    auto& shared = *rules_.try_emplace(std::move(rule)).first;
    ++shared.second.entries;
    auto [found, fresh] = entries_.try_emplace(entry);
    auto& state = found->second;
    if (fresh)
        state.place = nowhere;
    else
        release(*state.rule);
    // What is known of a schedule is not true of another one.
    if (state.rule != &shared) state.surely_before = wall_instant::min();
    state.rule = &shared;
    state.position = std::min(position, now);
    state.not_before = position;
    state.uncounted = 0;
    wait_for(*found, occurrence_after(shared, state.position));
}

void timetable::remove(entry_id entry) {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) return;
    wait_for(*found, std::nullopt);
    release(*found->second.rule);
    entries_.erase(found);
}

void timetable::release(shared_rule& rule) {
    if (--rule.second.entries == 0) rules_.erase(rules_.find(rule.first));
}

std::vector<due_occurrence> timetable::advance(wall_instant now, std::size_t limit) {
    std::vector<due_occurrence> due;
    for (std::size_t looked_at = 0; looked_at < limit; ++looked_at) {
        if (heap_.empty() || heap_.front().at > now) break;
        const auto [first, entry] = heap_.front();
        auto& state = entry->second;
        // The clock was behind it, and is right now.
        if (state.position < state.not_before && state.not_before <= now) {
            state.position = state.not_before;
            wait_for(*entry, occurrence_after(*state.rule, state.position));
            continue;
        }
        const auto found = settle(*state.rule, state.position, first, now);
        auto missed = state.uncounted + found.between;
        if (now - found.latest <= state.rule->first.lateness_max) {
            due.push_back({entry->first, found.latest, std::min(missed, missed_max)});
            missed = 0;
        } else {
            ++missed;
        }
        state.uncounted = static_cast<std::uint32_t>(std::min(missed, missed_max));
        state.position = found.latest;
        wait_for(*entry, found.following);
    }
    return due;
}

std::optional<wall_instant> timetable::next_due() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().at;
}

std::optional<wall_instant> timetable::next_of(entry_id entry) const {
    const auto found = entries_.find(entry);
    if (found == entries_.end() || found->second.place == nowhere) return std::nullopt;
    return heap_[found->second.place].at;
}

void timetable::clock_put_back(wall_instant now, std::optional<wall_instant> last_right) {
    const auto right = last_right.value_or(now);
    const bool never_right = right == wall_instant::min();
    const auto from = never_right ? now : std::min(now, right);
    for (auto& entry : entries_) {
        auto& state = entry.second;
        if (state.position <= now) continue;
        // One that was added by a clock that was ahead knows nothing of the time before.
        const bool knows_before = state.not_before <= now;
        if (!knows_before && never_right) state.not_before = from;
        const auto position =
            knows_before ? std::max(std::min(now, right), state.not_before) : from;
        state.position = std::max(position, state.surely_before);
        wait_for(entry, occurrence_after(*state.rule, state.position));
    }
}

void timetable::not_before(entry_id entry, wall_instant when, wall_instant now) {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) return;
    auto& state = found->second;
    state.not_before = std::max(state.not_before, when);
    if (when > now || when <= state.surely_before) return;
    state.surely_before = when;
    if (state.position >= when) return;
    state.position = when;
    wait_for(*found, occurrence_after(*state.rule, state.position));
}

bool timetable::before(const waiting& a, const waiting& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.entry->first < b.entry->first;
}

void timetable::wait_for(entry_map::value_type& entry, std::optional<wall_instant> at) {
    const std::size_t place = entry.second.place;
    if (at && place == nowhere) {
        heap_.push_back({*at, &entry});
        rise(heap_.size() - 1);
    } else if (at) {
        heap_[place].at = *at;
        rise(place);
        sink(entry.second.place);
    } else if (place != nowhere) {
        entry.second.place = nowhere;
        const auto last = heap_.back();
        heap_.pop_back();
        if (place == heap_.size()) return;
        put(place, last);
        rise(place);
        sink(last.entry->second.place);
    }
}

void timetable::put(std::size_t place, const waiting& what) noexcept {
    heap_[place] = what;
    what.entry->second.place = static_cast<std::uint32_t>(place);
}

void timetable::rise(std::size_t place) noexcept {
    const auto moving = heap_[place];
    while (place > 0) {
        const auto above = (place - 1) / branches;
        if (!before(moving, heap_[above])) break;
        put(place, heap_[above]);
        place = above;
    }
    put(place, moving);
}

void timetable::sink(std::size_t place) noexcept {
    const auto moving = heap_[place];
    for (;;) {
        const auto first = place * branches + 1;
        if (first >= heap_.size()) break;
        auto least = first;
        const auto end = std::min(first + branches, heap_.size());
        for (auto each = first + 1; each < end; ++each)
            if (before(heap_[each], heap_[least])) least = each;
        if (!before(heap_[least], moving)) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, moving);
}

}  // namespace pawl::schedule
