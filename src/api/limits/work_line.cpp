#include "api/limits/work_line.hpp"

#include "net/event.hpp"

#include <utility>

namespace pawl::api {

using boost::asio::awaitable;

struct work_line::waiter {
    explicit waiter(std::string who) : user{std::move(who)} {}

    std::string user;
    turn mine{};  // since it was called
    net::event called;
};

work_line::turn work_line::begin(std::shared_ptr<work_line> self, std::string user) {
    self->working_.add(user);
    const auto* one = self.get();
    return {one,
            [self = std::move(self), user = std::move(user)](const void*) { leave(self, user); }};
}

void work_line::leave(std::shared_ptr<work_line> self, const std::string& user) {
    self->working_.take_away(user);
    call_next(self);
}

void work_line::call_next(const std::shared_ptr<work_line>& self) {
    auto next = self->waiting_.end();
    auto fewest = self->bounds_.at_once_of_user;
    for (auto one = self->waiting_.begin(); one != self->waiting_.end(); ++one) {
        const auto working = self->working_.of((*one)->user);
        if (working >= fewest) continue;
        next = one;
        fewest = working;
    }
    if (next == self->waiting_.end()) return;
    const auto called = *next;
    self->waiting_.erase(next);
    called->mine = begin(self, called->user);
    called->called.set();
}

awaitable<work_line::turn> work_line::enter(std::shared_ptr<work_line> self, std::string user) {
    // Those who wait could not begin either, so no request is overtaken.
    if (self->working_.of_all() < self->bounds_.at_once &&
        self->working_.of(user) < self->bounds_.at_once_of_user)
        co_return begin(self, std::move(user));
    const auto one = std::make_shared<waiter>(std::move(user));
    self->waiting_.push_back(one);
    while (!one->called.is_set()) {
        auto waiting = one->called.wait();
        co_await std::move(waiting);
    }
    co_return std::exchange(one->mine, nullptr);
}

}  // namespace pawl::api
