#include "net/boot_timer.hpp"

#include "net/loop.hpp"

#include <gtest/gtest.h>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

awaitable<instant> fired_at(boot_timer& timer) {
    co_await timer.wait();
    co_return lease_clock::now();
}

TEST(BootTimer, FiresAtTheInstantSetAndNotBefore) {
    boost::asio::io_context context;
    boot_timer timer{context.get_executor()};
    const auto when = lease_clock::now() + 20ms;
    timer.set(when);
    instant fired{};
    boost::asio::co_spawn(context, fired_at(timer),
                          [&](std::exception_ptr, instant at) { fired = at; });
    context.run();
    EXPECT_GE(fired, when);
}

// A renewal moves the deadline while a caller waits for it: both ways must hold.
TEST(BootTimer, MovesAWaitThatHasBegun) {
    boost::asio::io_context context;
    boot_timer timer{context.get_executor()};
    timer.set(lease_clock::now() + 1h);
    instant fired{};
    boost::asio::co_spawn(context, fired_at(timer),
                          [&](std::exception_ptr, instant at) { fired = at; });
    boost::asio::post(context, [&] { timer.set(lease_clock::now() + 10ms); });
    context.run();
    EXPECT_GT(fired, instant{});
}

TEST(BootTimer, WakesAtOnceWhenAsked) {
    boost::asio::io_context context;
    boot_timer timer{context.get_executor()};
    timer.wake();
    boost::asio::co_spawn(context, timer.wait(), [](std::exception_ptr) {});
    context.run();
    EXPECT_EQ(timer.when(), instant::max());
}

TEST(BootTimer, ATimeInThePastFiresAtOnce) {
    boost::asio::io_context context;
    boot_timer timer{context.get_executor()};
    timer.set(lease_clock::now() - 1h);
    boost::asio::co_spawn(context, timer.wait(), [](std::exception_ptr) {});
    context.run();
}

}  // namespace
}  // namespace pawl::net
