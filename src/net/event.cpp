#include "net/event.hpp"

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace pawl::net {

// None of them is resumed within this call, nor touches the event when it is. Where a guest ends,
// one may be destroyed here, and the event with it.
void event::end_waits(bool woken) {
    decltype(waiting_) left;
    left.swap(waiting_);
    while (!left.empty()) {
        auto& next = left.front();
        left.pop_front();
        next.woken = woken;
        next.timer.cancel();
    }
}

boost::asio::awaitable<bool> event::wait_until(instant when) {
    if (set_) co_return true;
    place mine{co_await boost::asio::this_coro::executor};
    waiting_.push_back(mine);
    auto waiting = mine.timer.wait_until(when);
    co_await std::move(waiting);
    co_return mine.woken;
}

boost::asio::awaitable<bool> event::wait_for(std::chrono::nanoseconds duration) {
    const auto now = timers::of(co_await boost::asio::this_coro::executor).now();
    auto waiting = wait_until(duration >= instant::max() - now ? instant::max() : now + duration);
    co_return co_await std::move(waiting);
}

}  // namespace pawl::net
