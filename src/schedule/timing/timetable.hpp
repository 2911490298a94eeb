// Which schedules are due, out of many.
//
// A machine without I/O and without a clock: it is handed the wall time, which may have stepped
// either way since, and hands back what is due. It never hands out more than one occurrence of a
// schedule at a time: what was missed in between is told as a number, so that no outage ends in
// three hundred runs at once.
//
// A heap of instants. Entries with equal rules share one copy of the rule and of what was worked
// out last by it: ten thousand jobs that fire at each full minute ask the calendar once.
#pragma once

#include "time/cron.hpp"

#include <pawl/policies.hpp>
#include <pawl/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::schedule {

using entry_id = std::uint32_t;
using wall_instant = time::wall_instant;

// Unix milliseconds of an instant of the wall clock, which name an occurrence.
inline occurrence occurrence_of(wall_instant at) noexcept {
    return occurrence{std::chrono::floor<millis>(at).time_since_epoch().count()};
}
inline wall_instant wall_of(pawl::occurrence occurrence) noexcept {
    return wall_instant{millis{number(occurrence)}};
}

// An occurrence that came due this long ago counts as missed, not as a little late.
constexpr millis lateness_tolerated{10'000};
// What is on time takes a moment, too: no window is shorter.
constexpr millis lateness_least{1'000};

// How late a run may begin, beyond its jitter.
constexpr millis lateness_of(misfire how, millis window) {
    const auto whole = std::max(window, lateness_least);
    return how == misfire::skip ? std::min(whole, lateness_tolerated) : whole;
}

struct occurrence_rule {
    time::cron when;
    time::zone where{};
    time::transitions policy{};
    // How late an occurrence may be handed out at all: lateness_of() its job, and the longest
    // jitter, as it may be that late without being missed.
    millis lateness_max{3'600'000};
};

// Whether an occurrence comes due at this very moment.
bool fires_at(const occurrence_rule& rule, wall_instant at);

struct due_occurrence {
    entry_id entry = 0;
    wall_instant at{};         // for when it was scheduled
    std::uint64_t missed = 0;  // earlier occurrences that were left out since the last one; counted
                               // up to missed_max
};
constexpr std::uint64_t missed_max = 1000;

// Used by one thread at a time. A hundred thousand entries cost some 100 bytes each, and each rule
// that differs from the others some 200 beside its cron.
class timetable {
public:
    timetable() = default;
    timetable(const timetable&) = delete;
    timetable& operator=(const timetable&) = delete;

    // Fires from the first occurrence strictly after `position`: the last occurrence that is known
    // to have run, or when the schedule came into being; never from the future: a position after
    // `now` counts as now, and what came due until then is left out once it lies in the past.
    // Replaces an entry with the same id, and forgets what that one has missed.
    void add(entry_id entry, occurrence_rule rule, wall_instant position, wall_instant now);
    // It is known by now that the schedule came into being then. What came due earlier is never
    // handed out, wherever the clock stands later; but a schedule from the future is as old as now.
    void not_before(entry_id entry, wall_instant when, wall_instant now);
    void remove(entry_id entry);
    std::size_t size() const noexcept { return entries_.size(); }

    // What is due at `now`, each entry at most once: the latest occurrence that is due and not too
    // late. The earliest come first. Looks at no more than `limit` entries, those included whose
    // occurrences are too late; while next_due() is not after `now` there are more, to be had at
    // once.
    std::vector<due_occurrence> advance(wall_instant now, std::size_t limit);
    // When to call again; nothing when no entry will ever fire.
    std::optional<wall_instant> next_due() const;
    // The next occurrence of one entry, for people and metrics.
    std::optional<wall_instant> next_of(entry_id entry) const;

    // The wall clock was put back to `now`: whatever waits for a time that had come by the wrong
    // clock is due again by the right one. What has run already is known at the store.
    // `last_right` is when the clock was last known to be right, where that is known: what came due
    // since then, while the clock was ahead, is due as well; the least there is where it never was.
    // What lies before the position that an entry was added with stays past, also when the clock is
    // put forward again.
    void clock_put_back(wall_instant now, std::optional<wall_instant> last_right = std::nullopt);

private:
    struct rule_hash {
        std::size_t operator()(const occurrence_rule& rule) const noexcept;
    };
    struct rule_equal {
        bool operator()(const occurrence_rule& a, const occurrence_rule& b) const noexcept;
    };
    // What became of the entries of a rule that stood at `from`, the last time that one was due.
    struct outcome {
        wall_instant from{};
        wall_instant latest{};
        std::optional<wall_instant> following{};  // of `latest`
        std::uint64_t between = 0;                // occurrences after `from` and before `latest`
    };
    struct rule_use {
        std::size_t entries = 0;
        std::optional<outcome> last{};
        std::optional<std::pair<wall_instant, std::optional<wall_instant>>> looked_up{};
    };
    using rule_map = std::unordered_map<occurrence_rule, rule_use, rule_hash, rule_equal>;
    using shared_rule = rule_map::value_type;

    struct entry_state {
        shared_rule* rule = nullptr;
        wall_instant position{};       // occurrences up to here have been handed out, or counted
        wall_instant not_before{};     // what came due until then is not its own
        wall_instant surely_before{};  // the same, of what lay in the past when it was told
        std::uint32_t place = 0;       // in the heap; nowhere: it never fires again
        std::uint32_t uncounted = 0;   // missed, and not told yet
    };
    using entry_map = std::unordered_map<entry_id, entry_state>;
    struct waiting {
        wall_instant at;
        entry_map::value_type* entry;
    };
    static constexpr std::uint32_t nowhere = UINT32_MAX;

    static std::optional<wall_instant> occurrence_after(shared_rule& rule, wall_instant when);
    static outcome settle(shared_rule& rule, wall_instant from, wall_instant first,
                          wall_instant now);
    void release(shared_rule& rule);
    // Gives the entry its place in the heap, or takes it away.
    void wait_for(entry_map::value_type& entry, std::optional<wall_instant> at);
    static bool before(const waiting& a, const waiting& b) noexcept;
    void put(std::size_t place, const waiting& what) noexcept;
    void rise(std::size_t place) noexcept;
    void sink(std::size_t place) noexcept;

    rule_map rules_;
    entry_map entries_;
    std::vector<waiting> heap_;
};

}  // namespace pawl::schedule
