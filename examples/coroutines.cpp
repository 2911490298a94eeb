// pawl in an Asio program: the async_ twins, awaited on the program's own io_context.
#include <pawl/pawl.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
using boost::asio::awaitable;

namespace {

awaitable<pawl::fence_token> one_after_the_other(pawl::locks& locks, std::string name) {
    auto lease = co_await locks.async_acquire("report", {.ttl = 10s}, 1min);
    if (!lease) co_return pawl::fence_token{};
    const auto token = lease->token();
    std::cout << name << " has the key under token " << number(token) << '\n';
    co_await lease->async_release();
    co_return token;
}

}  // namespace

int main() {
    auto locks = pawl::locks::open("memory:");
    boost::asio::io_context context;
    auto first = boost::asio::co_spawn(context, one_after_the_other(locks, "first"),
                                       boost::asio::use_future);
    auto second = boost::asio::co_spawn(context, one_after_the_other(locks, "second"),
                                        boost::asio::use_future);
    context.run();
    const auto one = first.get(), two = second.get();
    return number(one) != 0 && number(two) != 0 && one != two ? 0 : 1;
}
