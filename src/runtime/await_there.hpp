// Lets a coroutine of the application await work on the loop, which may be ending.
#pragma once

#include "net/remote_operation.hpp"
#include "runtime/link.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <stop_token>
#include <utility>

namespace pawl::runtime {

// Awaits `work` where `way` leads, which is let go of as soon as the work is there.
template <class T>
boost::asio::awaitable<T> await_there(std::shared_ptr<link::visit> way,
                                      boost::asio::awaitable<T> work,
                                      std::stop_source stop = std::stop_source{std::nostopstate},
                                      net::leave how = net::leave::at_once) {
    net::loop& where = way->loop();
    return net::await_on(where, std::move(work), std::move(stop), how, std::move(way));
}

}  // namespace pawl::runtime
