// The deadlines of many requests under one timer: it is set for the earliest of them, and set again
// only when it has fired.
#pragma once

#include "net/boot_timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace pawl::net {

// On its executor only. A member of the object whose requests it watches.
class deadline_watch {
public:
    explicit deadline_watch(const boost::asio::any_io_executor& executor)
        : executor_{executor}, timer_{executor} {}

    // instant::max(): nothing is waited for.
    instant when() const noexcept { return timer_ ? timer_->when() : instant::max(); }

    // Makes the next check no later than `due`.
    void bring_forward(instant due) {
        if (timer_ && due < timer_->when()) timer_->set(due);
    }
    // The same; from the first time until end() the owner is kept alive, and `check` is called
    // whenever the time has come: it arms the watch again.
    template <class Owner>
    void arm(instant due, std::shared_ptr<Owner> owner, void (Owner::*check)()) {
        bring_forward(due);
        if (ended_ || std::exchange(watching_, true)) return;
        boost::asio::co_spawn(executor_, watch(*this, std::move(owner), check),
                              boost::asio::detached);
    }

    // No check comes after it.
    void end() {
        ended_ = true;
        if (timer_) timer_->wake();
    }
    // The same when the loop has ended: what does I/O must not outlive it.
    void drop() {
        ended_ = true;
        timer_.reset();
    }

private:
    // The owner, and this with it, lives as long as the coroutine has it.
    template <class Owner>
    static boost::asio::awaitable<void> watch(deadline_watch& self, std::shared_ptr<Owner> owner,
                                              void (Owner::*check)()) {
        while (!self.ended_) {
            co_await self.timer_->wait();
            if (!self.ended_) (*owner.*check)();
        }
    }

    const boost::asio::any_io_executor executor_;
    std::optional<boot_timer> timer_;  // empty once the loop has ended
    bool watching_ = false;
    bool ended_ = false;
};

}  // namespace pawl::net
