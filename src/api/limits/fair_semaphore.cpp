#include "api/limits/fair_semaphore.hpp"

#include "net/event.hpp"

#include <utility>

namespace pawl::api {

using boost::asio::awaitable;

struct fair_semaphore::waiter {
    explicit waiter(std::string who) : user{std::move(who)} {}

    std::string user;
    turn mine{};  // since it was called
    net::event called;
};

fair_semaphore::turn fair_semaphore::begin(std::shared_ptr<fair_semaphore> self, std::string user) {
    self->working_.add(user);
    const auto* one = self.get();
    return {one,
            [self = std::move(self), user = std::move(user)](const void*) { leave(self, user); }};
}

void fair_semaphore::leave(std::shared_ptr<fair_semaphore> self, const std::string& user) {
    self->working_.take_away(user);
    call_next(self);
}

void fair_semaphore::call_next(const std::shared_ptr<fair_semaphore>& self) {
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

awaitable<fair_semaphore::turn> fair_semaphore::enter(std::shared_ptr<fair_semaphore> self,
                                                      std::string user) {
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
