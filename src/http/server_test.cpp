// What a client sees of a server of HTTP/1.1: raw bytes in, raw bytes out.
#include "http/http_fixture.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace pawl::http {
namespace {

using boost::asio::awaitable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A handler that does not wait for anything.
handler answering(std::function<response(const request&)> made) {
    return [made](std::shared_ptr<const request> asked) -> awaitable<response> {
        co_return made(*asked);
    };
}

TEST(Server, AnswersOneRequestAfterAnotherOnOneConnection) {
    trial_server server{echo};
    raw_client client{server.listen()};
    for (int i = 0; i < 3; ++i) {
        const auto got = client.ask(get("/a?b=" + std::to_string(i)));
        EXPECT_EQ(got.status, 200U);
        EXPECT_EQ(got.body, "GET /a?b=" + std::to_string(i) + " ");
        EXPECT_TRUE(got.has("\r\nDate: "));
        EXPECT_FALSE(got.has("Connection:"));
        EXPECT_FALSE(got.has("Server:"));
    }
    EXPECT_EQ(server.counts().requests, 3U);
    EXPECT_EQ(server.counts().accepted, 1U);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
    trial_server server{echo};
    raw_client client{server.listen()};
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += i % 2 == 0 ? get("/" + std::to_string(i)) : post("/" + std::to_string(i), "body");
    client.send(all);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(client.read_reply().body, (i % 2 == 0 ? "GET /" : "POST /") + std::to_string(i) +
                                                (i % 2 == 0 ? "? " : "? body"));
}

TEST(Server, AHeadHasTheLengthAndNoBody) {
    trial_server server{
        answering([](const request&) { return response{200, "text/plain", "twelve bytes"}; })};
    raw_client client{server.listen()};
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
    EXPECT_TRUE(client.read_head().has("Content-Length: 12\r\n"));
    EXPECT_EQ(client.read_reply().body, "twelve bytes");
}

TEST(Server, StatusesWithoutABodyHaveNone) {
    trial_server server{answering([](const request& asked) {
        return response{asked.path == "/204" ? 204U : 304U, "text/plain", "never sent"};
    })};
    raw_client client{server.listen()};
    client.send(get("/204") + get("/304") + get("/204", "Connection: close\r\n"));
    for (const auto status : {204U, 304U, 204U}) {
        const auto got = client.read_head();
        EXPECT_EQ(got.status, status);
        EXPECT_FALSE(got.has("Content-Length"));
        EXPECT_FALSE(got.has("Transfer-Encoding"));
    }
    EXPECT_TRUE(client.is_at_end());
}

// The same bytes for everybody, of more than a socket takes at once.
TEST(Server, ASharedBodyIsSentWhole) {
    std::string text;
    for (int i = 0; text.size() < 8'000'000; ++i) text += std::to_string(i) + ' ';
    const auto body = std::make_shared<const std::string>(std::move(text));
    trial_server server{answering([&](const request&) {
        response answered{200};
        answered.shared_body = body;
        return answered;
    })};
    raw_client client{server.listen()};
    client.send(get("/") + get("/"));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.read_reply().body == *body);
}

TEST(Server, OptionsAndUnknownMethodsReachTheHandler) {
    trial_server server{echo};
    raw_client client{server.listen()};
    EXPECT_EQ(client.ask("OPTIONS /a HTTP/1.1\r\nHost: a\r\n\r\n").body, "OPTIONS /a? ");
    EXPECT_EQ(client.ask("BREW /a HTTP/1.1\r\nHost: a\r\n\r\n").body, "BREW /a? ");
}

TEST(Server, ABodyInChunksIsPutTogether) {
    trial_server server{echo};
    raw_client client{server.listen()};
    EXPECT_EQ(client
                  .ask("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nfir\r\n2\r\nst\r\n0\r\n\r\n")
                  .body,
              "POST /a? first");
}

TEST(Server, AnExpectContinueIsAnsweredOnce) {
    trial_server server{echo};
    raw_client client{server.listen()};
    client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(client.ask("body").body, "POST /a? body");
    // Not when the body is here already.
    const auto got = client.ask(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
    EXPECT_EQ(got.status, 200U);
}

TEST(Server, ABodyThatIsTooLargeIsNotAskedFor) {
    trial_server server{echo};
    raw_client client{server.listen()};
    const auto got = client.ask(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(got.status, 413U);
    EXPECT_TRUE(client.is_at_end());
}

// A client that is rejected reads why, though it still sends: closing at once would take it back.
TEST(Server, ARejectionIsReadByAClientThatContinuesSending) {
    trial_server server{echo};
    raw_client client{server.listen()};
    EXPECT_TRUE(client.send(post("/", std::string(600'000, 'x'))));
    const auto got = client.read_reply();
    EXPECT_EQ(got.status, 413U);
    EXPECT_THAT(got.body, StartsWith("rejected: "));
    EXPECT_TRUE(got.has("Connection: close"));
    EXPECT_TRUE(client.is_at_end());
}

TEST(Server, AMalformedRequestIsToldWhyAndTheConnectionEnds) {
    trial_server server{echo};
    const auto port = server.listen();
    const std::pair<std::string, unsigned> cases[] = {
        {"GET /\r\n\r\n", 400},
        {"\x16\x03\x01", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET /" + std::string(17'000, 'x') + " HTTP/1.1\r\n", 431},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400}};
    for (const auto& [bytes, status] : cases) {
        raw_client client{port};
        // What follows is not answered: it is unknown where it begins.
        client.send(bytes + get("/smuggled"));
        const auto got = client.read_reply();
        EXPECT_EQ(got.status, status) << bytes.substr(0, 40);
        EXPECT_THAT(got.body, StartsWith("rejected: "));
        EXPECT_TRUE(got.has("Connection: close"));
        EXPECT_TRUE(client.is_at_end());
    }
    EXPECT_EQ(server.counts().malformed, std::size(cases));
    EXPECT_EQ(server.counts().requests, 0U);
}

TEST(Server, AConnectionEndsWhenTheRequestSaysSo) {
    trial_server server{echo};
    const auto port = server.listen();
    raw_client modern{port};
    EXPECT_TRUE(modern.ask(get("/", "Connection: close\r\n")).has("\r\nConnection: close\r\n"));
    EXPECT_TRUE(modern.is_at_end());
    raw_client old{port};
    EXPECT_TRUE(old.ask("GET / HTTP/1.0\r\n\r\n").has("\r\nConnection: close\r\n"));
    EXPECT_TRUE(old.is_at_end());
    raw_client kept{port};
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(kept.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                        .has("\r\nConnection: keep-alive\r\n"));
}

// A client such as nc sends its request, and says that it has nothing more to send.
TEST(Server, AHalfClosedConnectionIsStillAnswered) {
    trial_server server{echo};
    raw_client client{server.listen()};
    client.send(get("/"));
    client.end_sending();
    EXPECT_EQ(client.read_reply().status, 200U);
    EXPECT_TRUE(client.is_at_end());
}

TEST(Server, AHandlerThatThrowsIs500AndTheConnectionContinues) {
    trial_server server{answering([](const request& asked) -> response {
        if (asked.path == "/bad") throw std::runtime_error{"no\nluck"};
        return response{204};
    })};
    raw_client client{server.listen()};
    const auto got = client.ask(get("/bad?token=secret"));
    EXPECT_EQ(got.status, 500U);
    EXPECT_THAT(got.body, StartsWith("rejected: "));
    EXPECT_EQ(got.body.find("luck"), std::string::npos);
    EXPECT_EQ(client.ask(get("/")).status, 204U);
    EXPECT_THAT(server.warnings(), ElementsAre("GET /bad could not be answered: no?luck"));
}

TEST(Server, AResponseThatHttpCannotCarryIs500) {
    trial_server server{answering([](const request& asked) {
        response answered{asked.path == "/status" ? 99U : 200U};
        if (asked.path == "/field") answered.set("X", "a\r\nSet-Cookie: stolen=1");
        return answered;
    })};
    raw_client client{server.listen()};
    for (const auto* path : {"/status", "/field"}) {
        const auto got = client.ask(get(path));
        EXPECT_EQ(got.status, 500U);
        EXPECT_FALSE(got.has("stolen"));
    }
    EXPECT_EQ(client.ask(get("/")).status, 200U);
    EXPECT_EQ(server.warnings().size(), 2U);
}

TEST(Server, TheHandlerIsToldWhoAsks) {
    trial_server server{answering([](const request& asked) {
        return response{200, "text/plain",
                        asked.peer + (asked.from_loopback ? " near" : " far") +
                            (asked.secure ? " secure" : " plain")};
    })};
    EXPECT_EQ(raw_client{server.listen()}.ask(get("/")).body, "127.0.0.1 near plain");
    // On :: IPv4 comes in as ::ffff:127.0.0.1, which no user would look for.
    EXPECT_EQ(raw_client{server.listen("::")}.ask(get("/")).body, "127.0.0.1 near plain");
}

TEST(Server, ListensInSeveralPlacesAndByName) {
    trial_server server{echo};
    const auto first = server.listen("localhost"), second = server.listen();
    EXPECT_NE(first, second);
    EXPECT_EQ(raw_client{first}.ask(get("/")).status, 200U);
    EXPECT_EQ(raw_client{second}.ask(get("/")).status, 200U);
}

TEST(Server, APlaceThatCannotBeHadIsNamedInOneLine) {
    trial_server server{echo};
    const auto port = server.listen();
    const auto failure_of = [&](const std::string& host, std::uint16_t wanted) {
        return server
            .on_loop<result<std::uint16_t>>([&] { return server.served().listen(host, wanted); })
            .error();
    };
    const auto taken = failure_of("127.0.0.1", port);
    EXPECT_EQ(taken.code, errc::unreachable);
    EXPECT_EQ(taken.detail, "127.0.0.1:" + std::to_string(port) + ": Address already in use");
    const auto strange = failure_of("192.0.2.1", 1);
    EXPECT_EQ(strange.code, errc::denied);
    EXPECT_EQ(strange.detail, "192.0.2.1:1: Cannot assign requested address");
    EXPECT_EQ(failure_of("2001:db8::1", 1).detail,
              "[2001:db8::1]:1: Cannot assign requested address");
    EXPECT_THAT(failure_of("no-such-host.invalid", 1).detail,
                StartsWith("no-such-host.invalid:1: the host is not known: "));
}

TEST(Server, ASocketThatWasInheritedIsListenedOn) {
    trial_server server{echo};
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof where;
    ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&where), bytes), 0);
    ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&where), &bytes), 0);
    const auto listen_on = [&](int descriptor) {
        return server.on_loop<result<void>>([&] { return server.served().listen_on(descriptor); });
    };
    EXPECT_THAT(listen_on(socket).error().detail, HasSubstr("not a listening TCP socket"));
    EXPECT_THAT(listen_on(-1).error().detail, HasSubstr("descriptor -1: "));
    ASSERT_EQ(::listen(socket, 8), 0);
    EXPECT_TRUE(listen_on(socket).has_value());
    EXPECT_EQ(raw_client{ntohs(where.sin_port)}.ask(get("/")).status, 200U);
}

// A server that is started again must have its port at once.
TEST(Server, ItsPortIsFreeForTheNext) {
    std::uint16_t port = 0;
    {
        trial_server first{echo};
        port = first.listen();
        raw_client client{port};
        EXPECT_EQ(client.ask(get("/")).status, 200U);
        first.stop(millis{0});
        EXPECT_FALSE(raw_client{port}.is_connected());
    }
    trial_server second{echo};
    EXPECT_TRUE(second
                    .on_loop<result<std::uint16_t>>(
                        [&] { return second.served().listen("127.0.0.1", port); })
                    .has_value());
}

}  // namespace
}  // namespace pawl::http
