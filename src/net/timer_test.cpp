#include "net/timer.hpp"

#include "net/loop.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using testing::ElementsAre;

struct waiting {
    boost::asio::io_context context;
    std::optional<bool> told;
    instant ended{};

    awaitable<void> wait(timer& on, instant when) {
        auto ending = on.wait_until(when);
        told = co_await std::move(ending);
        ended = lease_clock::now();
    }
    void spawn(timer& on, instant when) {
        boost::asio::co_spawn(context, wait(on, when), boost::asio::detached);
    }
};

TEST(Timer, FiresAtItsInstantAndNotBefore) {
    waiting one;
    timer mine{one.context.get_executor()};
    const auto when = lease_clock::now() + 20ms;
    one.spawn(mine, when);
    one.context.run();
    EXPECT_EQ(one.told, true);
    EXPECT_GE(one.ended, when);
}

TEST(Timer, AnInstantThatHasPassedFiresAtOnce) {
    waiting one;
    timer mine{one.context.get_executor()};
    one.spawn(mine, lease_clock::now() - 1h);
    one.context.run();
    EXPECT_EQ(one.told, true);
}

TEST(Timer, AWaitThatIsCancelledSaysSo) {
    waiting one;
    timer mine{one.context.get_executor()};
    one.spawn(mine, instant::max());
    boost::asio::post(one.context, [&] { mine.cancel(); });
    one.context.run();
    EXPECT_EQ(one.told, false);
}

TEST(Timer, MovesAWaitThatHasBegun) {
    waiting one;
    timer mine{one.context.get_executor()};
    one.spawn(mine, lease_clock::now() + 1h);
    boost::asio::post(one.context, [&] { mine.move(lease_clock::now() + 10ms); });
    one.context.run();
    EXPECT_EQ(one.told, true);
}

TEST(Timer, EndsWithAsiosCancellation) {
    waiting one;
    timer mine{one.context.get_executor()};
    boost::asio::cancellation_signal signal;
    boost::asio::co_spawn(
        one.context, one.wait(mine, instant::max()),
        boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::detached));
    boost::asio::post(one.context, [&] { signal.emit(boost::asio::cancellation_type::terminal); });
    one.context.run();
    EXPECT_EQ(one.told, false);
    EXPECT_FALSE(mine.waits());
}

// A waiter may own the timer that it waits for.
TEST(Timer, ATimerThatIsDestroyedEndsItsWait) {
    waiting one;
    auto mine = std::make_unique<timer>(one.context.get_executor());
    one.spawn(*mine, instant::max());
    boost::asio::post(one.context, [&] { mine.reset(); });
    one.context.run();
    EXPECT_EQ(one.told, false);
}

// Neither leaks nor hangs: the coroutine owns the timer, which keeps the coroutine.
TEST(Timer, AContextThatGoesEndsThoseWhoWait) {
    auto freed = std::make_shared<bool>();
    auto context = std::make_unique<boost::asio::io_context>();
    const auto wait = [](std::shared_ptr<bool> kept) -> awaitable<void> {
        timer mine{co_await boost::asio::this_coro::executor};
        auto waiting = mine.wait_for(1h);
        co_await std::move(waiting);
        *kept = true;
    };
    for (int i = 0; i < 3; ++i) boost::asio::co_spawn(*context, wait(freed), boost::asio::detached);
    context->poll();
    EXPECT_EQ(freed.use_count(), 4);
    context.reset();
    EXPECT_EQ(freed.use_count(), 1);
    EXPECT_FALSE(*freed);
}

TEST(Timer, ManyFireInTheOrderOfTheirTimes) {
    boost::asio::io_context context;
    std::vector<int> order;
    // Of one beginning: however long one takes to start, its time comes in the same place.
    const auto begin = lease_clock::now();
    const auto wait = [&](int which, std::chrono::milliseconds how_long) -> awaitable<void> {
        timer mine{co_await boost::asio::this_coro::executor};
        auto waiting = mine.wait_until(begin + how_long);
        co_await std::move(waiting);
        order.push_back(which);
    };
    boost::asio::co_spawn(context, wait(3, 30ms), boost::asio::detached);
    boost::asio::co_spawn(context, wait(1, 10ms), boost::asio::detached);
    boost::asio::co_spawn(context, wait(2, 20ms), boost::asio::detached);
    context.run();
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

struct turned_by_hand final : simulated_node {
    instant at{};
    instant now() const override { return at; }
    time::wall_instant wall() const override { return time::wall_instant{} + 5min; }
    std::uint64_t random() override { return 7; }
};

TEST(Timer, ASimulatedClockTurnsTimeByHand) {
    boost::asio::io_context context;
    turned_by_hand clock;
    auto& all = timers::of(context);
    all.simulate(&clock);
    std::vector<int> order;
    const auto wait = [&](int which, std::chrono::hours how_long) -> awaitable<void> {
        auto pause = sleep_for(how_long);
        co_await std::move(pause);
        order.push_back(which);
    };
    // The second and the third at one instant: first come, first served.
    boost::asio::co_spawn(context, wait(2, 48h), boost::asio::detached);
    boost::asio::co_spawn(context, wait(3, 48h), boost::asio::detached);
    boost::asio::co_spawn(context, wait(1, 24h), boost::asio::detached);
    context.poll();
    EXPECT_EQ(all.next(), instant{} + 24h);
    while (all.next() != instant::max()) {
        clock.at = all.next();
        all.fire();
        context.restart();
        context.poll();
    }
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
    EXPECT_EQ(all.now(), instant{} + 48h);
    EXPECT_EQ(all.wall(), time::wall_instant{} + 5min);
}

}  // namespace
}  // namespace pawl::net
