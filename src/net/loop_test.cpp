#include "net/loop.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using boost::asio::use_awaitable;

awaitable<int> answer() { co_return 42; }

awaitable<int> later(loop& where, std::chrono::milliseconds delay) {
    boost::asio::steady_timer timer{where.get_executor(), delay};
    co_await timer.async_wait(use_awaitable);
    co_return 7;
}

awaitable<std::thread::id> driving_thread() { co_return std::this_thread::get_id(); }

// The first visit may find the loop's own thread in charge; of many in a row most are driven by the
// caller, which is what makes a blocking call as cheap as a bare client.
TEST(Loop, BlockedCallersDriveItThemselves) {
    loop where;
    int driven_here = 0;
    for (int i = 0; i < 100; ++i)
        driven_here += where.wait_for(driving_thread()) == std::this_thread::get_id() ? 1 : 0;
    EXPECT_GT(driven_here, 10);
}

TEST(Loop, ReturnsTheValueOfACoroutineThatSleeps) {
    loop where;
    EXPECT_EQ(where.wait_for(later(where, 5ms)), 7);
}

TEST(Loop, RethrowsWhatTheCoroutineThrew) {
    loop where;
    auto fails = []() -> awaitable<int> {
        throw std::runtime_error{"no"};
        co_return 0;
    };
    EXPECT_THROW(where.wait_for(fails()), std::runtime_error);
}

// Goal: a blocking call that could never end is told so, also behind a call of another loop. Which
// thread drives that one is chance: it is looked at until it is the one that drives the first.
TEST(Loop, IsDrivenByAThreadThatDrivesAnotherMeanwhile) {
    loop one, other;
    std::thread::id of_one;
    bool seen = false;
    auto innermost = [&]() -> awaitable<bool> {
        if (std::this_thread::get_id() != of_one) co_return false;
        seen = true;
        EXPECT_TRUE(one.is_driving());
        if (!one.is_driving()) co_return false;
        EXPECT_THROW(one.wait_for(answer()), std::logic_error);
        co_return true;
    };
    auto nested = [&]() -> awaitable<bool> {
        of_one = std::this_thread::get_id();
        const bool was_nested = other.wait_for(innermost());
        EXPECT_TRUE(one.is_driving());
        co_return was_nested;
    };
    for (int i = 0; i < 100 && !seen; ++i) one.wait_for(nested());
    EXPECT_TRUE(seen);
    EXPECT_FALSE(one.is_driving());
}

// While a caller waits for a slow answer, another caller's quick one must not wait behind it.
TEST(Loop, ServesManyBlockedCallersAtOnce) {
    loop where;
    std::atomic<int> done{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i)
        callers.emplace_back([&, i] {
            for (int j = 0; j < 200; ++j) {
                if (i % 2 == 0)
                    done += where.wait_for(later(where, 1ms)) == 7;
                else
                    done += where.wait_for(answer()) == 42;
            }
        });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(done, 8 * 200);
}

TEST(Loop, RunsOnItsOwnThreadWhenNoThreadWaits) {
    loop where;
    std::atomic<bool> ran{false};
    boost::asio::post(where.get_executor(), [&] {
        ran = true;
        ran.notify_one();
    });
    ran.wait(false);
    EXPECT_TRUE(ran);
}

// A blocking job that a blocked caller asked for runs on that caller's own thread.
TEST(Loop, BlockingWorkOfABlockedCallerRunsOnItsThread) {
    loop where;
    auto ask = [](loop& on) -> awaitable<std::thread::id> {
        auto job = [] { return std::this_thread::get_id(); };
        co_return co_await on.run_blocking(job);
    };
    int here = 0;
    for (int i = 0; i < 100; ++i) here += where.wait_for(ask(where)) == std::this_thread::get_id();
    EXPECT_GT(here, 10);
}

// Blocking work that ends once the loop has done something else meanwhile.
awaitable<int> block_until_ticked(loop& on) {
    auto ticked = std::make_shared<std::atomic<bool>>(false);
    boost::asio::post(on.get_executor(), [ticked] {
        *ticked = true;
        ticked->notify_one();
    });
    auto job = [ticked] {
        ticked->wait(false);
        return 1;
    };
    co_return co_await on.run_blocking(job);
}

// The loop goes on while blocking work runs, wherever that is.
TEST(Loop, ContinuesWhileABlockingJobRuns) {
    loop where;
    EXPECT_EQ(where.wait_for(block_until_ticked(where)), 1);
}

// A long operation of a blocked caller must not leave the loop's own thread spinning or asleep.
TEST(Loop, AttentionIsPaidWhileACallerRunsAnOperation) {
    loop where;
    const loop::attention waiting{where};
    auto ask = [](loop& on) -> awaitable<int> {
        int ticks = 0;
        for (int i = 0; i < 20; ++i) ticks += co_await block_until_ticked(on);
        co_return ticks;
    };
    EXPECT_EQ(where.wait_for(ask(where)), 20);
}

TEST(Loop, DropsWhatStillRunsWhenItEnds) {
    auto alive = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = alive;
    {
        loop where;
        auto hang = [](loop& on, std::shared_ptr<int> kept) -> awaitable<void> {
            boost::asio::steady_timer never{on.get_executor(), std::chrono::hours{1}};
            co_await never.async_wait(use_awaitable);
            *kept = 2;
        };
        boost::asio::co_spawn(where.get_executor(), hang(where, std::move(alive)),
                              [](std::exception_ptr) {});
        EXPECT_EQ(where.wait_for(answer()), 42);
        EXPECT_FALSE(watch.expired());
    }
    EXPECT_TRUE(watch.expired());
}

// Goal: what a handler throws is no caller's that happens to wait, and leaves no loop behind that
// stands still. Method: it is thrown under a caller that drives.
TEST(LoopDeathTest, AHandlerThatThrowsEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto let_it_throw = [] {
        loop where;
        auto thrown_under_us = []() -> awaitable<int> {
            const auto here = co_await boost::asio::this_coro::executor;
            boost::asio::post(here, [] { throw std::runtime_error{"of a handler"}; });
            boost::asio::steady_timer never{here, std::chrono::hours{1}};
            co_await never.async_wait(use_awaitable);
            co_return 0;
        };
        try {
            where.wait_for(thrown_under_us());
        } catch (const std::runtime_error&) {
            _exit(0);
        }
    };
    EXPECT_DEATH(let_it_throw(), "of a handler");
}

// Goal: a machine that has no thread left costs time and not the process. Method: a process that
// may start none lets the loop's own thread ask for a job that blocks.
TEST(Loop, WhereNoThreadCanStartTheLoopDoesABlockingJobItself) {
    const auto try_it = [] {
        loop where;
        const rlimit none{0, 0};
        if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(3);
        // The limit is not root's.
        if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(4);
        std::latch over{1};
        auto ask = [](loop& on, std::latch& end) -> awaitable<void> {
            auto job = [] { return 42; };
            const auto got = co_await on.run_blocking(job);
            if (got != 42) _exit(5);
            end.count_down();
        };
        boost::asio::co_spawn(where.get_executor(), ask(where, over), boost::asio::detached);
        over.wait();
        _exit(0);
    };
    EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pawl::net
