// A timer that calls a function, for what has no coroutine to wait in: work that must end in time
// is ended from outside.
#pragma once

#include "net/timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace pawl::net {

// Used on its context's own thread only. Calls nothing more once it is cancelled or destroyed, but
// what was due by then; so the function keeps alive what it uses.
class callback_timer {
public:
    explicit callback_timer(const boost::asio::any_io_executor& executor)
        : executor_{executor}, timer_{executor} {}

    // REQUIRES: it waits for no other time.
    template <class Function>
    void call_at(instant when, Function what) {
        boost::asio::co_spawn(executor_, timer_.wait_until(when), if_due(std::move(what)));
    }
    template <class Function>
    void call_after(std::chrono::nanoseconds duration, Function what) {
        boost::asio::co_spawn(executor_, timer_.wait_for(duration), if_due(std::move(what)));
    }
    void cancel() { timer_.cancel(); }

private:
    template <class Function>
    static auto if_due(Function what) {
        return [what = std::move(what)](const std::exception_ptr& error, bool due) {
            if (error) std::rethrow_exception(error);
            if (due) what();
        };
    }

    boost::asio::any_io_executor executor_;
    timer timer_;
};

}  // namespace pawl::net
