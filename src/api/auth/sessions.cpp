#include "api/auth/sessions.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace pawl::api {

sessions::sessions(session_rules rules) : rules_{rules}, open_{rules.most, rules.idle_max} {}

const session& sessions::open(const std::string& id, session fresh, instant now) {
    fresh.ends = now + rules_.age_max;
    open_.erase(id);
    make_room(fresh.who.name, now);
    open_.put(id, std::move(fresh), now);
    return *open_.use(id, now);
}

// A user who logs in again and again ends sessions of their own, and no other user's.
void sessions::make_room(const std::string& user, instant now) {
    std::map<std::string_view, std::size_t> of_users;
    open_.visit(now, [&](const session& one) { ++of_users[one.who.name]; });
    const auto own = of_users.find(user);
    const bool has_its_share = own != of_users.end() && own->second >= rules_.most_of_user;
    if (!has_its_share && open_.size() < rules_.most) return;
    const auto most = std::max_element(
        of_users.begin(), of_users.end(),
        [](const auto& left, const auto& right) { return left.second < right.second; });
    const std::string whose = has_its_share ? user : std::string{most->first};
    // Each has one before anybody has a second: then the longest idle of all.
    const bool anybody = !has_its_share && most->second == 1;
    bool gone = false;
    open_.erase_if([&](const session& one) {
        if (gone || (!anybody && one.who.name != whose)) return false;
        return gone = true;
    });
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

}  // namespace pawl::api
