// What a compiled zone file holds (TZif, RFC 8536). Read here, because the date library reads each
// file once in the life of a process, and governments change their minds more often.
#pragma once

#include "time/zone_calendar.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::time {

struct zone_table {
    std::vector<stretch> stretches;  // as in calendar
    std::string rule;  // for the time after the last of them (time/zone_rule.hpp); may be empty
};

// Nothing for what is no such file, is cut off, or counts leap seconds.
std::optional<zone_table> parse_zone_file(std::string_view bytes);

}  // namespace pawl::time
