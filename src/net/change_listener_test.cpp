#include "net/change_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using testing::ElementsAre;

// A clock that is turned by hand, so that nothing here takes time.
struct turned_node final : simulated_node {
    instant now() const override { return at; }
    time::wall_instant wall() const override { return {}; }
    std::uint64_t random() override { return 7; }
    instant at{1h};
};

// Connects when the test lets it, and hears what the test says.
class fake_listener final : public change_listener {
public:
    static std::shared_ptr<fake_listener> make(loop& where) {
        auto made = std::make_shared<fake_listener>(where);
        made->attach_to(where);
        return made;
    }
    explicit fake_listener(loop& where) : change_listener{where} {}

    void confirm_all() {
        for (auto& [name, where] : places_) confirm(where);
    }
    void say(const std::string& name) {
        const auto told = places_.find(name);
        if (told != places_.end()) tell(told->second);
    }
    void lose_connection() { lost.set(); }

    std::optional<failure> rejection;
    bool hangs_up = false;
    int attempts = 0;
    std::vector<std::string> came, left;

private:
    async<void> open() override {
        ++attempts;
        if (rejection) co_return *rejection;
        lost.reset();
        co_return result<void>{};
    }
    awaitable<void> listen() override {
        if (hangs_up) co_return;
        auto waiting = lost.wait();
        co_await std::move(waiting);
    }
    void disconnect() override { lost.set(); }
    bool may_pass(const failure& why) const override { return why.code == errc::unreachable; }
    void name_came(const std::string& name, place&) override { came.push_back(name); }
    void name_left(const std::string& name, const place&) override { left.push_back(name); }
    millis confirmation_bound() const override { return 5s; }
    failure unconfirmed() const override { return {errc::unreachable, "not confirmed"}; }

    event lost;
};

struct ChangeListener : testing::Test {
    struct told {
        std::optional<result<void>> confirmed, changed;
    };

    static awaitable<void> wait(std::shared_ptr<fake_listener> on, std::string name,
                                std::shared_ptr<told> into) {
        change_watch mine{std::move(on), std::move(name)};
        auto confirming = mine.confirmed();
        into->confirmed = co_await std::move(confirming);
        if (into->confirmed->has_error()) co_return;
        auto changing = mine.notified();
        into->changed = co_await std::move(changing);
    }
    std::shared_ptr<told> spawn(std::string name) {
        auto into = std::make_shared<told>();
        boost::asio::co_spawn(where.get_executor(), wait(on, std::move(name), into),
                              boost::asio::detached);
        where.turn();
        return into;
    }
    void turn_by(std::chrono::nanoseconds how_far) {
        node.at += how_far;
        where.clocks().fire();
        where.turn();
    }

    turned_node node;
    loop where{node};
    std::shared_ptr<fake_listener> on = fake_listener::make(where);
};

TEST_F(ChangeListener, TellsOnlyThoseWhoWaitForTheName) {
    const auto a = spawn("a"), again = spawn("a"), b = spawn("b");
    EXPECT_EQ(on->attempts, 1);
    EXPECT_FALSE(a->confirmed);
    on->confirm_all();
    where.turn();
    EXPECT_TRUE(a->confirmed && b->confirmed && !a->changed);
    on->say("a");
    where.turn();
    EXPECT_TRUE(a->changed && again->changed && !b->changed);
    EXPECT_THAT(on->came, ElementsAre("a", "b"));
    EXPECT_THAT(on->left, ElementsAre("a"));
}

TEST_F(ChangeListener, WhoComesToAConfirmedNameIsConfirmedAtOnce) {
    const auto first = spawn("a");
    on->confirm_all();
    where.turn();
    EXPECT_TRUE(spawn("a")->confirmed);
}

// What was told may be among what was lost.
TEST_F(ChangeListener, ALostConnectionEndsTheWaitsThatWereConfirmed) {
    const auto a = spawn("a");
    on->confirm_all();
    const auto b = spawn("b");
    on->lose_connection();
    where.turn();
    ASSERT_TRUE(a->changed);
    EXPECT_TRUE(a->changed->has_value());
    EXPECT_FALSE(b->confirmed);
    turn_by(10ms);
    EXPECT_EQ(on->attempts, 2);
}

TEST_F(ChangeListener, AConnectionThatHasLastedIsOpenedAgainAtOnce) {
    const auto a = spawn("a"), b = spawn("b");
    turn_by(5s);
    const auto late = spawn("late");
    on->lose_connection();
    where.turn();
    EXPECT_EQ(on->attempts, 2);
}

// Goal: no loop at the speed of the network. Method: a server that takes connections, and ends each
// at once.
TEST_F(ChangeListener, ConnectionsThatEndAtOnceAreOpenedAgainLaterAndLater) {
    on->hangs_up = true;
    const auto a = spawn("a");
    EXPECT_EQ(on->attempts, 1);
    for (int i = 0; i < 100; ++i) turn_by(10ms);
    EXPECT_GE(on->attempts, 5);
    EXPECT_LE(on->attempts, 10);
}

TEST_F(ChangeListener, TriesAgainLaterAndTellsInTheEndWhatWasWrong) {
    on->rejection = failure{errc::unreachable, "no server there"};
    const auto a = spawn("a");
    EXPECT_EQ(on->attempts, 1);
    turn_by(10ms);
    EXPECT_EQ(on->attempts, 2);
    EXPECT_FALSE(a->confirmed);
    turn_by(5s);
    ASSERT_TRUE(a->confirmed);
    EXPECT_EQ(a->confirmed->error().detail, "no server there");
}

TEST_F(ChangeListener, WhatDoesNotPassIsToldAtOnce) {
    on->rejection = failure{errc::denied, "a wrong password"};
    const auto a = spawn("a");
    ASSERT_TRUE(a->confirmed);
    EXPECT_EQ(a->confirmed->error().detail, "a wrong password");
}

TEST_F(ChangeListener, AWaitThatIsNotConfirmedInTimeFails) {
    const auto a = spawn("a");
    turn_by(5s);
    ASSERT_TRUE(a->confirmed);
    EXPECT_EQ(a->confirmed->error().detail, "not confirmed");
}

TEST_F(ChangeListener, ConnectsNoMoreOnceItIsClosed) {
    const auto a = spawn("a");
    on->confirm_all();
    where.turn();
    on->close();
    where.turn();
    EXPECT_TRUE(a->changed);
    spawn("b");
    EXPECT_EQ(on->attempts, 1);
}

}  // namespace
}  // namespace pawl::net
