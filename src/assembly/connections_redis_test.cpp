// Redis over connections of the application's, against a real server.
#include "assembly/connections_fixture.hpp"
#include "test_support/servers/redis_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <vector>

namespace pawl {
namespace {

using testing_servers::redis_options;
using testing_servers::redis_server;

// One that blocks, as most clients have it.
int connected_to(std::uint16_t port) {
    const int one = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(one, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0) return one;
    ::close(one);
    return -1;
}

int connected_to(const std::string& path) {
    const int one = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path.copy(where.sun_path, sizeof where.sun_path - 1);
    EXPECT_EQ(::connect(one, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    return one;
}

void send_over(int one, const std::string& text) {
    EXPECT_EQ(::send(one, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
}

// What the server answers, in one piece.
std::string asked(int one, const std::string& text) {
    send_over(one, text);
    char got[4096];
    const auto size = ::recv(one, got, sizeof got, 0);
    return {got, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// As an application has it: it connects, logs in and says who it is.
struct application {
    explicit application(const redis_server& on) : server{on} {}
    int give() {
        ++given;
        const int one = connected_to(server.port());
        if (one < 0) return one;
        EXPECT_EQ(asked(one, "CLIENT SETNAME app\r\n"), "+OK\r\n");
        for (const auto& each : prologue) asked(one, each);
        return one;
    }
    std::function<int()> giver() {
        return [this] { return give(); };
    }

    const redis_server& server;
    std::vector<std::string> prologue;  // for each connection that is given
    std::atomic<int> given{0};
};

constexpr const char* url = "redis:?timeout=10s";

open_options over(application& whose) { return {.connections = {.redis = whose.giver()}}; }

// Of the server, without those that ask for this.
int clients_of(const redis_server& server, const std::string& name) {
    const auto all = server.ask({"CLIENT", "LIST"});
    int count = 0;
    for (auto at = all.find(" name=" + name + " "); at != std::string::npos;
         at = all.find(" name=" + name + " ", at + 1))
        ++count;
    return count;
}

// Goal: everything goes over them, waiting by push included, and each is closed in the end.
TEST(RedisConnections, CarryEveryVerbAndAreClosed) {
    redis_server server;
    application app{server};
    {
        auto mine = locks::open(url, over(app));
        auto other = locks::open(url, over(app));
        EXPECT_TRUE(mine.traits().notifies);
        ASSERT_NO_FATAL_FAILURE(expect_all_verbs(mine, other));
        // Requests of both, waiters of the one that waited, the journal of the one that ran a job.
        EXPECT_EQ(app.given, 4);
        EXPECT_EQ(clients_of(server, "app"), 4);
        EXPECT_EQ(clients_of(server, ""), 1);  // the one that asks
    }
    until([&] { return clients_of(server, "app") == 0; });
}

// What the application has selected does not count, as two of them could differ.
TEST(RedisConnections, UseTheDatabaseOfTheUrl) {
    redis_server server;
    application app{server};
    app.prologue = {"SELECT 3\r\n"};
    auto plain = locks::open(url, over(app));
    const auto held = plain.try_acquire("key", minute);
    ASSERT_TRUE(held);
    auto second = locks::open("redis:/2?timeout=10s", over(app));
    EXPECT_TRUE(takes(second, "key"));
    EXPECT_EQ(server.ask({"EXISTS", "pawl:lock:key"}), "1");
    auto direct = locks::open("redis://127.0.0.1:" + std::to_string(server.port()));
    EXPECT_FALSE(takes(direct, "key"));
}

TEST(RedisConnections, AUnixSocketDoesAsWell) {
    redis_options options;
    options.unix_socket = true;
    redis_server server{options};
    auto mine = locks::open(
        url, {.connections = {.redis = [&] { return connected_to(server.unix_path()); }}});
    EXPECT_TRUE(takes(mine, "key"));
}

// RESP 3, and a login that pawl does not know.
TEST(RedisConnections, KeepWhatTheApplicationHasAgreedOn) {
    redis_options options;
    options.password = "s3cret";
    redis_server server{options};
    auto mine = locks::open(url, {.connections = {.redis = [&] {
                                      const int one = connected_to(server.port());
                                      asked(one, "HELLO 3 AUTH default s3cret\r\n");
                                      return one;
                                  }}});
    EXPECT_TRUE(takes(mine, "key"));
    auto stranger =
        locks::open(url, {.connections = {.redis = [&] { return connected_to(server.port()); }}});
    const auto said = store_fault(stranger);
    expect_words(said, "denied 127.0.0.1:");
    expect_words(said, ": the application's connection is not logged in");
}

TEST(RedisConnections, OneThatDiesIsReplaced) {
    redis_server server;
    application app{server};
    auto mine = locks::open(url, over(app));
    auto held = mine.try_acquire("key", minute);
    ASSERT_TRUE(held);
    const int before = app.given;
    server.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    // The news of the end may come when the claim has just left.
    const auto other =
        mine.acquire("other", {.ttl = 1min, .on_store_down = store_down::retry}, 20s);
    EXPECT_TRUE(other);
    EXPECT_GT(app.given, before);
    EXPECT_EQ(held->release(), release_outcome::released);
}

// Goal: after a failover the function is asked for the new primary, also while both servers live.
TEST(RedisConnections, ADemotedPrimaryIsReplaced) {
    redis_server first, second;
    std::atomic<std::uint16_t> primary{first.port()};
    auto mine = locks::open(url, {.connections = {.redis = [&] { return connected_to(primary); }}});
    EXPECT_TRUE(takes(mine, "key"));
    primary = second.port();
    first.ask({"REPLICAOF", "127.0.0.1", std::to_string(second.port())});
    until([&] {
        try {
            return takes(mine, "key");
        } catch (const store_error&) {
            return false;
        }
    });
    EXPECT_EQ(second.ask({"EXISTS", "pawl:lock:key"}), "1");
}

TEST(RedisConnections, NoneIsUnreachableInOneLine) {
    expect_none_is_told<int>("redis", &connection_factories::redis, -1);
}

// Goal: neither the caller nor the end of the store depends on a function that is slow, and its
// late answer is closed unused.
TEST(RedisConnections, OneThatComesTooLateIsClosedUnused) {
    redis_server server;
    application app{server};
    std::latch go{1};
    {
        auto mine = locks::open("redis:?timeout=200ms", {.connections = {.redis = [&] {
                                                             go.wait();
                                                             return app.give();
                                                         }}});
        expect_words(store_fault(mine), "unreachable redis: ");
        go.count_down();
        until([&] { return app.given > 0 && clients_of(server, "app") == 0; });
        const auto held =
            mine.acquire("key", {.ttl = 1min, .on_store_down = store_down::retry}, 20s);
        EXPECT_TRUE(held);
    }
    until([&] { return clients_of(server, "app") == 0; });
}

TEST(RedisConnections, OneThatIsNotIdleIsRejected) {
    redis_server server;
    const auto rejected = [&](const std::function<void(int)>& spoil) {
        auto mine = locks::open(url, {.connections = {.redis = [&] {
                                          const int one = connected_to(server.port());
                                          spoil(one);
                                          return one;
                                      }}});
        auto said = store_fault(mine);
        EXPECT_EQ(server.ask({"DBSIZE"}), "0");
        return said;
    };
    expect_words(rejected([](int one) { asked(one, "MULTI\r\n"); }),
                 "is in a transaction: EXEC or DISCARD before it is given");
    expect_words(rejected([](int one) { asked(one, "SUBSCRIBE news\r\n"); }),
                 "is subscribed to channels");
    // Read in part only.
    expect_words(rejected([](int one) {
                     char byte = 0;
                     send_over(one, "PING\r\nPING\r\n");
                     ::recv(one, &byte, 1, MSG_WAITALL);
                 }),
                 "has a reply that was not read");
    // One that is answered after it was given.
    expect_words(rejected([](int one) { send_over(one, "BLPOP nothing 1\r\n"); }),
                 "has a reply outstanding");
    // The same by a user whose own SELECT is rejected, and behind an answer as to one.
    server.ask({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-select"});
    expect_words(rejected([](int one) {
                     asked(one, "AUTH app secret\r\n");
                     send_over(one,
                               "EVAL \"local function now() local t = redis.call('TIME') return "
                               "t[1] * 1000 + t[2] / 1000 end local till = now() + 500 "
                               "while now() < till do end return {ok = 'OK'}\" 0\r\n");
                 }),
                 "has a reply outstanding");
    expect_words(rejected([](int one) { ::shutdown(one, SHUT_RDWR); }), "unreachable ");
}

TEST(RedisConnections, WhatIsNoneIsRejected) {
    const auto rejected = [](const std::function<int()>& make) {
        auto mine = locks::open(url, {.connections = {.redis = make}});
        return store_fault(mine);
    };
    EXPECT_EQ(rejected([] { return ::socket(AF_INET, SOCK_STREAM, 0); }),
              "unreachable redis: the application's connection is not open");
    EXPECT_EQ(rejected([] { return ::socket(AF_INET, SOCK_DGRAM, 0); }),
              "rejected redis: the application's connection is not a stream socket");
}

TEST(RedisConnections, AReplicaIsRejected) {
    redis_server primary;
    redis_options options;
    options.primary = primary.port();
    redis_server replica{options};
    application app{replica};
    auto mine = locks::open(url, over(app));
    expect_words(store_fault(mine), "is not a master now: its ROLE is slave");
}

TEST(RedisConnections, AChildOfAForkTouchesNone) {
    redis_server server;
    application app{server};
    expect_dead_after_fork(std::make_unique<locks>(locks::open(url, over(app))));
    EXPECT_EQ(app.given, 1);
}

// What would be ignored is rejected when the store is opened.
TEST(RedisConnections, TheUrlSaysNothingOfHowToConnect) {
    const open_options own{.connections = {.redis = [] { return -1; }}};
    for (const auto* const said :
         {"redis://db1", "redis:?password=s3cret", "rediss://db1", "redis+unix:/run/redis.sock",
          "redis+sentinel://a,b/orders", "redis+cluster://a,b", "valkey://db1"})
        expect_words(option_fault(said, own), "and so does connections.redis: leave it out");
    expect_words(option_fault("redis://db1", own), "(a host)");
    expect_words(option_fault("redis+cluster://a", own), "(redis+cluster:)");
    for (const auto* const said : {"redis:", "valkey:", "redis:/2?wait=1", "redis:2"})
        EXPECT_EQ(option_fault(said, own), "no fault") << said;
    expect_words(option_fault("redlock://a,b,c", own),
                 "connections.redis: neither the store nor its journal is at redis");
    EXPECT_EQ(option_fault("memory:?namespace=own",
                           open_options{.journal = "redis:", .connections = own.connections}),
              "no fault");
    // Without them a host is needed, as ever.
    for (const auto* const said : {"redis:", "redis:/2", "redis:?password=s3cret"})
        expect_words(option_fault(said, {}), "redis: takes one host");
    const auto own_store = [](boost::asio::any_io_executor) {
        return std::shared_ptr<lease_store>{};
    };
    EXPECT_THROW(static_cast<void>(locks::open(own_store, {}, own)), option_error);
}

}  // namespace
}  // namespace pawl
