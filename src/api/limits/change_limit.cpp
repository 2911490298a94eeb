#include "api/limits/change_limit.hpp"

namespace pawl::api {
namespace {

constexpr std::chrono::hours hour{1};

}  // namespace

std::optional<millis> change_limit::wait_of(const std::string& user, instant now) const {
    const auto found = windows_.find(user);
    if (found == windows_.end() || now >= found->second.ends ||
        found->second.count < changes_per_hour_max)
        return std::nullopt;
    return std::chrono::ceil<millis>(found->second.ends - now);
}

void change_limit::count(const std::string& user, instant now) {
    auto& one = windows_[user];
    if (now >= one.ends) one = {now + hour, 0};
    ++one.count;
}

}  // namespace pawl::api
