// An awaited call that never throws, also where its caller was cancelled.
#pragma once

#include <pawl/spi/async.hpp>

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace pawl::net {

// A verb never throws, but awaiting anything in a cancelled coroutine does, unless told not to.
template <class T>
async<T> quietly(async<T> verb) {
    const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    auto answer = co_await std::move(verb);
    co_await boost::asio::this_coro::throw_if_cancelled(throws);
    co_return answer;
}

}  // namespace pawl::net
