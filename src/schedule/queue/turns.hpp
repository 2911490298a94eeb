// Which slot of a job an occurrence runs in: they take turns.
//
// A function of the schedule and the occurrence, the same on every node and after every restart:
// so the mark of one key says whether the occurrence has run.
#pragma once

#include "schedule/timing/timetable.hpp"

#include <cstdint>

namespace pawl::schedule {

// REQUIRES: `at` is an occurrence by the rule, without jitter; slots > 0.
inline std::uint32_t slot_of(const occurrence_rule& rule, wall_instant at,
                             std::uint32_t slots) noexcept {
    const auto turn = rule.when.ordinal(at, rule.where) % static_cast<std::int64_t>(slots);
    return static_cast<std::uint32_t>(turn < 0 ? turn + slots : turn);
}

}  // namespace pawl::schedule
