#include "time/check_clock.hpp"

#include "base/duration.hpp"
#include "time/clocks.hpp"

#include <algorithm>

namespace pawl::time {

finding check_clock(const std::string& whose, std::chrono::microseconds earliest,
                    std::chrono::microseconds latest, const std::string& agrees) {
    const auto ours = wall_now().time_since_epoch();
    const auto apart = std::max(ours - latest, earliest - ours);
    if (apart <= std::chrono::microseconds{0}) return {severity::ok, "clock", whose + " " + agrees};
    return {severity::warn, "clock",
            whose + " is at least " +
                base::format_duration(std::chrono::ceil<std::chrono::milliseconds>(apart)) +
                " away from ours: occurrences are judged by it, let both follow NTP"};
}

}  // namespace pawl::time
