// Streams and long polls: a waiter hears at once that no peer listens any more.
#include "http/http_fixture.hpp"

#include <gmock/gmock.h>

#include <future>

namespace pawl::http {
namespace {

using boost::asio::awaitable;

constexpr auto a_while = std::chrono::seconds{seconds_at_most};

using text = std::shared_ptr<const std::string>;
text made(std::string_view bytes) { return std::make_shared<const std::string>(bytes); }

// Waits until its client is gone, and says so.
struct long_poll {
    handler as_handler() {
        return [this](std::shared_ptr<const request> asked) {
            auto polling = poll(std::move(asked));
            return polling;
        };
    }
    awaitable<response> poll(std::shared_ptr<const request> asked) {
        if (asked->path != "/wait") co_return response{204};
        entered.set_value();
        auto waiting = until_gone(asked->gone);
        co_await std::move(waiting);
        heard.set_value();
        co_return response{200, "text/plain", "nothing new"};
    }
    void expect_entered() {
        ASSERT_EQ(entered.get_future().wait_for(a_while), std::future_status::ready);
    }
    // Within how long after this is called.
    millis expect_heard() {
        const auto begin = lease_clock::now();
        EXPECT_EQ(heard.get_future().wait_for(a_while), std::future_status::ready);
        return std::chrono::duration_cast<millis>(lease_clock::now() - begin);
    }
    std::promise<void> entered, heard;
};

// How long "within a moment" may take on a loaded machine.
constexpr millis a_moment{10'000};

TEST(Gone, AHandlerThatWaitsHearsThatItsClientHasClosed) {
    long_poll polled;
    trial_server server{polled.as_handler()};
    raw_client client{server.listen()};
    client.send(get("/wait"));
    polled.expect_entered();
    client.close();
    EXPECT_LT(polled.expect_heard(), a_moment);
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
}

TEST(Gone, AHandlerThatWaitsHearsThatItsClientHasReset) {
    long_poll polled;
    trial_server server{polled.as_handler()};
    raw_client client{server.listen()};
    client.send(get("/wait"));
    polled.expect_entered();
    client.reset();
    EXPECT_LT(polled.expect_heard(), a_moment);
}

// The end of the stream stands behind bytes that are not read yet.
TEST(Gone, AnEndBehindUnreadBytesIsHeardAsWell) {
    long_poll polled;
    trial_server server{polled.as_handler()};
    raw_client client{server.listen()};
    client.send(get("/wait"));
    polled.expect_entered();
    client.send(get("/next"));
    client.close();
    EXPECT_LT(polled.expect_heard(), a_moment);
}

// Bytes that come while a handler waits are the next request, and no release_options.
TEST(Gone, APipelinedRequestIsNoHangUp) {
    held_handler blocker;
    trial_server server{blocker.as_handler()};
    raw_client client{server.listen()};
    client.send(get("/1"));
    await_inside(server, blocker, 1);
    client.send(get("/2"));
    // The server has seen it when it has answered another.
    raw_client other{server.listen()};
    other.send(get("/3"));
    await_inside(server, blocker, 2);
    EXPECT_FALSE(server.on_loop<bool>([&] { return blocker.gone.stop_requested(); }));
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(client.read_head().status, 204U);
    EXPECT_EQ(other.read_head().status, 204U);
    await_inside(server, blocker, 1);
    server.on_loop<bool>([&] { return blocker.open(); });
    EXPECT_EQ(client.read_head().status, 204U);
}

TEST(Gone, ARequestThatWasAnsweredIsNotToldOfWhatComesLater) {
    std::stop_token kept;
    trial_server server{[&](std::shared_ptr<const request> asked) -> awaitable<response> {
        kept = asked->gone;
        co_return response{204};
    }};
    {
        raw_client client{server.listen()};
        EXPECT_EQ(client.ask(get("/")).status, 204U);
    }
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
    EXPECT_FALSE(server.on_loop<bool>([&] { return kept.stop_requested(); }));
}

// Writes numbers until no peer takes them.
awaitable<void> count_up(std::shared_ptr<body_stream> out) {
    for (int i = 0;; ++i) {
        auto writing = out->write(made(std::to_string(i) + '\n'));
        if (!co_await std::move(writing)) break;
    }
}

awaitable<void> three_lines(std::shared_ptr<body_stream> out) {
    for (const auto* line : {"one\n", "", "two\n", "three\n"}) {
        auto writing = out->write(made(line));
        if (!co_await std::move(writing)) co_return;
    }
}

handler streaming(producer body) {
    return [body](std::shared_ptr<const request>) -> awaitable<response> {
        response answered{200};
        answered.set("Content-Type", "text/plain");
        answered.stream = body;
        co_return answered;
    };
}

TEST(Streams, ABodyOfUnknownLengthIsSentInChunks) {
    trial_server server{streaming(three_lines)};
    raw_client client{server.listen()};
    for (int i = 0; i < 2; ++i) {
        client.send(get("/"));
        const auto head = client.read_head();
        EXPECT_TRUE(head.has("Transfer-Encoding: chunked\r\n"));
        EXPECT_FALSE(head.has("Content-Length"));
        EXPECT_EQ(client.read_until("0\r\n\r\n"),
                  "4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n");
    }
}

TEST(Streams, ForHttp10ItEndsWithTheConnection) {
    trial_server server{streaming(three_lines)};
    raw_client client{server.listen()};
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const auto head = client.read_head();
    EXPECT_FALSE(head.has("Transfer-Encoding"));
    EXPECT_TRUE(head.has("Connection: close"));
    EXPECT_EQ(client.read_all(), "one\ntwo\nthree\n");
}

TEST(Streams, AHeadIsAnsweredWithoutBeginningOne) {
    trial_server server{streaming(count_up)};
    raw_client client{server.listen()};
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 200U);
    EXPECT_EQ(client.read_head().status, 200U);
}

TEST(Streams, AWriteSaysWhenTheReaderHasGone) {
    std::promise<void> ended;
    trial_server server{streaming([&](std::shared_ptr<body_stream> out) -> awaitable<void> {
        auto counting = count_up(std::move(out));
        co_await std::move(counting);
        ended.set_value();
    })};
    raw_client client{server.listen()};
    client.send(get("/"));
    client.read_head();
    for (const auto* line : {"0\n", "1\n"}) EXPECT_EQ(client.read_chunk(), line);
    client.close();
    EXPECT_EQ(ended.get_future().wait_for(a_while), std::future_status::ready);
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
}

TEST(Streams, AProducerThatWaitsHearsThatItsClientHasGone) {
    std::promise<void> begun, heard;
    trial_server server{streaming([&](std::shared_ptr<body_stream> out) -> awaitable<void> {
        begun.set_value();
        auto waiting = until_gone(out->gone());
        co_await std::move(waiting);
        heard.set_value();
        auto late = out->write(made("late"));
        EXPECT_FALSE(co_await std::move(late));
    })};
    raw_client client{server.listen()};
    client.send(get("/"));
    begun.get_future().wait();
    client.close();
    EXPECT_EQ(heard.get_future().wait_for(a_moment), std::future_status::ready);
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
}

TEST(Streams, AClientThatTakesNothingIsCutAfterTheTimeForAWrite) {
    limits bounds;
    bounds.write_wait = millis{100};
    std::promise<void> ended;
    trial_server server{streaming([&](std::shared_ptr<body_stream> out) -> awaitable<void> {
                            const auto line = made(std::string(100'000, 'x'));
                            for (bool taken = true; taken;) {
                                auto writing = out->write(line);
                                taken = co_await std::move(writing);
                            }
                            EXPECT_TRUE(out->gone().stop_requested());
                            ended.set_value();
                        }),
                        bounds};
    raw_client client{server.listen(), 4096};
    client.send(get("/"));
    EXPECT_EQ(ended.get_future().wait_for(a_while), std::future_status::ready);
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
    EXPECT_EQ(server.counts().timed_out, 1U);
}

// At once, or when its connection watches for the peer to leave.
void expect_cut_by_throw(int turns) {
    trial_server server{streaming([turns](std::shared_ptr<body_stream> out) -> awaitable<void> {
        for (int i = 0; i < turns; ++i) {
            auto turning = one_turn();
            co_await std::move(turning);
        }
        auto writing = out->write(made("begun"));
        co_await std::move(writing);
        throw std::runtime_error{"no luck"};
    })};
    raw_client client{server.listen()};
    client.send(get("/"));
    client.read_head();
    EXPECT_EQ(client.read_all(), "5\r\nbegun\r\n");
    EXPECT_THAT(server.warnings(), ::testing::ElementsAre("a stream ended too early: no luck"));
}

TEST(Streams, OneThatThrowsShowsThatItIsNotWhole) {
    expect_cut_by_throw(0);
    expect_cut_by_throw(3);
}

// A handler that keeps a stream beyond its end writes into nothing.
TEST(Streams, AfterItsEndNothingIsWritten) {
    std::shared_ptr<body_stream> kept;
    trial_server server{streaming([&](std::shared_ptr<body_stream> out) -> awaitable<void> {
        kept = std::move(out);
        co_return;
    })};
    raw_client client{server.listen()};
    EXPECT_EQ(client.ask(get("/")).body, "");
    const auto late = [](std::shared_ptr<body_stream> out) -> awaitable<bool> {
        auto writing = out->write(made("late"));
        co_return co_await std::move(writing);
    };
    EXPECT_FALSE(server.loop().wait_for(late(kept)));
    EXPECT_EQ(client.ask(get("/")).body, "");
    server.on_loop<bool>([&] {
        kept.reset();
        return true;
    });
}

TEST(Stop, WhatIsBeingAnsweredIsFinished) {
    long_poll polled;
    trial_server server{polled.as_handler()};
    const auto port = server.listen();
    raw_client busy{port}, idle{port}, half{port};
    EXPECT_EQ(idle.ask(get("/")).status, 204U);
    half.send("GET / HT");
    busy.send(get("/wait"));
    polled.expect_entered();
    const auto begin = lease_clock::now();
    server.stop(millis{60'000});
    EXPECT_LT(lease_clock::now() - begin, a_while);
    const auto got = busy.read_reply();
    EXPECT_EQ(got.body, "nothing new");
    EXPECT_TRUE(got.has("Connection: close"));
    EXPECT_TRUE(busy.is_at_end());
    EXPECT_TRUE(idle.is_at_end());
    EXPECT_TRUE(half.is_at_end());
    EXPECT_FALSE(raw_client{port}.is_connected());
    EXPECT_EQ(server.counts().connections, 0U);
}

TEST(Stop, AStreamComesToItsEnd) {
    trial_server server{streaming(count_up)};
    raw_client client{server.listen()};
    client.send(get("/"));
    client.read_head();
    EXPECT_EQ(client.read_chunk(), "0\n");
    std::thread reading{
        [&] { EXPECT_THAT(client.read_all(), ::testing::EndsWith("\r\n0\r\n\r\n")); }};
    server.stop(millis{60'000});
    reading.join();
}

// A handler that does not listen cannot hold up the end of the process.
TEST(Stop, WhatTakesLongerThanTheTimeoutIsCut) {
    held_handler blocker;
    trial_server server{blocker.as_handler()};
    raw_client client{server.listen()};
    client.send(get("/"));
    await_inside(server, blocker, 1);
    const auto begin = lease_clock::now();
    server.stop(millis{50});
    EXPECT_GE(lease_clock::now() - begin, millis{50});
    EXPECT_TRUE(client.is_at_end());
    server.on_loop<bool>([&] { return blocker.open(); });
    await_inside(server, blocker, 0);
}

TEST(Stop, TwiceIsOnce) {
    trial_server server{echo};
    server.listen();
    server.stop(millis{0});
    server.stop(millis{0});
}

}  // namespace
}  // namespace pawl::http
