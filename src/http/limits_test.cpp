// Whatever the other side could let grow has a bound, and each is told what it ran into.
#include "http/http_fixture.hpp"
#include "time/pause.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <cerrno>
#include <future>
#include <iterator>
#include <list>
#include <system_error>

namespace pawl::http {
namespace {

using boost::asio::awaitable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto a_while = std::chrono::seconds{seconds_at_most};

// More than fits into the buffers between two sockets.
std::string filler(std::size_t bytes) { return std::string(bytes, 'x'); }

limits bounded(void (*change)(limits&)) {
    limits bounds;
    change(bounds);
    return bounds;
}

TEST(Limits, AHeadThatDoesNotComeInTimeIs408) {
    trial_server server{echo, bounded([](limits& l) { l.header_wait = millis{50}; })};
    raw_client client{server.listen()};
    client.send("GET / HTTP/1.1\r\nHost: ");
    const auto got = client.read_reply();
    EXPECT_EQ(got.status, 408U);
    EXPECT_THAT(got.body, HasSubstr("head"));
    EXPECT_TRUE(client.is_at_end());
    EXPECT_EQ(server.counts().timed_out, 1U);
}

// Slow-loris: a byte now and then does not buy time.
TEST(Limits, TheTimeForAHeadCountsFromItsFirstByte) {
    trial_server server{echo, bounded([](limits& l) {
                            l.header_wait = millis{100};
                            l.header_bytes_max = 100'000'000;
                        })};
    raw_client client{server.listen()};
    const auto begin = lease_clock::now();
    client.send("GET / HTTP/1.1\r\n");
    while (server.counts().timed_out == 0) {
        ASSERT_LT(lease_clock::now() - begin, a_while);
        client.send("X: y\r\n");
    }
    EXPECT_GE(lease_clock::now() - begin, millis{100});
}

TEST(Limits, ABodyThatDoesNotComeInTimeIs408) {
    trial_server server{echo, bounded([](limits& l) { l.body_wait = millis{50}; })};
    const auto port = server.listen();
    for (const auto* start :
         {"Content-Length: 9\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n9\r\nabc",
          "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"}) {
        raw_client client{port};
        client.send("POST / HTTP/1.1\r\nHost: a\r\n" + std::string{start});
        if (std::string_view{start}.find("100") != std::string_view::npos)
            client.read_until("\r\n\r\n");
        const auto got = client.read_reply();
        EXPECT_EQ(got.status, 408U);
        EXPECT_THAT(got.body, HasSubstr("body"));
    }
}

TEST(Limits, AnIdleConnectionEndsWithoutAWord) {
    // A connection is idle from its first moment on, and a busy machine takes its time to ask.
    trial_server server{echo, bounded([](limits& l) { l.idle_wait = millis{6'000}; })};
    const auto port = server.listen();
    raw_client used{port};
    EXPECT_EQ(used.ask(get("/")).status, 200U);
    raw_client fresh{port};
    EXPECT_TRUE(used.is_at_end());
    EXPECT_TRUE(fresh.is_at_end());
    EXPECT_EQ(server.counts().timed_out, 0U);
}

// Empty lines between two requests are no harm, and no request either.
TEST(Limits, AnIdleConnectionIsNotKeptByEmptyLines) {
    trial_server server{echo, bounded([](limits& l) { l.idle_wait = millis{100}; })};
    raw_client client{server.listen()};
    const auto begin = lease_clock::now();
    while (client.send("\r\n")) ASSERT_LT(lease_clock::now() - begin, a_while);
}

TEST(Limits, AResponseThatIsNotTakenInTimeIsGivenUp) {
    trial_server server{[](std::shared_ptr<const request>) -> awaitable<response> {
                            co_return response{200, "text/plain", filler(20'000'000)};
                        },
                        bounded([](limits& l) { l.write_wait = millis{100}; })};
    raw_client client{server.listen(), 4096};
    client.send(get("/"));
    server.await_counts([](const server_counts& now) { return now.timed_out == 1; });
    EXPECT_EQ(server.counts().connections, 0U);
    EXPECT_EQ(server.counts().requests, 0U);
    EXPECT_LT(client.read_all().size(), 20'000'000U);
}

// Each part has the time: a slow reader is no dead one.
TEST(Limits, AResponseThatIsTakenPartByPartHasTheTimeForEach) {
    trial_server server{[](std::shared_ptr<const request>) -> awaitable<response> {
                            co_return response{200, "text/plain", filler(30'000'000)};
                        },
                        bounded([](limits& l) { l.write_wait = millis{6'000}; })};
    raw_client client{server.listen(), 64 * 1024};
    client.send(get("/"));
    const auto begin = lease_clock::now();
    auto head = client.read_head();
    std::size_t got = 0;
    // As slow as takes longer than write_wait for the whole.
    while (got < 30'000'000) {
        const auto bytes = client.read_bytes(300'000).size();
        ASSERT_GT(bytes, 0U);
        got += bytes;
        time::pause_until(begin + millis{got / 3'750});
    }
    EXPECT_GE(lease_clock::now() - begin, millis{7'900});
    EXPECT_EQ(server.counts().timed_out, 0U);
}

TEST(Limits, MoreRequestsAtATimeThanAllowedAre503) {
    held_handler blocker;
    trial_server server{blocker.as_handler(), bounded([](limits& l) { l.requests_max = 2; })};
    const auto port = server.listen();
    raw_client first{port}, second{port}, third{port};
    first.send(get("/"));
    second.send(get("/"));
    await_inside(server, blocker, 2);
    const auto got = third.ask(get("/"));
    EXPECT_EQ(got.status, 503U);
    EXPECT_FALSE(got.has("Connection: close"));
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(first.read_head().status, 204U);
    EXPECT_EQ(second.read_head().status, 204U);
    third.send(get("/"));
    await_inside(server, blocker, 1);
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(third.read_head().status, 204U);
}

TEST(Limits, TheLongestIdleConnectionMakesWay) {
    trial_server server{echo, bounded([](limits& l) { l.connections_max = 3; })};
    const auto port = server.listen();
    raw_client first{port}, second{port}, third{port};
    // The second has been idle for longest when the others have asked again.
    for (auto* one : {&first, &second, &third, &first, &third})
        EXPECT_EQ(one->ask(get("/")).status, 200U);
    raw_client fourth{port};
    EXPECT_EQ(fourth.ask(get("/")).status, 200U);
    EXPECT_TRUE(second.is_at_end());
    EXPECT_EQ(first.ask(get("/")).status, 200U);
    EXPECT_EQ(third.ask(get("/")).status, 200U);
    EXPECT_EQ(server.counts().connections, 3U);
    EXPECT_EQ(server.counts().rejected, 0U);
}

TEST(Limits, WhereNoConnectionIsIdleTheNextIsTurnedAwayWith503) {
    held_handler blocker;
    trial_server server{blocker.as_handler(), bounded([](limits& l) { l.connections_max = 2; })};
    const auto port = server.listen();
    raw_client first{port}, second{port};
    first.send(get("/"));
    second.send(get("/"));
    await_inside(server, blocker, 2);
    raw_client third{port};
    const auto got = third.ask(get("/"));
    EXPECT_EQ(got.status, 503U);
    EXPECT_TRUE(got.has("Connection: close"));
    EXPECT_TRUE(third.is_at_end());
    EXPECT_EQ(server.counts().rejected, 1U);
    EXPECT_EQ(server.counts().connections, 2U);
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(first.read_head().status, 204U);
    EXPECT_EQ(second.read_head().status, 204U);
    server.on_loop<bool>([&] { return blocker.open(); });
}

// A client that is turned away holds a descriptor for as long as it reads why: only so many may.
TEST(Limits, ACrowdThatIsTurnedAwayDoesNotHoldDescriptors) {
    held_handler blocker;
    trial_server server{blocker.as_handler(), bounded([](limits& l) { l.connections_max = 1; })};
    const auto port = server.listen();
    raw_client inside{port};
    inside.send(get("/"));
    await_inside(server, blocker, 1);
    std::vector<raw_client> crowd;
    for (int i = 0; i < 100; ++i) crowd.emplace_back(port);
    server.await_counts([](const server_counts& now) { return now.rejected == 100; });
    int told = 0;
    for (auto& one : crowd) told += one.read_head().status == 503U ? 1 : 0;
    EXPECT_EQ(told, 64);
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(inside.read_head().status, 204U);
}

// Many bodies that have come in part cost as much memory as one large one.
TEST(Limits, WhatAllConnectionsHoldOfHalfRequestsIsBounded) {
    trial_server server{echo, bounded([](limits& l) { l.held_bytes_max = 100'000; })};
    const auto port = server.listen();
    std::vector<raw_client> clients;
    const auto half = post("/", std::string(60'000, 'x')).substr(0, 40'000);
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back(port);
        clients.back().send(half);
    }
    // At least one of them is rejected, and then the others have room.
    server.await_counts([](const server_counts& now) { return now.connections <= 2; });
    clients.clear();
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
    raw_client later{port};
    EXPECT_EQ(later.ask(post("/", std::string(60'000, 'x'))).status, 200U);
}

// A head of a hundred short fields takes thirty times its bytes, as long as its body is awaited.
TEST(Limits, WhatHeadsNeedInMemoryIsBoundedToo) {
    trial_server server{echo, bounded([](limits& l) { l.held_bytes_max = 100'000; })};
    const auto port = server.listen();
    std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n";
    for (int i = 0; i < 98; ++i) head += "a:\r\n";
    std::vector<raw_client> clients;
    for (int i = 0; i < 40; ++i) {
        clients.emplace_back(port);
        clients.back().send(head + "\r\n");
    }
    server.await_counts(
        [](const server_counts& now) { return now.accepted == 40 && now.connections < 15; });
    EXPECT_LT(server.counts().connections, 15U);
}

// Goal: who sends halves of requests takes no place from the answers of others. Method: bodies that
// stop before their end from one address, and a large answer to another, which sends a half as
// well.
TEST(Limits, HalvesOfOneAddressLeaveRoomForTheAnswersOfOthers) {
    const auto answer = [](std::shared_ptr<const request>) -> awaitable<response> {
        co_return response{200, "text/plain", std::string(100'000, 'x')};
    };
    trial_server server{answer, bounded([](limits& l) { l.held_bytes_max = 1'000'000; })};
    const auto port = server.listen();
    raw_client slow = raw_client::from("127.0.0.3", port);
    const auto small = post("/", "abc");
    slow.send(small.substr(0, small.size() - 1));
    server.await_counts([](const server_counts& now) { return now.accepted == 1; });
    const auto half = post("/", std::string(250'000, 'x')).substr(0, 249'000);
    std::vector<raw_client> flood;
    for (int i = 0; i < 8; ++i) {
        flood.push_back(raw_client::from("127.0.0.2", port));
        flood.back().send(half);
    }
    server.await_counts(
        [](const server_counts& now) { return now.accepted == 9 && now.connections <= 3; });
    raw_client other = raw_client::from("127.0.0.3", port);
    EXPECT_EQ(other.ask(get("/")).status, 200U);
    slow.send(small.substr(small.size() - 1));
    EXPECT_EQ(slow.read_head().status, 200U);
}

// A body that waits for its answer is in memory as well as one that has come in part. While it grew
// it may have taken twice its bytes.
TEST(Limits, WhatRequestsNeedWhileTheyAreAnsweredIsBoundedToo) {
    held_handler blocker;
    trial_server server{blocker.as_handler(),
                        bounded([](limits& l) { l.held_bytes_max = 1'000'000; })};
    const auto port = server.listen();
    const auto whole = post("/", std::string(200'000, 'x'));
    std::vector<raw_client> clients;
    for (int i = 0; i < 8; ++i) {
        clients.emplace_back(port);
        clients.back().send(whole);
        server.await_counts([&](const server_counts& now) {
            return now.accepted == clients.size() &&
                   now.connections == static_cast<std::size_t>(blocker.inside);
        });
    }
    const auto inside = server.on_loop<int>([&] { return blocker.inside; });
    EXPECT_GE(inside, 2);
    EXPECT_LE(inside, 4);
    server.on_loop<bool>([&] { return blocker.open(); });
    raw_client later{port};
    server.await_counts([&](const server_counts&) { return blocker.inside == 0; });
    later.send(whole);
    await_inside(server, blocker, 1);
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(later.read_head().status, 204U);
}

// Answers for a client that reads nothing: by "/large" one of its own, by "/shared" the same for
// all, and by anything else a few bytes.
struct answering_server {
    explicit answering_server(std::size_t held_bytes_max)
        : served{as_handler(), within(held_bytes_max)} {}

    static limits within(std::size_t held_bytes_max) {
        limits bounds;
        bounds.held_bytes_max = held_bytes_max;
        return bounds;
    }
    static handler as_handler() {
        const auto shared = std::make_shared<const std::string>(large_bytes, 's');
        return [shared](std::shared_ptr<const request> asked) { return made(shared, asked->path); };
    }
    static awaitable<response> made(std::shared_ptr<const std::string> shared, std::string path) {
        response answered{200, "text/plain",
                          path == "/large" ? std::string(large_bytes, 'x') : "ok"};
        if (path == "/shared") answered.shared_body = std::move(shared);
        co_return answered;
    }
    // Has begun to send: what the other side's buffers hold is less than the body.
    raw_client slow_reader(std::uint16_t port, std::string_view path) {
        raw_client client{port, 4096};
        client.send(get(path));
        return client;
    }

    // More than the buffers of two sockets take.
    static constexpr std::size_t large_bytes = 20'000'000;
    trial_server served;
};

TEST(Limits, AnswersThatAreNotTakenCountIntoWhatIsHeld) {
    answering_server world{84'000'000};
    const auto port = world.served.listen();
    std::vector<raw_client> slow;
    for (int i = 0; i < 2; ++i) {
        slow.push_back(world.slow_reader(port, "/large"));
        EXPECT_EQ(slow.back().read_head().status, 200U);
    }
    // Three quarters of what may be held are full; what is small is answered all the same.
    auto third = world.slow_reader(port, "/large");
    EXPECT_EQ(third.read_head().status, 200U);
    raw_client late{port};
    const auto rejected = late.ask(get("/large"));
    EXPECT_EQ(rejected.status, 503U);
    EXPECT_THAT(rejected.body, HasSubstr("no room for another answer"));
    EXPECT_FALSE(rejected.has("Connection: close"));
    EXPECT_EQ(late.ask(get("/")).status, 200U);
    EXPECT_EQ(world.served.counts().rejected, 1U);
    // A client that goes leaves room.
    slow.clear();
    world.served.await_counts([](const server_counts& now) { return now.connections == 2; });
    EXPECT_EQ(late.ask(get("/large")).status, 200U);
}

TEST(Limits, ABodyThatIsSharedCountsOnce) {
    answering_server world{40'000'000};
    const auto port = world.served.listen();
    std::list<raw_client> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(world.slow_reader(port, "/shared"));
        EXPECT_EQ(slow.back().read_head().status, 200U) << i;
    }
    raw_client late{port};
    EXPECT_EQ(late.ask(get("/large")).status, 503U);
    // Until the last of them has gone.
    slow.erase(slow.begin(), std::prev(slow.end()));
    world.served.await_counts([](const server_counts& now) { return now.connections == 2; });
    EXPECT_EQ(late.ask(get("/large")).status, 503U);
    slow.clear();
    world.served.await_counts([](const server_counts& now) { return now.connections == 1; });
    EXPECT_EQ(late.ask(get("/large")).status, 200U);
}

// A stream whose next part does not fit ends: a follower comes back. Also when so much time
// has passed that its connection watches for the peer to leave.
void expect_bounded_streams(int turns) {
    const auto stream_parts = [](std::shared_ptr<body_stream> where) -> awaitable<void> {
        for (bool taken = true; taken;) {
            auto part = std::make_shared<const std::string>(std::size_t{20'000'000}, 'x');
            auto writing = where->write(std::move(part));
            taken = co_await std::move(writing);
        }
    };
    trial_server server{[&](std::shared_ptr<const request>) -> awaitable<response> {
                            for (int i = 0; i < turns; ++i) {
                                auto turning = one_turn();
                                co_await std::move(turning);
                            }
                            response made{200};
                            made.stream = stream_parts;
                            co_return made;
                        },
                        answering_server::within(30'000'000)};
    const auto port = server.listen();
    raw_client first{port, 4096};
    first.send(get("/"));
    EXPECT_EQ(first.read_head().status, 200U);
    EXPECT_FALSE(first.read_until("\r\n").empty());
    raw_client second{port};
    second.send(get("/"));
    EXPECT_EQ(second.read_head().status, 200U);
    EXPECT_TRUE(second.read_until("\r\n").empty() && second.is_at_end());
    server.await_counts([](const server_counts& now) { return now.connections == 1; });
}

TEST(Limits, WhatStreamsWriteCountsIntoWhatIsHeldToo) {
    expect_bounded_streams(0);
    expect_bounded_streams(3);
}

// The server has let go of an answer's place when its other side has it whole.
TEST(Limits, TheAnswersPlaceIsGivenBackWhenItHasBeenSent) {
    const auto place = std::make_shared<int>(0);
    trial_server server{[&](std::shared_ptr<const request>) -> awaitable<response> {
        response made{200, "text/plain", std::string(20'000'000, 'x')};
        made.place = place;
        co_return made;
    }};
    raw_client client{server.listen(), 4096};
    client.send(get("/"));
    EXPECT_EQ(client.read_head().status, 200U);
    EXPECT_EQ(place.use_count(), 2);
    EXPECT_EQ(client.read_bytes(20'000'000).size(), 20'000'000U);
    server.await_counts([&](const server_counts&) { return place.use_count() == 1; });
}

limits patient(std::size_t connections, std::size_t per_address) {
    limits bounds;
    bounds.connections_max = connections;
    bounds.connections_per_address_max = per_address;
    bounds.header_wait = bounds.body_wait = millis{1'000 * seconds_at_most};
    return bounds;
}

// Slow heads on every connection keep no client out: nothing of them is idle.
TEST(Limits, WhereNoConnectionIsIdleTheOldestUnfinishedRequestMakesWay) {
    held_handler blocker;
    trial_server server{blocker.as_handler(), patient(3, 1'000)};
    const auto port = server.listen();
    raw_client answered{port};
    answered.send(get("/"));
    await_inside(server, blocker, 1);
    raw_client head{port}, body{port};
    head.send("GET / HTTP/1.1\r\nHost: ");
    body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    raw_client next{port};
    next.send(get("/"));
    await_inside(server, blocker, 2);
    raw_client another{port};
    another.send(get("/"));
    await_inside(server, blocker, 3);
    EXPECT_TRUE(head.is_at_end());
    EXPECT_TRUE(body.is_at_end());
    // Who is being answered stays.
    raw_client too_many{port};
    EXPECT_EQ(too_many.read_head().status, 503U);
    server.on_loop<bool>([&] { return blocker.open(); });
    for (auto* one : {&answered, &next, &another}) EXPECT_EQ(one->read_head().status, 204U);
    EXPECT_EQ(server.counts().rejected, 1U);
}

TEST(Limits, AnAddressThatHasItsShareTakesItFromItself) {
    held_handler blocker;
    trial_server server{blocker.as_handler(), patient(1'000, 2)};
    const auto port = server.listen();
    raw_client elsewhere = raw_client::from("127.0.0.2", port);
    elsewhere.send("GET / HTTP/1.1\r\nHost: ");
    raw_client first{port}, second{port};
    first.send(get("/"));
    await_inside(server, blocker, 1);
    second.send("GET / HTTP/1.1\r\nHost: ");
    raw_client third{port};
    third.send(get("/"));
    await_inside(server, blocker, 2);
    EXPECT_TRUE(second.is_at_end());
    raw_client fourth{port};
    EXPECT_EQ(fourth.read_head().status, 503U);
    elsewhere.send("a\r\n\r\n");
    await_inside(server, blocker, 3);
    server.on_loop<bool>([&] { return blocker.open(); });
    for (auto* one : {&elsewhere, &first, &third}) EXPECT_EQ(one->read_head().status, 204U);
}

// The descriptors of this process, as few as are in use now.
class scarce_descriptors {
public:
    scarce_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        const rlimit now{static_cast<rlim_t>(lowest_free), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    ~scarce_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    scarce_descriptors(const scarce_descriptors&) = delete;
    scarce_descriptors& operator=(const scarce_descriptors&) = delete;

private:
    rlimit before_{};
};

TEST(Limits, WithoutADescriptorTheLongestIdleConnectionMakesWay) {
    trial_server server{echo};
    const auto port = server.listen();
    raw_client idle{port};
    EXPECT_EQ(idle.ask(get("/")).status, 200U);
    auto next = raw_client::unconnected();
    const scarce_descriptors scarce;
    next.connect(port);
    EXPECT_EQ(next.ask(get("/")).status, 200U);
    EXPECT_TRUE(idle.is_at_end());
    EXPECT_TRUE(server.warnings().empty());
}

TEST(Limits, WithoutADescriptorAtAllItWaitsForOneAndSaysSoOnce) {
    trial_server server{echo};
    // UBSan looks at a type that it meets for the first time through a pipe of its own, and calls
    // one that it cannot look at invalid: it meets this one while there are descriptors.
    EXPECT_EQ(std::generic_category().message(EMFILE), "Too many open files");
    const auto port = server.listen();
    auto client = raw_client::unconnected();
    {
        const scarce_descriptors scarce;
        client.connect(port);
        client.send(get("/"));
        server.await_counts([&](const server_counts&) { return !server.warnings().empty(); });
        // Long enough for several attempts, each of which would be a warning if it were not kept.
        const auto end = lease_clock::now() + millis{350};
        server.await_counts([&](const server_counts&) { return lease_clock::now() > end; });
        EXPECT_EQ(server.counts().accepted, 0U);
    }
    EXPECT_EQ(client.read_reply().status, 200U);
    EXPECT_THAT(server.warnings(),
                ElementsAre("no connection can be accepted: Too many open files"));
}

}  // namespace
}  // namespace pawl::http
