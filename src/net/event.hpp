// An event that coroutines wait for with a timeout, as in asyncio and .NET.
#pragma once

#include "net/timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/intrusive/list.hpp>

#include <chrono>

namespace pawl::net {

// On one loop only. Stays set until it is reset. Each wait has a timer of its own, in the frame of
// the coroutine that waits and on the clock of its loop. So an event needs no executor: it may live
// in that frame, or in what several share and what outlives the loop. One that is destroyed ends
// the waits.
class event {
public:
    event() = default;
    ~event() { end_waits(false); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    // Wakes all who wait.
    void set() {
        set_ = true;
        end_waits(true);
    }
    bool is_set() const noexcept { return set_; }
    // Those who were woken before stay woken.
    void reset() noexcept { set_ = false; }
    // Wakes all who wait now, and none who comes later.
    void notify_all() { end_waits(true); }

    // True when it was set, or all were notified; false when the time was up, or Asio cancelled the
    // wait. instant::max() for ever.
    boost::asio::awaitable<bool> wait_until(instant when);
    boost::asio::awaitable<bool> wait_for(std::chrono::nanoseconds duration);
    boost::asio::awaitable<bool> wait() { return wait_until(instant::max()); }

private:
    using hook = boost::intrusive::list_base_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    // Leaves the list when its frame goes.
    struct place : hook {
        explicit place(const boost::asio::any_io_executor& executor) : timer{executor} {}
        net::timer timer;
        bool woken = false;
    };

    void end_waits(bool woken);

    boost::intrusive::list<place, boost::intrusive::constant_time_size<false>> waiting_;
    bool set_ = false;
};

}  // namespace pawl::net
