// Real time that passes under a test, on the lease clock of its loop.
#pragma once

#include "net/boot_timer.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>

namespace pawl::conformance {

inline void pass_time(net::loop& where, millis duration) {
    const auto sleep = [](net::loop& on, millis bound) -> boost::asio::awaitable<bool> {
        net::boot_timer timer{on.get_executor()};
        timer.set(lease_clock::now() + bound);
        co_await timer.wait();
        co_return true;
    };
    where.wait_for(sleep(where, duration));
}

}  // namespace pawl::conformance
