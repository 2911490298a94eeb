// How many of something each user has, and all of them.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace pawl::api {

// On one loop only.
class user_counts {
public:
    std::size_t of(const std::string& user) const {
        const auto found = of_users_.find(user);
        return found == of_users_.end() ? 0 : found->second;
    }
    std::size_t of_all() const noexcept { return of_all_; }

    void add(const std::string& user) {
        ++of_users_[user];
        ++of_all_;
    }
    // REQUIRES: of(user) > 0. A user who has none is not remembered.
    void take_away(const std::string& user) noexcept {
        const auto found = of_users_.find(user);
        if (--found->second == 0) of_users_.erase(found);
        --of_all_;
    }

private:
    std::unordered_map<std::string, std::size_t> of_users_;
    std::size_t of_all_ = 0;
};

}  // namespace pawl::api
