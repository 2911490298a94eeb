#include "agent/user_directory.hpp"

#include "test_support/faults/held_users.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace pawl::agent {
namespace {

using testing_faults::held_users;

boost::asio::awaitable<int> ask_many(const user_directory& users, int count) {
    int wrong = 0;
    net::event never;
    for (int turn = 0; turn < count; ++turn) {
        auto asking = users.find(turn % 2 == 0 ? "root" : "nobody-of-this-name", "", never);
        const auto found = co_await std::move(asking);
        if (found.has_value() != (turn % 2 == 0)) ++wrong;
    }
    co_return wrong;
}

boost::asio::awaitable<void> count_into(std::shared_ptr<int> wrong, std::shared_ptr<int> left,
                                        const user_directory& users) {
    auto asking = ask_many(users, 10);
    *wrong += co_await std::move(asking);
    --*left;
}

boost::asio::awaitable<int> ask_at_once(const user_directory& users, int callers) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto wrong = std::make_shared<int>(0);
    const auto left = std::make_shared<int>(callers);
    for (int turn = 0; turn < callers; ++turn) {
        auto one = count_into(wrong, left, users);
        boost::asio::co_spawn(executor, std::move(one), boost::asio::detached);
    }
    while (*left > 0) {
        auto token = boost::asio::use_awaitable;
        co_await boost::asio::post(executor, token);
    }
    co_return *wrong;
}

// Each of many who ask at the same moment gets the answer to his own question, found or not.
TEST(UserDirectory, ManyWhoAskAtOnceGetTheirOwnAnswers) {
    net::loop loop;
    const user_directory users{loop};
    auto work = ask_at_once(users, 50);
    EXPECT_EQ(loop.wait_for(std::move(work)), 0);
}

// What is remembered is told without leaving the loop: the second answer is there in the same turn,
// which a coroutine can see from work that it has queued before.
TEST(UserDirectory, ASecondQuestionIsAnsweredFromMemory) {
    net::loop loop;
    const user_directory users{loop};
    auto first = ask_many(users, 1);
    loop.wait_for(std::move(first));
    bool other_work_ran = false;
    struct second {
        static boost::asio::awaitable<bool> ask(const user_directory& users, bool& other) {
            const auto executor = co_await boost::asio::this_coro::executor;
            boost::asio::post(executor, [&other] { other = true; });
            net::event never;
            auto asking = users.find("root", "", never);
            const auto found = co_await std::move(asking);
            co_return found.has_value() && !other;
        }
    };
    auto work = second::ask(users, other_work_ran);
    EXPECT_TRUE(loop.wait_for(std::move(work)));
}

// Goal: a user who hangs holds up no other, and no end. Method: one is asked for in vain, then
// another, and the loop ends before the first is answered.
TEST(UserDirectory, AUserWhoHangsHoldsUpNoOther) {
    held_users::instance().hang();
    {
        net::loop loop;
        const user_directory users{loop};
        struct both {
            static boost::asio::awaitable<bool> ask(const user_directory& users) {
                net::event called_off, never;
                called_off.set();
                auto in_vain = users.find(held_users::hung, "", called_off);
                const auto none = co_await std::move(in_vain);
                auto asking = users.find("root", "", never);
                const auto found = co_await std::move(asking);
                co_return none.has_error() && !none.error().answered && found.has_value();
            }
        };
        auto work = both::ask(users);
        EXPECT_TRUE(loop.wait_for(std::move(work)));
    }
    held_users::instance().go_on();
}

}  // namespace
}  // namespace pawl::agent
