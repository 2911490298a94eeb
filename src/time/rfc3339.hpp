// Points in time as people and logs write them.
#pragma once

#include "base/duration.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace pawl::time {

// RFC 3339 with milliseconds, in UTC: 2026-11-20T06:00:00.250Z.
std::string format_rfc3339(wall_instant when);

// RFC 3339: 2026-11-20T06:00:00Z, with an optional fraction (kept to the microsecond) and an offset
// such as +01:00, which is required. Years 1970 to 9999.
base::parsed<wall_instant> parse_rfc3339(std::string_view text);
// The same for years from 0001 on: for questions to a calendar, which no store is asked.
base::parsed<wall_instant> parse_rfc3339_of_any_year(std::string_view text);

// With the offset of a place, and a fraction only where there is one: 2026-11-20T07:00:00+01:00.
// UTC is Z. An offset of seconds, as before zones were, is cut to its minutes, and the time with it
// stays the same instant.
std::string format_rfc3339(wall_instant when, std::chrono::seconds offset);

}  // namespace pawl::time
