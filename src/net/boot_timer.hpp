// A timer on the lease clock, which goes on while the machine sleeps.
//
// Asio's own timers sleep on CLOCK_MONOTONIC: after a suspend they would fire late by as long as
// the machine slept. A timerfd on CLOCK_BOOTTIME fires at once on resume.
#pragma once

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace pawl::net {

// Used on its executor only. At most one coroutine waits at a time.
class boot_timer {
public:
    // Throws boost::system::system_error when the system is out of descriptors.
    explicit boot_timer(const boost::asio::any_io_executor& executor);

    // When the timer fires next; instant::max() for never. Moves a wait that has begun already.
    void set(instant when);
    instant when() const noexcept { return when_; }

    // Ends when the time set has come, and also when wake() is called. Cancellable.
    boost::asio::awaitable<void> wait();
    // Ends the wait that has begun, or else the next, at once.
    void wake();

private:
    boost::asio::posix::stream_descriptor descriptor_;
    instant when_ = instant::max();
};

}  // namespace pawl::net
