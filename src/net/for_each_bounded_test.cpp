#include "net/for_each_bounded.hpp"

#include "net/event.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// Steps that end when the test says so, and how.
struct Steps : testing::Test {
    struct work {
        explicit work(std::size_t count) : may_end(count) {}
        std::vector<std::size_t> begun;
        std::size_t under_way = 0, most = 0;
        std::deque<event> may_end;
        std::optional<std::size_t> fails;
    };

    static async<void> take(std::shared_ptr<work> all, std::size_t which) {
        all->begun.push_back(which);
        all->most = std::max(all->most, ++all->under_way);
        auto waiting = all->may_end[which].wait();
        co_await std::move(waiting);
        --all->under_way;
        if (all->fails == which) co_return failure{errc::denied, "step " + std::to_string(which)};
        co_return result<void>{};
    }
    void start(std::size_t at_once, instant deadline = instant::max()) {
        bounded_step step = [all = all](std::size_t which) { return take(all, which); };
        boost::asio::co_spawn(
            context, for_each_bounded(all->may_end.size(), at_once, std::move(step), deadline),
            boost::asio::bind_cancellation_slot(
                stop.slot(), [this](std::exception_ptr, result<void> how) { told = how; }));
        poll();
    }
    void end(std::size_t which) {
        all->may_end[which].set();
        poll();
    }
    void poll() {
        context.restart();
        context.poll();
    }

    boost::asio::io_context context;
    boost::asio::cancellation_signal stop;
    std::shared_ptr<work> all = std::make_shared<work>(4);
    std::optional<result<void>> told;
};

TEST_F(Steps, AreDoneSomeAtATimeAndEndWithTheLast) {
    start(2);
    EXPECT_THAT(all->begun, ElementsAre(0, 1));
    end(1);
    EXPECT_THAT(all->begun, ElementsAre(0, 1, 2));
    end(2);
    end(3);
    EXPECT_FALSE(told);
    end(0);
    ASSERT_TRUE(told);
    EXPECT_TRUE(told->has_value());
    EXPECT_THAT(all->begun, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(all->most, 2U);
}

TEST_F(Steps, ThatAreFewerThanMayBeDoneAtOnceAllBegin) {
    start(9);
    EXPECT_EQ(all->most, 4U);
    for (std::size_t i = 0; i < 4; ++i) end(i);
    EXPECT_TRUE(told && told->has_value());
}

TEST_F(Steps, OfWhichThereAreNoneEndAtOnce) {
    all = std::make_shared<work>(0);
    start(2);
    EXPECT_TRUE(told && told->has_value());
}

TEST_F(Steps, AreNotBegunBehindAFailureAndThoseUnderWayAreWaitedFor) {
    all->fails = 1;
    start(2);
    end(1);
    EXPECT_FALSE(told);
    end(0);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error().detail, "step 1");
    EXPECT_THAT(all->begun, ElementsAre(0, 1));
}

TEST_F(Steps, AreLeftAloneWhenTheTimeIsUp) {
    start(2, lease_clock::now() + 5ms);
    while (!told) context.run_one();
    EXPECT_EQ(told->error().code, errc::unreachable);
    end(0);
    EXPECT_THAT(all->begun, ElementsAre(0, 1));
}

TEST_F(Steps, AreLeftAloneWhenTheCallerGivesUp) {
    start(2);
    stop.emit(boost::asio::cancellation_type::terminal);
    poll();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error().code, errc::unreachable);
    end(0);
    EXPECT_THAT(all->begun, ElementsAre(0, 1));
}

}  // namespace
}  // namespace pawl::net
