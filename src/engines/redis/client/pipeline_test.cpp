#include "engines/redis/client/pipeline.hpp"

#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/redis_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>

namespace pawl::redis {
namespace {

using namespace std::chrono_literals;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::redis_server;

std::string echo(int number) {
    std::string command;
    command_writer{command, 2}.add("ECHO").add(std::int64_t{number});
    return command;
}

boost::asio::awaitable<answer> ask(std::shared_ptr<pipeline> link, std::string command,
                                   std::size_t count, store_down unconnected = store_down::retry,
                                   instant deadline = instant::max()) {
    co_return co_await link->ask(command, count, deadline, unconnected);
}

// What came of many questions, each asked by a coroutine of its own.
class questions {
public:
    questions(std::uint16_t port, pipeline_bounds bounds, std::optional<millis> quarantine = {},
              millis timeout = 5s) {
        auto settings = std::make_shared<redis_settings>();
        settings->port = port;
        settings->common.timeout = timeout;
        settings->common.quarantine = quarantine;
        link_ = pipeline::make(loop_, settings, bounds);
    }
    ~questions() { link_->close_from_anywhere(); }

    void ask_all(int from, int to) {
        boost::asio::post(loop_.get_executor(), [this, from, to] {
            for (int i = from; i < to; ++i)
                boost::asio::co_spawn(loop_.get_executor(), ask(link_, echo(i), 1),
                                      [this, i](std::exception_ptr, answer got) { note(i, got); });
        });
    }
    // Odd ones wait for no connection.
    void ask_in_two_ways(int from, int to) {
        boost::asio::post(loop_.get_executor(), [this, from, to] {
            for (int i = from; i < to; ++i)
                boost::asio::co_spawn(
                    loop_.get_executor(),
                    ask(link_, echo(i), 1, i % 2 == 1 ? store_down::fail : store_down::retry),
                    [this, i](std::exception_ptr, answer got) { note(i, got); });
        });
    }
    void ask_and_cancel(int number) {
        boost::asio::post(loop_.get_executor(), [this, number] {
            auto gives_up = std::make_shared<boost::asio::cancellation_signal>();
            boost::asio::co_spawn(
                loop_.get_executor(), ask(link_, echo(number), 1),
                boost::asio::bind_cancellation_slot(
                    gives_up->slot(), [this, number, gives_up](std::exception_ptr, answer got) {
                        note(number, got);
                    }));
            boost::asio::post(loop_.get_executor(), [gives_up] {
                gives_up->emit(boost::asio::cancellation_type::terminal);
            });
        });
    }
    void ask_until(int number, instant deadline) {
        boost::asio::post(loop_.get_executor(), [this, number, deadline] {
            boost::asio::co_spawn(
                loop_.get_executor(), ask(link_, echo(number), 1, store_down::retry, deadline),
                [this, number](std::exception_ptr, answer got) { note(number, got); });
        });
    }
    // Waits until so many have been answered, and gives back what was said to each.
    std::map<int, std::string> answers(std::size_t count) {
        std::unique_lock lock{mutex_};
        const auto enough = [&] { return answers_.size() >= count; };
        EXPECT_TRUE(changed_.wait_for(lock, 40s, enough));
        return answers_;
    }
    answer one(const std::string& command, std::size_t count) {
        return loop_.wait_for(ask(link_, command, count));
    }

private:
    void note(int number, const answer& got) {
        const std::lock_guard lock{mutex_};
        answers_[number] = got.has_value() ? got->text : std::string{name_of(got.error().code)};
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<int, std::string> answers_;  // under mutex_
    net::loop loop_;
    std::shared_ptr<pipeline> link_;
};

TEST(Pipeline, EveryCallerGetsItsOwnAnswer) {
    redis_server server;
    questions asked{server.port(), {}};
    asked.ask_all(0, 1000);
    for (const auto& [number, said] : asked.answers(1000)) EXPECT_EQ(said, std::to_string(number));
}

// Goal: the depth is bounded and no request starves behind the bound.
TEST(Pipeline, NoMoreThanItsDepthIsInFlight) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    questions asked{proxy.port(),
                    {.requests_max = 1000, .unsent_max = 1u << 20, .in_flight_max = 4}};
    EXPECT_EQ(asked.one(echo(7), 1)->text, "7");
    proxy.stall(direction::to_server);
    asked.ask_all(0, 100);
    const auto four = 4 * echo(0).size();
    EXPECT_TRUE(proxy.wait_for_held_bytes(direction::to_server, echo(0).size()));
    EXPECT_LE(proxy.held_bytes(direction::to_server), four);
    proxy.resume(direction::to_server);
    for (const auto& [number, said] : asked.answers(100)) EXPECT_EQ(said, std::to_string(number));
}

TEST(Pipeline, ARequestAboveTheBoundOfTheQueueIsRejectedAsNeverSent) {
    redis_server server;
    questions asked{server.port(), {.requests_max = 4, .unsent_max = 1u << 20, .in_flight_max = 4}};
    EXPECT_EQ(asked.one(echo(7), 1)->text, "7");
    server.freeze();
    asked.ask_all(0, 6);
    const auto rejected = asked.answers(2);
    EXPECT_EQ(rejected.at(4), "unreachable");
    EXPECT_EQ(rejected.at(5), "unreachable");
    server.thaw();
    EXPECT_EQ(asked.answers(6).at(3), "3");
}

// Goal: a caller that gives up leaves its place in the queue, so that the answers behind it still
// find their handlers. Method: it gives up while every answer is held back.
TEST(Pipeline, TheAnswersBehindACallerThatGaveUpStayInOrder) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    questions asked{proxy.port(), {}};
    EXPECT_EQ(asked.one(echo(7), 1)->text, "7");
    proxy.stall(direction::to_client);
    asked.ask_and_cancel(0);
    EXPECT_EQ(asked.answers(1).at(0), "outcome_unknown");
    asked.ask_all(1, 10);
    proxy.resume(direction::to_client);
    const auto said = asked.answers(10);
    for (int i = 1; i < 10; ++i) EXPECT_EQ(said.at(i), std::to_string(i));
}

// Goal: one that is in a hurry ends nothing for the others, who share its connection. Method: it is
// the first in the queue, and its time is over, before it is asked or after, while the answers of
// all are held back.
TEST(Pipeline, WhoIsInAHurryLeavesTheConnectionToTheOthers) {
    for (const auto early : {millis{-50}, millis{50}}) {
        redis_server server;
        tcp_proxy proxy{server.port()};
        questions asked{proxy.port(), {}, {}, 30s};
        EXPECT_EQ(asked.one(echo(7), 1)->text, "7");
        proxy.stall(direction::to_client);
        asked.ask_until(0, lease_clock::now() + early);
        asked.ask_all(1, 10);
        EXPECT_EQ(asked.answers(1).at(0), "outcome_unknown");
        proxy.resume(direction::to_client);
        const auto said = asked.answers(10);
        for (int i = 1; i < 10; ++i) EXPECT_EQ(said.at(i), std::to_string(i));
    }
}

// Goal: who does not wait for a connection is told at once that there is none, and leaves nothing
// behind that would be sent later. Method: both kinds among one another, and a server that comes.
TEST(Pipeline, WhoWaitsForNoConnectionIsToldWithTheFirstAttempt) {
    redis_server server;
    const auto port = server.port();
    server.crash();
    questions asked{port, {}, {}, 30s};
    const auto began = lease_clock::now();
    asked.ask_in_two_ways(0, 7);
    auto said = asked.answers(3);
    EXPECT_LT(lease_clock::now() - began, 15s);
    for (const int odd : {1, 3, 5}) EXPECT_EQ(said.at(odd), "unreachable");
    EXPECT_EQ(said.size(), 3U);
    server.start();
    said = asked.answers(7);
    for (const int even : {0, 2, 4, 6}) EXPECT_EQ(said.at(even), std::to_string(even));
}

TEST(Pipeline, SeveralCommandsOfOneCallerAreOneAnswer) {
    redis_server server;
    questions asked{server.port(), {}};
    const auto got = asked.one(echo(1) + echo(2), 2);
    ASSERT_TRUE(got.has_value());
    ASSERT_EQ(got->elements.size(), 2u);
    EXPECT_EQ(got->elements[1].text, "2");
}

// Goal: what was never sent had no effect and goes out on the next connection; what was sent is
// unknown. Under quarantine the rest is rejected instead, as it names a server that is gone.
TEST(Pipeline, ALostConnectionTellsTheSentFromTheUnsent) {
    const pipeline_bounds narrow{.requests_max = 100, .unsent_max = 1u << 20, .in_flight_max = 2};
    for (const auto& [quarantine, rest] :
         {std::pair<std::optional<millis>, std::string>{std::nullopt, "2"},
          std::pair<std::optional<millis>, std::string>{1s, "unreachable"}}) {
        redis_server server;
        tcp_proxy proxy{server.port()};
        questions asked{proxy.port(), narrow, quarantine};
        EXPECT_EQ(asked.one(echo(7), 1)->text, "7");
        proxy.stall(direction::to_server);
        asked.ask_all(0, 3);
        EXPECT_TRUE(proxy.wait_for_held_bytes(direction::to_server, 1));
        proxy.cut();
        proxy.resume(direction::to_server);
        const auto said = asked.answers(3);
        EXPECT_EQ(said.at(0), "outcome_unknown");
        EXPECT_EQ(said.at(2), rest);
    }
}

// Answers late at first, with a server that is silent, and then with one that is well.
class late_locator final : public locator {
public:
    late_locator(std::uint16_t silent, std::uint16_t well) : silent_{silent}, well_{well} {}
    async<std::shared_ptr<const redis_settings>> locate(instant deadline) override {
        auto found = std::make_shared<redis_settings>();
        found->port = ++asked_ == 1 ? silent_ : well_;
        if (asked_ == 1) co_await net::sleep_for(deadline - lease_clock::now() + 100ms);
        co_return std::shared_ptr<const redis_settings>{std::move(found)};
    }

private:
    const std::uint16_t silent_, well_;
    int asked_ = 0;
};

// Goal: no attempt to connect is without an end. Method: its deadline is over before the sentinels
// have answered.
TEST(Pipeline, AServerThatWasFoundTooLateIsNotWaitedFor) {
    redis_server server;
    tcp_proxy silent{server.port()};
    silent.stall(direction::to_client);
    net::loop loop;
    auto settings = std::make_shared<redis_settings>();
    settings->common.timeout = 300ms;
    const auto link = pipeline::make(loop, settings, {},
                                     std::make_shared<late_locator>(silent.port(), server.port()));
    const auto give_up = lease_clock::now() + 10s;
    auto said = loop.wait_for(ask(link, echo(7), 1));
    while (said.has_error() && lease_clock::now() < give_up)
        said = loop.wait_for(ask(link, echo(7), 1));
    EXPECT_TRUE(said.has_value() && said->text == "7");
    link->close_from_anywhere();
}

}  // namespace
}  // namespace pawl::redis
