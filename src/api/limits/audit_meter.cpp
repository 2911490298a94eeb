#include "api/limits/audit_meter.hpp"

#include <algorithm>

namespace pawl::api {

bool audit_meter::admit(const std::string& actor, const std::string& action, instant now) {
    auto& one = windows_[{actor, action}];
    // What the one before has counted is told first.
    if (one.count == 0 || (now >= one.ends && one.count <= rules_.told_max))
        one = {now + instant::duration{rules_.window}, 0};
    return ++one.count <= rules_.told_max;
}

std::vector<audit_meter::left_out> audit_meter::take_over(instant now) {
    std::vector<left_out> over;
    for (auto at = windows_.begin(); at != windows_.end();) {
        if (at->second.ends > now) {
            ++at;
            continue;
        }
        if (at->second.count > rules_.told_max)
            over.push_back({at->first.first, at->first.second, at->second.count - rules_.told_max});
        at = windows_.erase(at);
    }
    return over;
}

std::optional<instant> audit_meter::next_end() const {
    std::optional<instant> next;
    for (const auto& [what, one] : windows_)
        if (one.count > rules_.told_max) next = std::min(next.value_or(one.ends), one.ends);
    return next;
}

}  // namespace pawl::api
