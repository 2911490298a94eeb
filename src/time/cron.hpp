// When a schedule fires: a function of an expression, a zone, a policy and an instant.
//
// Five fields (minute hour day month weekday), six (with seconds in front), a macro such as @daily,
// or an interval such as @every 90s. Intervals are counted from the Unix epoch, so that every node,
// and the same node after a restart, finds the same occurrences.
#pragma once

#include "base/duration.hpp"
#include "time/clocks.hpp"
#include "time/zone.hpp"

#include <pawl/policies.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::time {

struct transitions {
    gap_time gap = gap_time::end;
    repeated_time repeat = repeated_time::once;
};

struct cron_plan;

// Immutable and cheap to copy. Thread-safe.
class cron {
public:
    // A fault has the column (byte, from 0) of what is wrong, and says what would be right. An
    // expression that never fires, such as "0 0 30 2 *", is a fault as well.
    static base::parsed<cron> parse(std::string_view text);

    // The first occurrence strictly after `after`. Nothing after the year 9999, or when all that
    // there is for a century falls into gaps that are skipped. Bounded in time for every
    // expression.
    std::optional<wall_instant> next(wall_instant after, const zone& where,
                                     transitions policy = {}) const;

    // The number of an occurrence, counted from a fixed day by the calendar of the zone: of two
    // that follow each other the numbers do as well. Only where the clocks of the zone are changed
    // in between may it leave numbers out, or have some again. The same on every node, and cheap
    // for every expression.
    std::int64_t ordinal(wall_instant at, const zone& where) const noexcept;

    // As it was written, a macro as a macro.
    const std::string& text() const noexcept;
    // In words, for people: "at 06:00 every day", "every 90 seconds".
    std::string describe() const;

private:
    explicit cron(std::shared_ptr<const cron_plan> what) noexcept : plan_{std::move(what)} {}

    std::shared_ptr<const cron_plan> plan_;
};

}  // namespace pawl::time
