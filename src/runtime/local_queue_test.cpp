#include "runtime/local_queue.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

class LocalQueue : public testing::Test {
protected:
    // One more in line for the key. What becomes of him is kept in `turns`.
    std::shared_ptr<queue_waiter> stand_in_line() {
        auto place = std::make_shared<queue_waiter>();
        boost::asio::co_spawn(context, wait_for_turn(place), boost::asio::detached);
        context.poll();
        return place;
    }

    boost::asio::io_context context;
    std::shared_ptr<local_queue> queue = std::make_shared<local_queue>();
    std::vector<ticket> turns;
    int ended = 0;

private:
    boost::asio::awaitable<void> wait_for_turn(std::shared_ptr<queue_waiter> place) {
        auto entering = queue->enter("k", 1h, std::move(place));
        auto turn = co_await std::move(entering);
        if (turn) turns.push_back(std::move(*turn));
        ++ended;
    }
};

TEST_F(LocalQueue, TheTurnGoesToTheNextInLine) {
    auto first = queue->try_enter("k");
    ASSERT_TRUE(first);
    stand_in_line();
    stand_in_line();
    EXPECT_FALSE(queue->try_enter("k"));
    first->give_up();
    context.poll();
    EXPECT_EQ(turns.size(), 1u);
    turns.clear();
    context.poll();
    EXPECT_EQ(turns.size(), 1u);
    turns.clear();
    EXPECT_TRUE(queue->try_enter("k"));
}

// Goal: no caller that has gone keeps a key closed for this process. Method: the turn comes in
// between a place is called off and the one that stood there hears of it.
TEST_F(LocalQueue, WhoIsCalledOffAsTheTurnComesLeavesTheKeyOpen) {
    auto first = queue->try_enter("k");
    const auto place = stand_in_line();
    place->called_off.set();
    first->give_up();
    context.poll();
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(turns.empty());
    EXPECT_TRUE(queue->try_enter("k"));
}

TEST_F(LocalQueue, WhoIsCalledOffIsPassedOver) {
    auto first = queue->try_enter("k");
    const auto gone = stand_in_line();
    stand_in_line();
    gone->called_off.set();
    first->give_up();
    context.poll();
    EXPECT_EQ(turns.size(), 1u);
    EXPECT_EQ(ended, 2);
    turns.clear();
    EXPECT_TRUE(queue->try_enter("k"));
}

}  // namespace
}  // namespace pawl::runtime
