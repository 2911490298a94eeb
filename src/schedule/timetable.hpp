// Which schedules are due, out of many.
//
// A machine without I/O and without a clock: it is handed the wall time, which may have stepped
// either way since, and hands back what is due. It never hands out more than one firing of a
// schedule at a time: what was missed in between is told as a number, so that no outage ends in
// three hundred runs at once.
#pragma once

#include "time/cron.hpp"

#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pawl::schedule {

using entry_id = std::uint32_t;
using wall_instant = time::wall_instant;

// A firing that came due this long ago counts as missed, not as a little late.
constexpr millis lateness_tolerated{10'000};

struct firing_rule {
    time::cron when;
    time::zone where{};
    time::transitions policy{};
    // How late a firing may be handed out at all: the misfire window, or lateness_tolerated where
    // misfires are to be skipped.
    millis lateness_max{3'600'000};
};

struct due_firing {
    entry_id entry = 0;
    wall_instant at{};         // for when it was scheduled
    std::uint64_t missed = 0;  // earlier firings that were left out since the last one; counted up
                               // to missed_max
};
constexpr std::uint64_t missed_max = 1000;

// Used by one thread at a time. A hundred thousand entries cost some 100 bytes each.
class timetable {
public:
    // Fires from the first firing strictly after `position`: the last firing that is known to have
    // run, or when the schedule came into being; never from the future: a position after `now`
    // counts as now. Replaces an entry with the same id.
    void add(entry_id entry, firing_rule rule, wall_instant position, wall_instant now);
    void remove(entry_id entry);
    std::size_t size() const noexcept;

    // What is due at `now`, each entry at most once: the latest firing that is due and not too
    // late. The earliest come first; at most `limit`, the rest on the next call, at once.
    std::vector<due_firing> advance(wall_instant now, std::size_t limit);
    // When to call again; nothing when no entry will ever fire.
    std::optional<wall_instant> next_due() const;
    // The next firing of one entry, for people and metrics.
    std::optional<wall_instant> next_of(entry_id entry) const;

    // The wall clock was put back to `now`: whatever waits for a time that had come by the wrong
    // clock is due again by the right one. What has run already is known at the store.
    void clock_put_back(wall_instant now);
};

}  // namespace pawl::schedule
