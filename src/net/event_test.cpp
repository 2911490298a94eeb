#include "net/event.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using testing::ElementsAre;

// A loop on a clock that is turned by hand, so that nothing here takes time.
struct turned_loop final : simulated_node {
    turned_loop() { timers::of(context).simulate(this); }
    instant now() const override { return at; }
    time::wall_instant wall() const override { return {}; }
    std::uint64_t random() override { return 7; }

    void run_ready() {
        context.restart();
        context.poll();
    }
    void turn_to(instant when) {
        at = when;
        timers::of(context).fire();
        run_ready();
    }

    instant at{1h};
    boost::asio::io_context context;
};

struct Event : testing::Test {
    awaitable<void> wait(int who, instant when) {
        auto waiting = heard->wait_until(when);
        const bool woken = co_await std::move(waiting);
        (woken ? woken_ : late_).push_back(who);
    }
    void spawn(int who, instant when = instant::max()) {
        boost::asio::co_spawn(loop.context, wait(who, when), boost::asio::detached);
        loop.run_ready();
    }

    turned_loop loop;
    std::unique_ptr<event> heard = std::make_unique<event>();
    std::vector<int> woken_, late_;
};

TEST_F(Event, ThatIsSetWakesAllWhoWaitAndAllThatCome) {
    spawn(1);
    spawn(2, loop.at + 1min);
    EXPECT_THAT(woken_, ElementsAre());
    heard->set();
    EXPECT_TRUE(heard->is_set());
    spawn(3);
    EXPECT_THAT(woken_, testing::UnorderedElementsAre(1, 2, 3));
    EXPECT_EQ(timers::of(loop.context).next(), instant::max());
}

// What waits never goes on within the call that wakes it, so its setter may still look at it.
TEST_F(Event, WakesInATurnOfItsOwn) {
    spawn(1);
    heard->set();
    EXPECT_THAT(woken_, ElementsAre());
    loop.run_ready();
    EXPECT_THAT(woken_, ElementsAre(1));
}

TEST_F(Event, EndsAWaitWhenItsTimeIsUpAndNotBefore) {
    spawn(1, loop.at + 10s);
    spawn(2, loop.at - 1s);
    loop.turn_to(loop.at + 9s);
    EXPECT_THAT(late_, ElementsAre(2));
    loop.turn_to(loop.at + 1s);
    EXPECT_THAT(late_, ElementsAre(2, 1));
    EXPECT_THAT(woken_, ElementsAre());
}

TEST_F(Event, WaitsForADurationOnTheLoopsClock) {
    std::optional<bool> told;
    const auto waiting = [&](std::chrono::nanoseconds longest) -> awaitable<void> {
        auto wait = heard->wait_for(longest);
        told = co_await std::move(wait);
    };
    boost::asio::co_spawn(loop.context, waiting(std::chrono::nanoseconds::max()),
                          boost::asio::detached);
    loop.run_ready();
    EXPECT_EQ(timers::of(loop.context).next(), instant::max());
    heard->notify_all();
    loop.run_ready();
    EXPECT_EQ(told, true);
    boost::asio::co_spawn(loop.context, waiting(10s), boost::asio::detached);
    loop.run_ready();
    loop.turn_to(loop.at + 10s);
    EXPECT_EQ(told, false);
}

// No waking is lost: neither to a reset nor to a time that was up in the same turn.
TEST_F(Event, AWaiterThatWasWokenStaysWoken) {
    spawn(1);
    spawn(2, loop.at + 1s);
    loop.at += 1s;
    timers::of(loop.context).fire();
    heard->set();
    heard->reset();
    EXPECT_FALSE(heard->is_set());
    loop.run_ready();
    EXPECT_THAT(woken_, testing::UnorderedElementsAre(1, 2));
    spawn(3);
    EXPECT_THAT(late_, ElementsAre());
    EXPECT_THAT(woken_, testing::SizeIs(2));
}

TEST_F(Event, NotifiesThoseWhoWaitAndNoneThatComeLater) {
    spawn(1);
    heard->notify_all();
    EXPECT_FALSE(heard->is_set());
    spawn(2);
    EXPECT_THAT(woken_, ElementsAre(1));
}

TEST_F(Event, EndsWithAsiosCancellation) {
    boost::asio::cancellation_signal signal;
    boost::asio::co_spawn(
        loop.context, wait(1, instant::max()),
        boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::detached));
    loop.run_ready();
    signal.emit(boost::asio::cancellation_type::terminal);
    loop.run_ready();
    EXPECT_THAT(late_, ElementsAre(1));
    heard->set();
}

TEST_F(Event, ThatIsDestroyedEndsItsWaits) {
    spawn(1);
    heard.reset();
    loop.run_ready();
    EXPECT_THAT(late_, ElementsAre(1));
}

// The coroutine that waits may own the event, and may be destroyed with its loop, before the event
// or after it.
TEST(EventAndLoop, AContextThatGoesEndsThoseWhoWait) {
    const auto shared = std::make_shared<event>();
    auto context = std::make_unique<boost::asio::io_context>();
    const auto wait_at_own = [](std::shared_ptr<event> kept) -> awaitable<void> {
        event own;
        auto waiting = own.wait();
        co_await std::move(waiting);
        kept->set();
    };
    const auto wait_at_shared = [](std::shared_ptr<event> kept) -> awaitable<void> {
        auto waiting = kept->wait_for(1h);
        co_await std::move(waiting);
    };
    for (int i = 0; i < 3; ++i) {
        boost::asio::co_spawn(*context, wait_at_own(shared), boost::asio::detached);
        boost::asio::co_spawn(*context, wait_at_shared(shared), boost::asio::detached);
    }
    context->poll();
    EXPECT_EQ(shared.use_count(), 7);
    context.reset();
    EXPECT_EQ(shared.use_count(), 1);
    EXPECT_FALSE(shared->is_set());
    shared->set();
}

}  // namespace
}  // namespace pawl::net
