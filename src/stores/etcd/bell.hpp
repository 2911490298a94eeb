// What a coroutine waits at, until somebody on the loop rings or the time is up.
#pragma once

#include "net/loop.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace pawl::etcd {

// Lives in the frame of the coroutine that waits, so that it dies with the loop; whoever rings
// knows it by a pointer that the frame takes back.
class bell {
public:
    explicit bell(const net::loop::executor_type& executor) : timer_{executor} {}
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;

    void ring() {
        rung_ = true;
        timer_.cancel();
    }
    bool rung() const noexcept { return rung_; }
    void reset() noexcept { rung_ = false; }

    // Ends when it rings, at the deadline, and when the coroutine is cancelled; never throws.
    // instant::max() for no deadline.
    boost::asio::awaitable<void> wait(instant deadline) {
        if (rung_) co_return;
        if (deadline == instant::max())
            timer_.expires_at(boost::asio::steady_timer::time_point::max());
        else
            timer_.expires_after(std::max(deadline - lease_clock::now(), instant::duration{0}));
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await timer_.async_wait(token);
    }

private:
    boost::asio::steady_timer timer_;
    bool rung_ = false;
};

}  // namespace pawl::etcd
