// How a store answers: an Asio coroutine that ends in a value or a failure, and never throws.
#pragma once

#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>

namespace pawl {

// What an operation answers, or how it failed, once it is awaited.
template <class T>
using async = boost::asio::awaitable<result<T>>;

}  // namespace pawl
