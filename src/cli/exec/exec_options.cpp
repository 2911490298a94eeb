#include "cli/exec/exec_options.hpp"

#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <chrono>
#include <utility>

namespace pawl::cli {

std::string named_occurrence(std::string text) {
    const auto now = time::wall_now();
    if (text == "minute")
        return time::format_rfc3339(std::chrono::floor<std::chrono::minutes>(now));
    if (text == "hour") return time::format_rfc3339(std::chrono::floor<std::chrono::hours>(now));
    if (text == "day") return time::format_rfc3339(std::chrono::floor<std::chrono::days>(now));
    return text;
}

exec_plan plan_of(const exec_options& what) {
    exec_plan made;
    made.lease.ttl = duration_option("--ttl", what.ttl);
    made.lease.min_hold = duration_option("--at-least", what.min_hold);
    made.lease.grace = duration_option("--grace", what.grace);
    made.lease.hold_until_expiry = what.hold_until_expiry;
    if (made.lease.hold_until_expiry && made.lease.min_hold > made.lease.ttl)
        throw CLI::ValidationError{"--at-least",
                                   "is longer than --ttl, but with --hold the lease ends when its "
                                   "ttl does: raise --ttl, or drop --hold"};
    if (!what.occurrence.empty()) {
        const auto when = time::parse_rfc3339(what.occurrence);
        if (when.has_error())
            throw CLI::ValidationError{"--occurrence",
                                       "'" + base::printable(what.occurrence) + "' at column " +
                                           std::to_string(when.error().column + 1) + ": " +
                                           when.error().what +
                                           "; expected such a time, or minute, hour or day"};
        made.lease.occurrence =
            occurrence{std::chrono::floor<millis>(*when).time_since_epoch().count()};
    }
    if (what.at_least_once) {
        if (!made.lease.occurrence)
            throw CLI::ValidationError{"--at-least-once", "goes with --occurrence"};
        made.lease.delivery = delivery::at_least_once;
    }
    if (what.slots && made.lease.occurrence)
        throw CLI::ValidationError{"--slots", "goes without --occurrence: each slot would run it"};
    if (!what.wait.empty()) made.waiting.wait = duration_option("--wait", what.wait);
    if (!what.timeout.empty()) {
        made.timeout = duration_option("--timeout", what.timeout);
        if (made.timeout->count() == 0)
            throw CLI::ValidationError{"--timeout", "'" + what.timeout +
                                                        "' gives the command no time; leave it out "
                                                        "for no limit"};
    }
    return made;
}

}  // namespace pawl::cli
