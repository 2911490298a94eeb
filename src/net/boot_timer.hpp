// A timer that is set apart from the wait for it, and may be woken before its time.
#pragma once

#include "net/timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace pawl::net {

// Used on its executor only. At most one coroutine waits at a time.
class boot_timer {
public:
    explicit boot_timer(const boost::asio::any_io_executor& executor) : timer_{executor} {}

    // When the timer fires next; instant::max() for never. Moves a wait that has begun already.
    void set(instant when) {
        when_ = when;
        timer_.move(when);
    }
    instant when() const noexcept { return when_; }
    instant now() const { return timer_.now(); }

    // Ends when the time set has come, and also when wake() is called. Cancellable.
    boost::asio::awaitable<void> wait();
    // Ends the wait that has begun, or else the next, at once.
    void wake() { set(instant{}); }

private:
    timer timer_;
    instant when_ = instant::max();
};

}  // namespace pawl::net
