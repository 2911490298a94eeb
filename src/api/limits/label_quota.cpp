#include "api/limits/label_quota.hpp"

namespace pawl::api {

bool label_quota::admit(const std::string& user, const std::string& name, instant now) {
    auto& one = windows_[user];
    if (now >= one.ends) one = {now + metrics::silent_owner_kept, {}};
    if (one.names.contains(name)) return true;
    if (one.names.size() >= labels_of_user_max) return false;
    one.names.insert(name);
    return true;
}

}  // namespace pawl::api
