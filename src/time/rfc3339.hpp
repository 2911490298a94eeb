// Points in time as people and logs write them.
#pragma once

#include "base/duration.hpp"
#include "time/clocks.hpp"

#include <string>
#include <string_view>

namespace pawl::time {

// RFC 3339 with milliseconds, in UTC: 2026-11-20T06:00:00.250Z.
std::string format_rfc3339(wall_instant when);

// RFC 3339: 2026-11-20T06:00:00Z, with an optional fraction (kept to the microsecond) and an offset
// such as +01:00, which is required. Years 1970 to 9999.
base::parsed<wall_instant> parse_rfc3339(std::string_view text);

}  // namespace pawl::time
