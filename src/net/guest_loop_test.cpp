#include "net/attachment.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"
#include "net/remote_operation.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

std::ptrdiff_t threads_now() {
    const std::filesystem::directory_iterator all{"/proc/self/task"};
    return std::distance(begin(all), end(all));
}

// Lives as long as a coroutine's frame.
using frame_mark = std::shared_ptr<int>;

awaitable<void> wait_for_ever(frame_mark) {
    event never;
    auto waiting = never.wait();
    co_await std::move(waiting);
}

class tenant : public attached {
public:
    void loop_ends() override { ++ends; }
    int ends = 0;
};

class GuestLoop : public testing::Test {
protected:
    void TearDown() override {
        if (guest) loop::leave(std::move(guest));
        host.restart();
        host.run();
    }

    boost::asio::io_context host{1};
    std::shared_ptr<loop> guest = loop::guest_of(host);
};

// Goal: the guest has no thread. Method: a coroutine with a timer, on the only thread there is.
TEST_F(GuestLoop, RunsOnItsHostsThreadAlone) {
    const auto before = threads_now();
    auto work = []() -> awaitable<void> { co_await sleep_for(1ms); };
    std::thread::id ran_on;
    boost::asio::co_spawn(guest->get_executor(), work(), [&](const std::exception_ptr&) {
        ran_on = std::this_thread::get_id();
        host.stop();
    });
    host.run();
    EXPECT_EQ(ran_on, std::this_thread::get_id());
    EXPECT_LE(threads_now(), before);
}

TEST_F(GuestLoop, ItsHostHasWorkWhileItIsThere) {
    boost::asio::post(host,
                      [&] { boost::asio::post(host, [&] { loop::leave(std::move(guest)); }); });
    host.run();
    EXPECT_EQ(guest, nullptr);
}

// Goal: all that waits in a guest ends with it, and its host has nothing left to do. Method: frames
// that wait for an event, for a timer and in the reactor for a socket.
TEST_F(GuestLoop, WhatWaitsInItEndsWithIt) {
    const auto mark = std::make_shared<int>();
    const auto here = std::make_shared<tenant>();
    const auto handle = attach(guest->get_executor(), here);
    boost::asio::co_spawn(guest->get_executor(), wait_for_ever(mark), unattended{});
    auto sleeping = [](frame_mark) -> awaitable<void> { co_await sleep_for(1h); };
    boost::asio::co_spawn(guest->get_executor(), sleeping(mark), unattended{});
    boost::asio::post(host, [&] { loop::leave(std::move(guest)); });
    host.run();
    EXPECT_EQ(mark.use_count(), 1);
    EXPECT_EQ(here->ends, 1);
    handle->post([] { FAIL() << "the guest is gone"; });
    host.restart();
    host.run();
}

TEST_F(GuestLoop, AnotherGuestOfItsHostContinues) {
    auto other = loop::guest_of(host);
    auto sleeping = [](frame_mark) -> awaitable<void> { co_await sleep_for(10ms); };
    bool done = false;
    boost::asio::co_spawn(other->get_executor(), sleeping({}), [&](const std::exception_ptr&) {
        done = true;
        loop::leave(std::move(other));
    });
    boost::asio::post(host, [&] { loop::leave(std::move(guest)); });
    host.run();
    EXPECT_TRUE(done);
}

TEST_F(GuestLoop, ACallThatBlocksIsAMistakeOnTheHostsThread) {
    bool threw = false;
    boost::asio::post(host, [&] {
        try {
            guest->wait_for(sleep_for(1ms));
        } catch (const std::logic_error&) {
            threw = true;
        }
        host.stop();
    });
    host.run();
    EXPECT_TRUE(threw);
}

TEST_F(GuestLoop, ACallThatBlocksOnAnotherThreadIsServed) {
    std::thread other{[&] {
        guest->wait_for(sleep_for(1ms));
        host.stop();
    }};
    host.run();
    other.join();
}

// Goal: a host that does not run is told, and what was asked for is not done later. Method: one
// that has not run yet, and one that was stopped.
TEST_F(GuestLoop, ACallThatBlocksIsAMistakeWhereTheHostDoesNotRun) {
    bool done = false;
    const auto work = [](bool& mark) -> awaitable<void> {
        mark = true;
        co_return;
    };
    guest->host_timeout = 200ms;
    EXPECT_THROW(guest->wait_for(work(done)), std::logic_error);
    host.poll();
    EXPECT_FALSE(done);
    guest->host_timeout = 1h;
    host.stop();
    EXPECT_THROW(guest->wait_for(work(done)), std::logic_error);
    host.restart();
    host.poll();
    EXPECT_FALSE(done);
}

// Goal: a host that has run, and is stopped while a caller waits for its turn, is told as one that
// does not run. Method: it is stopped by a handler in front of the caller's work.
TEST_F(GuestLoop, ACallThatBlocksEndsWithTheHostThatIsStoppedBeforeItsTurn) {
    host.poll();
    bool done = false;
    std::latch busy{1};
    std::thread other{[&] {
        busy.wait();
        const auto work = [](bool& mark) -> awaitable<void> {
            mark = true;
            co_return;
        };
        EXPECT_THROW(guest->wait_for(work(done)), std::logic_error);
    }};
    boost::asio::post(host, [&] {
        busy.count_down();
        // Time for the other to wait; one that comes later is told at once.
        std::this_thread::sleep_for(300ms);
        host.stop();
    });
    host.run();
    other.join();
    host.restart();
    host.poll();
    EXPECT_FALSE(done);
}

// Goal: a caller whose work has begun waits for its end, however long that takes.
TEST_F(GuestLoop, ACallThatBlocksWaitsForWhatHasBegun) {
    guest->host_timeout = 2s;
    std::thread other{[&] {
        guest->wait_for(sleep_for(2500ms));
        host.stop();
    }};
    host.run();
    other.join();
}

// Goal: a host that has run is waited for, though one of its handlers takes longer than that.
TEST_F(GuestLoop, ACallThatBlocksWaitsForAHandlerThatTakesLong) {
    guest->host_timeout = 100ms;
    host.poll();
    std::latch busy{1};
    boost::asio::post(host, [&] {
        busy.count_down();
        std::this_thread::sleep_for(500ms);
    });
    std::thread other{[&] {
        busy.wait();
        EXPECT_NO_THROW(guest->wait_for(sleep_for(1ms)));
        host.stop();
    }};
    host.restart();
    const auto open = boost::asio::make_work_guard(host);
    host.run();
    other.join();
}

// Goal: no thread blocks for a guest that has ended. Method: its end comes while another thread
// waits for what never happens, and before a second call.
TEST_F(GuestLoop, ACallThatBlocksEndsWithTheGuest) {
    auto answer = std::async(std::launch::async, [&] {
        try {
            guest->wait_for(wait_for_ever({}));
        } catch (const store_error& error) {
            return error.code();
        }
        return errc::protocol;
    });
    auto asking = [&]() -> awaitable<void> {
        // Behind what the other thread has posted.
        while (answer.wait_for(0s) != std::future_status::ready) {
            guest->begin_ending();
            guest->finish_ending();
            co_await boost::asio::post(boost::asio::use_awaitable);
        }
    };
    boost::asio::co_spawn(host, asking(), boost::asio::detached);
    host.run();
    EXPECT_EQ(answer.get(), errc::closed);
    EXPECT_THROW(guest->wait_for(sleep_for(1ms)), store_error);
}

// Goal: a host that is destroyed takes its guest with it, also with a coroutine of its own that
// awaits one of the guest's.
TEST(GuestOfADyingHost, EndsWithIt) {
    const auto mark = std::make_shared<int>();
    std::shared_ptr<loop> guest;
    {
        boost::asio::io_context host{1};
        guest = loop::guest_of(host);
        auto asking = [](loop& where, frame_mark own) -> awaitable<void> {
            auto work = wait_for_ever(own);
            auto awaiting = await_on(
                where,
                [](awaitable<void> what) -> awaitable<bool> {
                    co_await std::move(what);
                    co_return true;
                }(std::move(work)),
                std::stop_source{}, pawl::net::leave::when_done);
            co_await std::move(awaiting);
        };
        boost::asio::co_spawn(host, asking(*guest, mark), boost::asio::detached);
        host.poll();
        EXPECT_GT(mark.use_count(), 1);
    }
    EXPECT_EQ(mark.use_count(), 1);
    EXPECT_TRUE(guest->has_ended());
    EXPECT_THROW(guest->wait_for(sleep_for(1ms)), store_error);
    loop::leave(std::move(guest));
}

// Goal: a fork is rejected while a guest is there, and its host is as before. Method: names are
// resolved by a service that prepares itself for a fork, and so they are before and after.
TEST_F(GuestLoop, AForkIsRejectedWhileItIsThere) {
    boost::asio::ip::tcp::resolver resolver{host};
    const auto resolves = [&] {
        bool done = false;
        resolver.async_resolve("localhost", "80", [&](auto, auto) {
            done = true;
            host.stop();
        });
        host.restart();
        host.run_for(30s);
        return done;
    };
    EXPECT_TRUE(resolves());
    EXPECT_THROW(host.notify_fork(boost::asio::execution_context::fork_prepare), std::logic_error);
    EXPECT_TRUE(resolves());
    loop::leave(std::move(guest));
    host.notify_fork(boost::asio::execution_context::fork_prepare);
    host.notify_fork(boost::asio::execution_context::fork_parent);
}

}  // namespace
}  // namespace pawl::net
