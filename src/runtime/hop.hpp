// Awaits a coroutine of pawl's loop from any executor.
#pragma once

#include "net/loop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

namespace pawl::runtime {

// On the loop itself it costs nothing; elsewhere a switch to the loop and one back.
template <class T>
boost::asio::awaitable<T> on_loop(net::loop& where, boost::asio::awaitable<T> work) {
    const net::loop::attention prompt{where};
    const auto here = co_await boost::asio::this_coro::executor;
    if (here == boost::asio::any_io_executor{where.get_executor()})
        co_return co_await std::move(work);
    // Through an optional, as co_spawn wants values that can be made from nothing.
    auto boxed = [](boost::asio::awaitable<T> inner) -> boost::asio::awaitable<std::optional<T>> {
        co_return std::optional<T>{co_await std::move(inner)};
    };
    auto value = co_await boost::asio::co_spawn(where.get_executor(), boxed(std::move(work)),
                                                boost::asio::use_awaitable);
    co_return std::move(*value);
}

}  // namespace pawl::runtime
