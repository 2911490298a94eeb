// Whether the current coroutine was cancelled.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

namespace pawl::net {

// Of the coroutine that awaits it. Asio tells by exception only where a coroutine throws then.
inline boost::asio::awaitable<bool> is_cancelled() {
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    co_return cancellation.cancelled() != boost::asio::cancellation_type::none;
}

}  // namespace pawl::net
