// The connection that a session drives on its own loop: names, breaks at bad moments, full sockets,
// and nothing to do for long.
#include "engines/zookeeper/client/session.hpp"
#include "engines/zookeeper/store/zookeeper_fixture.hpp"
#include "net/timer.hpp"
#include "test_support/faults/known_names.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <filesystem>
#include <future>

namespace pawl::zookeeper {
namespace {

using conformance::fresh_claim;
using conformance::lease_of;
using testing_faults::known_names;
using testing_faults::tcp_proxy;
using testing_servers::zookeeper_options;
using testing_servers::zookeeper_server;

std::size_t open_files() {
    const std::filesystem::directory_iterator files{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// A session on a loop of its own.
class lone_session {
public:
    lone_session(const zookeeper_settings& settings, millis timeout)
        : settings_{std::make_shared<const zookeeper_settings>(settings)},
          session_{session::make(loop_, settings_, timeout)} {}
    ~lone_session() { session_->close_from_anywhere(); }
    lone_session(const lone_session&) = delete;
    lone_session& operator=(const lone_session&) = delete;

    session& operator*() { return *session_; }
    session* operator->() { return session_.get(); }
    net::loop& loop() { return loop_; }

    bool is_ready() {
        return loop_.wait_for(session_->ready(lease_clock::now() + 10s)).has_value();
    }
    result<answer> ask(request wanted) {
        return loop_.wait_for(session_->ask(std::move(wanted), lease_clock::now() + 10s));
    }

private:
    const std::shared_ptr<const zookeeper_settings> settings_;
    net::loop loop_;
    std::shared_ptr<session> session_;
};

class ZookeeperConnection : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        zookeeper_options with;
        with.session_max = 60s;
        server_ = std::make_unique<zookeeper_server>(with);
    }
    static void TearDownTestSuite() { server_.reset(); }

    static bool renews(conformance::client& mine, fence_token token) {
        const auto got = mine.renew(std::vector<held_lease>{lease_of("key", token, 20s)});
        return got.has_value() && got->front() == renewal::renewed;
    }

    static inline std::unique_ptr<zookeeper_server> server_;
};

// ---- Names

// Goal: a name that leads elsewhere is followed, within the session. Method: the place that it was
// at rejects, and the other one is told of from then on.
TEST_F(ZookeeperConnection, ANameThatMovesIsFollowedByTheSession) {
    auto& names = known_names::instance();
    names.set("moving.test", "127.0.0.1");
    tcp_proxy here{server_->port()};
    tcp_proxy there{server_->port(), "127.0.0.2", here.port()};
    auto settings = on_port(here.port());
    settings.servers.front().host = "moving.test";
    settings.common.name_space = "moving";
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key", 20s));
    EXPECT_EQ(there.connections(), 0);
    here.reject();
    names.set("moving.test", "127.0.0.2");
    until([&] { return renews(mine, token); });
    EXPECT_GT(there.connections(), 0);
}

// Goal: a resolver that does not answer holds no caller up. Method: it hangs while the session has
// no connection; the loop does other things meanwhile, and the session comes back without it.
TEST_F(ZookeeperConnection, AResolverThatHangsHoldsUpNoRequest) {
    auto& names = known_names::instance();
    names.set("slow.test", "127.0.0.1");
    tcp_proxy proxy{server_->port()};
    auto settings = on_port(proxy.port());
    settings.servers.front().host = "slow.test";
    lone_session mine{settings, 20s};
    ASSERT_TRUE(mine.is_ready());
    const auto id = mine->id();
    names.hang("slow.test");
    proxy.reject();
    ASSERT_TRUE(names.wait_for_question("slow.test"));
    const auto begun = lease_clock::now();
    struct short_pause {
        static boost::asio::awaitable<bool> take() {
            auto waiting = net::sleep_for(1ms);
            co_await std::move(waiting);
            co_return true;
        }
    };
    EXPECT_TRUE(mine.loop().wait_for(short_pause::take()));
    proxy.accept_again();
    EXPECT_TRUE(mine.is_ready());
    EXPECT_LT(lease_clock::now() - begun, 30s);
    EXPECT_EQ(mine->id(), id);
    names.go_on();
}

// ---- Breaks

// Asks when the connection is gone, and the loop has not heard of it.
boost::asio::awaitable<std::vector<result<answer>>> ask_over_a_broken_connection(session& through,
                                                                                 tcp_proxy& proxy) {
    proxy.cut();
    std::vector<result<answer>> answers;
    for (int i = 0; i < 3; ++i) {
        request write{request::kind::set, "/", std::to_string(i)};
        auto asking = through.ask(std::move(write), lease_clock::now() + 40s);
        answers.push_back(co_await std::move(asking));
    }
    co_return answers;
}

// Goal: a request that cannot be written is told as unknown at once, and is in no way later.
TEST_F(ZookeeperConnection, ARequestThatCannotBeWrittenIsUnknownAndTheSessionContinues) {
    tcp_proxy proxy{server_->port()};
    lone_session mine{on_port(proxy.port(), 10s), 20s};
    ASSERT_TRUE(mine.is_ready());
    const auto id = mine->id();
    for (int round = 0; round < 10; ++round) {
        const auto asked = lease_clock::now();
        const auto answers = mine.loop().wait_for(ask_over_a_broken_connection(*mine, proxy));
        expect_failure(answers[0], errc::outcome_unknown, "connection loss");
        EXPECT_TRUE(answers[1].has_value()) << answers[1].error().detail;
        EXPECT_TRUE(answers[2].has_value()) << answers[2].error().detail;
        EXPECT_LT(lease_clock::now() - asked, 20s);
    }
    EXPECT_EQ(mine->id(), id);
}

// Goal: connections that come and go leave no file behind, and none is mistaken for another whose
// number it has. Method: many are cut, each at another moment.
TEST_F(ZookeeperConnection, ConnectionsThatBreakLeaveNoFileBehind) {
    tcp_proxy proxy{server_->port()};
    lone_session mine{on_port(proxy.port(), 10s), 20s};
    ASSERT_TRUE(mine.is_ready());
    const auto id = mine->id();
    const auto before = open_files();
    for (int round = 0; round < 50; ++round) {
        proxy.cut();
        until([&] { return mine.ask(request{request::kind::exists, "/"}).has_value(); });
    }
    EXPECT_EQ(mine->id(), id);
    // The proxy's own may still be closing.
    until([&] { return open_files() <= before; });
}

// Goal: a session moves on from a server that is gone, also where there are two: the C client
// passes two addresses on. Method: whichever of two it is on rejects, in turn.
TEST_F(ZookeeperConnection, OfTwoServersTheOtherTakesTheSessionOver) {
    tcp_proxy a{server_->port()}, b{server_->port()};
    auto settings = on_port(a.port(), 2s);
    settings.servers.push_back({"127.0.0.1", b.port()});
    lone_session mine{settings, 20s};
    ASSERT_TRUE(mine.is_ready());
    const auto id = mine->id();
    for (int round = 0; round < 4; ++round) {
        auto& gone = round % 2 == 0 ? a : b;
        gone.reject();
        until([&] { return mine.ask(request{request::kind::exists, "/"}).has_value(); });
        EXPECT_EQ(mine->id(), id);
        gone.accept_again();
    }
}

// ---- Much and nothing

// Goal: what the socket does not take at once is written when it does. Method: the server stands
// still while far more is asked than sockets hold.
TEST_F(ZookeeperConnection, WhatTheSocketDoesNotTakeIsWrittenLater) {
    constexpr int many = 60;
    lone_session mine{on_port(server_->port(), 30s), 40s};
    ASSERT_TRUE(mine.is_ready());
    const auto made = mine.ask(request{request::kind::create, "/large"});
    ASSERT_TRUE(made.has_value());
    server_->freeze();
    std::vector<std::future<result<answer>>> answers;
    for (int i = 0; i < many; ++i) {
        request write{request::kind::set, "/large", std::string(400'000, 'x')};
        answers.push_back(boost::asio::co_spawn(
            mine.loop().get_executor(), mine->ask(std::move(write), lease_clock::now() + 30s),
            boost::asio::use_future));
    }
    EXPECT_EQ(answers.back().wait_for(300ms), std::future_status::timeout);
    server_->thaw();
    for (auto& one : answers) {
        const auto got = one.get();
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_TRUE(got->done());
    }
    EXPECT_EQ(mine.ask(request{request::kind::exists, "/large"})->stat.version, many);
}

// Goal: a session lives on while no caller asks it anything, whether a caller drives its loop or
// none. Method: for longer than its timeout each.
TEST(ZookeeperIdleness, AnIdleSessionLivesOn) {
    zookeeper_options with;
    with.tick = 100ms;
    with.session_min = 200ms;
    with.session_max = 1000ms;
    zookeeper_server server{with};
    struct pause {
        static boost::asio::awaitable<bool> take() {
            auto waiting = net::sleep_for(2500ms);
            co_await std::move(waiting);
            co_return true;
        }
    };
    // A machine that stands still for most of the timeout ends a session too, but not each time.
    bool lived_on = false;
    for (int turn = 0; turn < 3 && !lived_on; ++turn) {
        lone_session mine{on_port(server.port()), 1000ms};
        ASSERT_TRUE(mine.is_ready());
        const auto id = mine->id();
        EXPECT_TRUE(mine.loop().wait_for(pause::take()));
        auto undriven = boost::asio::co_spawn(mine.loop().get_executor(), pause::take(),
                                              boost::asio::use_future);
        EXPECT_TRUE(undriven.get());
        lived_on = mine.ask(request{request::kind::exists, "/"}).has_value() && mine->id() == id;
    }
    EXPECT_TRUE(lived_on);
}

}  // namespace
}  // namespace pawl::zookeeper
