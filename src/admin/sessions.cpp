#include "admin/sessions.hpp"

#include <algorithm>
#include <utility>

namespace pawl::admin {

sessions::sessions(session_rules rules) : rules_{rules}, open_{rules.most, rules.idle_max} {}

const session& sessions::open(const std::string& id, session fresh, instant now) {
    fresh.ends = now + rules_.age_max;
    open_.put(id, std::move(fresh), now);
    return *open_.use(id, now);
}

const session* sessions::use(const std::string& id, instant now) {
    const session* found = open_.use(id, now);
    if (found == nullptr) return nullptr;
    if (now < found->ends) return found;
    open_.erase(id);
    return nullptr;
}

instant sessions::end_of(const session& one, instant now) const {
    return std::min(one.ends, now + instant::duration{rules_.idle_max});
}

}  // namespace pawl::admin
