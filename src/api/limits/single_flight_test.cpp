#include "api/limits/single_flight.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Looks at `written` as it begins, and answers when it is let.
struct flight_setup {
    awaitable<std::shared_ptr<const int>> read() {
        ++begun;
        const auto seen = std::make_shared<const int>(written);
        auto waiting = may_end.wait();
        co_await std::move(waiting);
        may_end.reset();
        co_return seen;
    }
    void ask() {
        boost::asio::co_spawn(loop, note(), boost::asio::detached);
        turn();
    }
    awaitable<void> note() {
        auto getting = single_flight<int>::get_anew(flight);
        const auto got = co_await std::move(getting);
        answers.push_back(*got);
    }
    void end() {
        may_end.set();
        turn();
    }
    void turn() {
        loop.restart();
        loop.poll();
    }

    boost::asio::io_context loop;
    int written = 1;
    int begun = 0;
    net::event may_end;
    std::vector<int> answers;
    std::shared_ptr<single_flight<int>> flight =
        std::make_shared<single_flight<int>>([this] { return read(); });
};

TEST(SingleFlight, ThoseWhoAskWhileOneIsUnderWayShareTheNext) {
    flight_setup room;
    room.ask();
    room.written = 2;
    room.ask();
    room.ask();
    EXPECT_EQ(room.begun, 1);
    EXPECT_THAT(room.answers, IsEmpty());
    room.end();
    EXPECT_EQ(room.begun, 2);
    EXPECT_THAT(room.answers, ElementsAre(1));
    room.end();
    EXPECT_THAT(room.answers, ElementsAre(1, 2, 2));
    EXPECT_EQ(room.begun, 2);
    // What was made is not kept for those who come later.
    room.written = 3;
    room.ask();
    room.end();
    EXPECT_THAT(room.answers, ElementsAre(1, 2, 2, 3));
}

}  // namespace
}  // namespace pawl::api
