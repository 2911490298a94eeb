#include "api/limits/fair_semaphore.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A caller whose turn has come is noted, and works until it is told to end.
struct queue_setup {
    explicit queue_setup(const fair_semaphore::rules& bounds)
        : line{std::make_shared<fair_semaphore>(bounds)} {}

    void come(const std::string& user) {
        boost::asio::co_spawn(loop, work(user), boost::asio::detached);
        turn();
    }
    awaitable<void> work(std::string user) {
        auto waiting = fair_semaphore::enter(line, user);
        auto mine = co_await std::move(waiting);
        called.push_back(user);
        turns.push_back(std::move(mine));
    }
    // The one who has worked for longest.
    void end() {
        turns.erase(turns.begin());
        turn();
    }
    void turn() {
        loop.restart();
        loop.poll();
    }
    std::vector<std::string> new_ones() { return std::exchange(called, {}); }

    boost::asio::io_context loop;
    std::shared_ptr<fair_semaphore> line;
    std::vector<fair_semaphore::turn> turns;
    std::vector<std::string> called;
};

TEST(WorkLine, OneUserWorksAtSoManyAndTheOthersAreNotBehindWhatWaits) {
    queue_setup one{{.at_once = 4, .at_once_of_user = 2}};
    for (int i = 0; i < 10; ++i) one.come("flood");
    EXPECT_THAT(one.new_ones(), ElementsAre("flood", "flood"));
    EXPECT_EQ(one.line->waiting(), 8U);
    one.come("alice");
    EXPECT_THAT(one.new_ones(), ElementsAre("alice"));
}

TEST(WorkLine, TheUserWithTheFewestAtWorkIsNext) {
    queue_setup one{{.at_once = 2, .at_once_of_user = 2}};
    for (int i = 0; i < 4; ++i) one.come("flood");
    EXPECT_THAT(one.new_ones(), ElementsAre("flood", "flood"));
    one.come("alice");
    one.come("bob");
    EXPECT_THAT(one.new_ones(), IsEmpty());
    one.end();
    EXPECT_THAT(one.new_ones(), ElementsAre("alice"));
    // The flood has none at work now, and came before bob.
    one.end();
    EXPECT_THAT(one.new_ones(), ElementsAre("flood"));
    one.end();
    EXPECT_THAT(one.new_ones(), ElementsAre("bob"));
}

TEST(WorkLine, OfOneUserTheFirstInIsTheFirstOut) {
    queue_setup one{{.at_once = 1, .at_once_of_user = 1}};
    one.come("alice");
    one.come("alice");
    one.end();
    EXPECT_THAT(one.new_ones(), ElementsAre("alice", "alice"));
    one.end();
    EXPECT_TRUE(one.turns.empty());
    one.come("alice");
    EXPECT_THAT(one.new_ones(), ElementsAre("alice"));
}

TEST(WorkLine, WhatWaitsMayDieWithItsLoop) {
    queue_setup one{{.at_once = 1, .at_once_of_user = 1}};
    one.come("alice");
    one.come("bob");
    EXPECT_THAT(one.new_ones(), ElementsAre("alice"));
}

}  // namespace
}  // namespace pawl::api
