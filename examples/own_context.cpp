// pawl in the io_context of an Asio program, which has no thread of pawl's then: heartbeats are
// work of the context, and it runs out of work when the locks are closed.
#include <pawl/pawl.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;
using boost::asio::awaitable;

namespace {

awaitable<bool> work_once(pawl::locks& locks) {
    bool worked = false;
    if (auto lease = co_await locks.async_acquire("report", {.ttl = 10s}, 1min)) {
        std::cout << "holds the key under token " << number(lease->token()) << '\n';
        worked = co_await lease->async_release() == pawl::release_outcome::released;
    }
    co_await locks.async_close();
    co_return worked;
}

}  // namespace

int main() {
    boost::asio::io_context context;
    auto locks = pawl::locks::open("memory:", {.executor = context.get_executor()});
    auto worked = boost::asio::co_spawn(context, work_once(locks), boost::asio::use_future);
    context.run();  // returns when the locks are closed
    return worked.get() ? 0 : 1;
}
