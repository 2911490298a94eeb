#include "api/limits/user_quota.hpp"

#include <utility>

namespace pawl::api {

std::variant<user_quota::permit, user_quota::full> user_quota::take(
    std::shared_ptr<user_quota> self, std::string user) {
    if (self->taken_.of(user) >= self->bounds_.most_of_user) return full::of_user;
    if (self->taken_.of_all() >= self->bounds_.most) return full::of_all;
    self->taken_.add(user);
    const auto* one = self.get();
    return permit{one, [self = std::move(self), user = std::move(user)](const void*) {
                      self->taken_.take_away(user);
                  }};
}

}  // namespace pawl::api
