#include "api/places.hpp"

#include <utility>

namespace pawl::api {

std::variant<places::place, places::full> places::take(std::shared_ptr<places> self,
                                                       std::string user) {
    const auto found = self->of_users_.find(user);
    if (found != self->of_users_.end() && found->second >= self->bounds_.most_of_user)
        return full::of_user;
    if (self->taken_ >= self->bounds_.most) return full::of_all;
    ++self->taken_;
    ++self->of_users_[user];
    const auto* one = self.get();
    return place{
        one, [self = std::move(self), user = std::move(user)](const void*) { self->leave(user); }};
}

void places::leave(const std::string& user) noexcept {
    --taken_;
    const auto found = of_users_.find(user);
    if (--found->second == 0) of_users_.erase(found);
}

}  // namespace pawl::api
