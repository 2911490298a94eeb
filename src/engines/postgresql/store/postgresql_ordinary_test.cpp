// The ordinary grant and release, which a user who may write the table sends without a function:
// that they are sent, and that they are right where the session, the rights or the row are not
// ordinary.
#include "engines/postgresql/store/known_keys.hpp"
#include "engines/postgresql/store/postgresql_fixture.hpp"
#include "engines/postgresql/store/store_layout.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::postgresql {
namespace {

using testing_faults::direction;
using testing_faults::tcp_proxy;

void pair(client& through, const std::string& key) {
    EXPECT_TRUE(yes(through.release(key, through.granted(fresh_claim(key)))));
}

// How often a function was called by sessions that have ended.
std::string calls(const postgresql_server& server, const std::string& function) {
    return server.ask(
        "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = '" + function +
        "'");
}

postgresql_settings as_locker(const postgresql_server& server) {
    server.ask(layout_script("pawl"));
    server.ask(
        "CREATE ROLE locker LOGIN; GRANT USAGE ON SCHEMA pawl TO locker; "
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO locker");
    auto settings = on_port(server.port(), 5s);
    set_keyword(settings.servers, "user", "locker");
    return settings;
}

TEST(KnownKeys, AKeyIsKnownUntilItIsForgotten) {
    known_keys known;
    EXPECT_FALSE(known.has("key"));
    known.add("key");
    EXPECT_TRUE(known.has("key"));
    EXPECT_FALSE(known.has("other"));
    known.remove("key");
    EXPECT_FALSE(known.has("key"));
}

// Goal: the owner's ordinary pairs call no function, and those of a user who has only what the
// documentation grants call two. Method: the server's own counts.
TEST(PostgresqlOrdinary, OnlyWhoMayWriteTheTableDoesWithoutFunctions) {
    postgresql_options options;
    options.more = {"track_functions=all"};
    postgresql_server server{options};
    const auto five_pairs = [&](const postgresql_settings& settings) {
        {
            auto mine = open(settings);
            for (int i = 0; i < 5; ++i) pair(mine, "key");
        }
        until([&] { return sessions(server) == 0; });
    };
    const auto locker = as_locker(server);
    five_pairs(on_port(server.port(), 5s));
    EXPECT_EQ(calls(server, "acquire_v1"), "1") << "of a key that is not known yet";
    EXPECT_EQ(calls(server, "release_v1"), "0");
    five_pairs(locker);
    EXPECT_EQ(calls(server, "acquire_v1"), "6");
    EXPECT_EQ(calls(server, "release_v1"), "5");
}

// Goal: a first call that fails in another way than by a lost statement leaves prepared statements
// on, without which nothing goes without functions. Method: the first call finds the wrong
// isolation level; the server's own counts.
TEST(PostgresqlOrdinary, AFirstCallThatFailsLeavesStatementsPrepared) {
    postgresql_options options;
    options.more = {"track_functions=all"};
    postgresql_server server{options};
    server.ask("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    {
        auto mine = open(on_port(server.port(), 5s));
        for (int i = 0; i < 5; ++i) pair(mine, "key");
    }
    until([&] { return sessions(server) == 0; });
    EXPECT_EQ(calls(server, "acquire_v1"), "1") << "of a key that is not known yet";
    EXPECT_EQ(calls(server, "release_v1"), "0");
}

// Goal: nor does a preparation that fails turn them off with what was sent behind it. Method: the
// schema goes, and many ask at once for what was not asked before; the server's own counts.
TEST(PostgresqlOrdinary, ASchemaThatGoesLeavesStatementsPrepared) {
    postgresql_options options;
    options.more = {"track_functions=all"};
    postgresql_server server{options};
    auto settings = on_port(server.port(), 10s);
    settings.connections = 1;
    {
        net::loop* where = nullptr;
        std::shared_ptr<lease_store> store;
        client mine{[&](net::loop& on) {
            where = &on;
            return store = make_postgresql_store(on, settings);
        }};
        pair(mine, "key");
        server.ask("DROP SCHEMA pawl CASCADE");
        std::vector<std::promise<bool>> told(16);
        boost::asio::post(where->get_executor(), [&] {
            for (auto& each : told)
                boost::asio::co_spawn(
                    where->get_executor(), store->inspect("key"),
                    [&each](std::exception_ptr, result<std::optional<record>> got) {
                        each.set_value(got.has_value());
                    });
        });
        for (auto& each : told) EXPECT_TRUE(each.get_future().get());
        store.reset();
        for (int i = 0; i < 5; ++i) pair(mine, "key");
    }
    until([&] { return sessions(server) == 0; });
    EXPECT_EQ(calls(server, "release_v1"), "0");
}

// Goal: rights that are taken away under a store cost it nothing. Method: a user who may write the
// table for a while.
TEST(PostgresqlOrdinary, RightsMayGoAtAnyTime) {
    postgresql_server server;
    const auto settings = as_locker(server);
    server.ask("GRANT SELECT, UPDATE ON pawl.lease TO locker");
    auto mine = open(settings);
    pair(mine, "key");
    pair(mine, "key");
    const auto token = mine.granted(fresh_claim("held", 60s));
    server.ask("REVOKE ALL ON pawl.lease FROM locker");
    EXPECT_TRUE(yes(mine.release("held", token)));
    pair(mine, "key");
    server.ask("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM locker");
    expect_failure(mine.acquire(fresh_claim("key")), errc::denied, "permission denied");
}

// Goal: what was known may have changed since. Method: another client holds, releases, withdraws
// and purges a key that this one knows as free.
TEST(PostgresqlOrdinary, AKeyThatIsKnownAsFreeMayBeAnything) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 5s));
    auto other = open(on_port(server.port(), 5s));
    pair(mine, "key");
    const auto theirs = other.granted(fresh_claim("key", 60s, "them"));
    const auto busy_now = mine.rejected(fresh_claim("key"));
    EXPECT_EQ(busy_now.holder, theirs);
    EXPECT_EQ(busy_now.owner, "them");
    EXPECT_FALSE(yes(mine.release("key", fence_token{number(theirs) + 1})));
    EXPECT_FALSE(yes(mine.release("key", fence_token{0})));
    EXPECT_EQ(mine.show("key").holder, theirs);
    EXPECT_TRUE(yes(other.release("key", theirs)));
    EXPECT_GT(mine.granted_in_the_end(fresh_claim("key", 500ms)), theirs);
    mine.let_expire("key", 500ms);
    const auto mine_again = fresh_claim("key", 60s);
    const auto token = mine.granted(mine_again);
    EXPECT_EQ(mine.granted(mine_again), token) << "a repeated claim is the same grant";
    EXPECT_TRUE(yes(mine.withdraw({"key", mine_again.id})));
    mine.rejected(mine_again);
    pair(mine, "key");
    server.ask("DELETE FROM pawl.lease");
    pair(mine, "key");
}

// Goal: statements and functions, which older processes call as well, exclude each other, wake each
// other's waiters and mint rising tokens. Method: the owner and a user who may only call, on one
// key.
TEST(PostgresqlOrdinary, FunctionsAndStatementsExcludeEachOther) {
    postgresql_server server;
    const auto locker = as_locker(server);
    std::atomic<int> inside{0}, overlaps{0}, rounds{0};
    std::atomic<std::uint64_t> newest{0};
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            auto mine = open(i % 2 == 0 ? on_port(server.port(), 5s) : locker);
            pair(mine, "own/" + std::to_string(i));
            for (int j = 0; j < 25; ++j) {
                const auto token = mine.granted_in_the_end(fresh_claim("same", 60s));
                if (inside.fetch_add(1) != 0) ++overlaps;
                if (newest.exchange(number(token)) >= number(token)) ++overlaps;
                inside.fetch_sub(1);
                rounds += yes(mine.release("same", token)) ? 1 : 0;
            }
        });
    callers.clear();
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(rounds, 100);
    auto one = open(on_port(server.port(), 5s)), other = open(locker);
    for (auto [holder, waiter] : {std::pair{&one, &other}, {&other, &one}, {&one, &other}}) {
        const auto token = holder->granted_in_the_end(fresh_claim("same", 60s));
        auto woke = waiter->start_waiting("same", token, 10s);
        until(
            [&] { return server.ask("SELECT waited FROM pawl.lease WHERE key = 'same'") == "t"; });
        EXPECT_TRUE(yes(holder->release("same", token)));
        EXPECT_EQ(woke.get(), wait_end::changed);
    }
}

TEST(PostgresqlOrdinary, TokensRiseWhereTheClockHasFallen) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 5s));
    pair(mine, "key");
    constexpr std::uint64_t ahead = 8'000'000'000'000'000;
    server.ask("UPDATE pawl.lease SET last_token = " + std::to_string(ahead));
    EXPECT_EQ(number(mine.granted(fresh_claim("key"))), ahead + 1);
    EXPECT_EQ(number(mine.show("key").last_token), ahead + 1);
}

// Goal: a search path on which others have put operators of their own does not reach the
// statements. Method: operators that mean the opposite, in front of the server's.
TEST(PostgresqlOrdinary, ASearchPathChangesNothing) {
    postgresql_server server;
    server.ask(layout_script("pawl"));
    server.ask(
        "CREATE SCHEMA evil;"
        "CREATE OPERATOR evil.+ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = "
        "pg_catalog.int8mi);"
        "CREATE OPERATOR evil.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = pg_catalog.byteane);"
        "CREATE OPERATOR evil.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = "
        "pg_catalog.timestamptz_gt);"
        "CREATE FUNCTION evil.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT "
        "timestamptz ''2000-01-01'''");
    server.ask("ALTER ROLE postgres SET search_path = evil, pg_catalog");
    auto mine = open(on_port(server.port(), 5s));
    auto other = open(on_port(server.port(), 5s));
    pair(mine, "key");
    fence_token last{8'000'000'000'000'000};
    server.ask("UPDATE pawl.lease SET last_token = " + std::to_string(number(last)));
    for (int i = 0; i < 3; ++i) {
        const auto token = mine.granted(fresh_claim("key", 60s));
        EXPECT_EQ(number(token), number(last) + 1);
        EXPECT_EQ(other.rejected(fresh_claim("key")).holder, token);
        EXPECT_TRUE(yes(mine.release("key", token)));
        last = token;
    }
}

// Goal: a claim of a known key that was withdrawn and arrives late grants nothing. Method: it is
// held back on its way until its claimer has withdrawn it over another connection.
TEST(PostgresqlOrdinary, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 1s));
    auto direct = open(on_port(server.port(), 5s));
    pair(mine, "key");
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_FALSE(yes(direct.withdraw({"key", wanted.id})));
    proxy.resume(direction::to_server);
    // The session ends once it has read what was held back.
    until([&] { return sessions(server) == 1; });
    EXPECT_EQ(number(direct.show("key").holder), 0u);
    direct.rejected(wanted);
}

// Goal: a lost answer of the plain statement is unknown, and the same claim gets the same grant.
TEST(PostgresqlOrdinary, ALostAnswerIsAskedForAgain) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 5s));
    auto direct = open(on_port(server.port(), 5s));
    pair(mine, "key");
    proxy.stall(direction::to_client);
    const auto wanted = fresh_claim("key", 60s);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    until([&] { return number(direct.show("key").holder) > 0; });
    proxy.cut();
    expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
    proxy.resume(direction::to_client);
    EXPECT_EQ(mine.granted(wanted), direct.show("key").holder);
}

}  // namespace
}  // namespace pawl::postgresql
