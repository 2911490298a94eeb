// Many questions of one kind, some of them at a time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>

namespace pawl::admin {

// Does `one` for 0 to `count` - 1, at most `at_once` of them at a time, and ends with the last.
// `one` keeps what it needs alive itself, and does not throw.
boost::asio::awaitable<void> side_by_side(
    boost::asio::any_io_executor executor, std::size_t count, std::size_t at_once,
    std::function<boost::asio::awaitable<void>(std::size_t)> one);

}  // namespace pawl::admin
