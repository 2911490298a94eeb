// The pool against a real server, which answers well, badly, in part or not at all.
#include "net/event.hpp"
#include "net/https/https_fixture.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/process.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <gmock/gmock.h>

namespace pawl::net {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using then = said::then;

https_request get(const std::string& target = "/") { return {"GET", target}; }
https_request put(const std::string& body = "text") { return {"PUT", "/record", body}; }

small_server::script always(std::string bytes, then next = then::keep) {
    return [=](const std::string&, int) { return said{bytes, next}; };
}

void expect_failure(const result<https_response>& got, errc code, const std::string& detail) {
    ASSERT_TRUE(got.has_error()) << got->status;
    EXPECT_EQ(name_of(got.error().code), name_of(code)) << got.error().detail;
    EXPECT_THAT(got.error().detail, HasSubstr(detail));
}

// ---- What is asked and answered

TEST_F(HttpsTest, AnAnswerComesWithItsFieldsItsBodyAndTheServersTime) {
    small_server server{always(ok("hello", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-A: b\r\n"))};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    auto request = put("some text");
    request.fields = {{"X-Name", "value"}};
    const auto before = lease_clock::now();
    const auto got = ask(pool, std::move(request));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(got->status, 200U);
    EXPECT_EQ(got->body, "hello");
    EXPECT_EQ(got->field("x-a"), "b");
    EXPECT_EQ(got->field("x-b"), "");
    EXPECT_EQ(got->date, std::chrono::seconds{784111777});
    EXPECT_LE(before, got->asked);
    EXPECT_LE(got->asked, got->answered);
    const auto port = std::to_string(server.port());
    EXPECT_THAT(server.requests(),
                ElementsAre("PUT /record HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                            "\r\nUser-Agent: pawl\r\nX-Name: value\r\nContent-Length: "
                            "9\r\nConnection: keep-alive\r\n\r\nsome text"));
}

TEST_F(HttpsTest, AnyStatusIsAnAnswer) {
    for (const auto* line : {"304 Not Modified", "404 Not Found", "500 Internal Server Error"}) {
        small_server server{
            always(std::string{"HTTP/1.1 "} + line + "\r\nContent-Length: 0\r\n\r\n")};
        const auto pool = https_pool::make(loop_, plain(server.port()));
        const auto got = ask(pool, put());
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(std::to_string(got->status), std::string{line}.substr(0, 3));
    }
}

TEST_F(HttpsTest, AFieldOfTwoLinesIsNotSent) {
    small_server server{always(ok(""))};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    auto request = get();
    request.fields = {{"Authorization", "Bearer a\r\nX-Other: b"}};
    expect_failure(ask(pool, std::move(request)), errc::unsupported, "more than one line");
    EXPECT_EQ(server.connections(), 0);
}

// ---- Connections are kept

TEST_F(HttpsTest, RequestsFollowOneAnotherOnOneConnection) {
    small_server server{always(ok("again"))};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(pool, get()).value().body, "again");
    EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpsTest, AServerThatClosesBehindAnAnswerIsTakenAtItsWord) {
    small_server server{always(ok("last", "Connection: close\r\n"), then::close)};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(pool, put()).value().body, "last");
    EXPECT_EQ(server.connections(), 3);
}

// Also one that must not be repeated: that the peer has gone is seen before it is sent.
TEST_F(HttpsTest, AConnectionThatWasClosedWhileIdleIsNotUsed) {
    small_server server{always(ok("well"))};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    for (int i = 1; i <= 3; ++i) {
        const auto got = ask(pool, put());
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(server.connections(), i);
        server.close_all();
    }
}

TEST_F(HttpsTest, OverTlsAnIdleConnectionThatWasClosedIsNotUsedEither) {
    small_server server{always(ok("well")),
                        small_server::identity{files().server(), files().server_key()}};
    const auto pool = https_pool::make(loop_, secure(server.port()));
    for (int i = 1; i <= 3; ++i) {
        const auto got = ask(pool, put());
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(ask(pool, put()).value().body, "well");
        EXPECT_EQ(server.connections(), i);
        server.close_all();
    }
}

TEST_F(HttpsTest, AConnectionIsNotKeptForLongerThanItMay) {
    small_server server{always(ok("well"))};
    auto settings = plain(server.port());
    settings.idle_max = std::chrono::milliseconds{0};
    const auto pool = https_pool::make(loop_, settings);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(pool, put()).value().body, "well");
    EXPECT_EQ(server.connections(), 3);
}

// The server closes as the second request arrives: what only reads is asked again, the rest is not.
TEST_F(HttpsTest, WhereTheEndAndARequestCrossOnlyReadsAreRepeated) {
    std::atomic<int> asked = 0;
    small_server server{[&](const std::string&, int connection) {
        return ++asked > 1 && connection % 2 == 1 ? said{"", then::close} : said{ok("well")};
    }};
    for (const bool reads : {true, false}) {
        asked = 0;
        const auto pool = https_pool::make(loop_, plain(server.port()));
        ASSERT_TRUE(ask(pool, put()).has_value());
        auto request = put();
        request.only_reads = reads;
        const auto got = ask(pool, std::move(request));
        if (reads) {
            EXPECT_EQ(got.value().body, "well");
            EXPECT_EQ(asked, 3);
        } else {
            expect_failure(got, errc::outcome_unknown, "closed without an answer");
            EXPECT_EQ(asked, 2);
        }
    }
}

// A new connection is not to blame for being idle: once is enough.
TEST_F(HttpsTest, ANewConnectionThatIsClosedIsNotAskedAgain) {
    small_server server{always("", then::close)};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    expect_failure(ask(pool, get()), errc::unreachable, "closed without an answer");
    EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpsTest, NoMoreConnectionsAreMadeThanAreAllowed) {
    using boost::asio::experimental::awaitable_operators::operator&&;
    small_server server{always(ok("well"))};
    auto settings = plain(server.port());
    settings.connections_max = 2;
    const auto pool = https_pool::make(loop_, settings);
    const auto work = [pool, until = later()]() -> boost::asio::awaitable<bool> {
        auto one = pool->ask(get(), until), two = pool->ask(get(), until),
             three = pool->ask(get(), until), four = pool->ask(get(), until);
        const auto [a, b, c, d] =
            co_await (std::move(one) && std::move(two) && std::move(three) && std::move(four));
        co_return a.has_value() && b.has_value() && c.has_value() && d.has_value();
    };
    EXPECT_TRUE(loop_.wait_for(work()));
    EXPECT_EQ(server.connections(), 2);
    EXPECT_EQ(server.requests().size(), 4U);
}

TEST_F(HttpsTest, ARequestThatFindsNoFreeConnectionInTimeWasNotSent) {
    using boost::asio::experimental::awaitable_operators::operator&&;
    const testing_faults::canned_server silent{{}};
    auto settings = plain(silent.port());
    settings.connections_max = 1;
    const auto pool = https_pool::make(loop_, settings);
    const auto work = [pool]() -> boost::asio::awaitable<std::vector<failure>> {
        const auto now = lease_clock::now();
        auto one = pool->ask(put(), now + std::chrono::seconds{2}),
             two = pool->ask(put(), now + std::chrono::seconds{1});
        const auto [first, second] = co_await (std::move(one) && std::move(two));
        co_return std::vector{first.error(), second.error()};
    };
    const auto both = loop_.wait_for(work());
    EXPECT_EQ(both[0].code, errc::outcome_unknown) << both[0].detail;
    EXPECT_EQ(both[1].code, errc::unreachable) << both[1].detail;
    EXPECT_THAT(both[1].detail, HasSubstr("all 1 connections were busy"));
}

// ---- What goes wrong

TEST_F(HttpsTest, AClosedPortHasBeenSentNothing) {
    const auto pool = https_pool::make(loop_, plain(testing_servers::free_port()));
    expect_failure(ask(pool, put()), errc::unreachable, "Connection refused");
}

TEST_F(HttpsTest, AnAnswerThatIsCutLeavesTheOutcomeOpen) {
    const auto whole = ok("a body of some length");
    for (std::size_t size = 0; size < whole.size(); size += 5) {
        small_server server{always(whole.substr(0, size), then::close)};
        const auto pool = https_pool::make(loop_, plain(server.port()));
        expect_failure(ask(pool, put()), errc::outcome_unknown, "the connection was closed");
        expect_failure(ask(pool, get()), errc::unreachable, "the connection was closed");
    }
}

TEST_F(HttpsTest, AConnectionThatIsResetLeavesTheOutcomeOpen) {
    const testing_faults::canned_server silent{{}};
    testing_faults::tcp_proxy proxy{silent.port()};
    proxy.stall(testing_faults::direction::to_server);
    const auto pool = https_pool::make(loop_, plain(proxy.port()));
    std::thread cutter{[&] {
        EXPECT_TRUE(proxy.wait_for_held_bytes(testing_faults::direction::to_server, 1));
        proxy.cut();
    }};
    const auto got = ask(pool, put());
    cutter.join();
    expect_failure(got, errc::outcome_unknown, "127.0.0.1");
}

// Over TLS an end without a word may be an attacker's: an answer without a length is not whole
// then.
TEST_F(HttpsTest, OverTlsAnAnswerWithoutALengthHasToBeEndedByTheServer) {
    small_server server{always("HTTP/1.1 200 OK\r\n\r\nhalf of it", then::close),
                        small_server::identity{files().server(), files().server_key()}};
    const auto pool = https_pool::make(loop_, secure(server.port()));
    expect_failure(ask(pool, get()), errc::unreachable, "closed within an answer");
}

// Goal: what was sent may have been done, however badly it is answered. Method: a page in the clear
// within a TLS session, as of a balancer whose server is gone.
TEST_F(HttpsTest, OverTlsAnAnswerThatIsNoneLeavesAWriteUnknown) {
    for (const bool writes : {true, false}) {
        small_server server{always(""),
                            small_server::identity{files().server(), files().server_key()}};
        const auto pool = https_pool::make(loop_, secure(server.port()));
        std::atomic<bool> over{false};
        std::thread balancer{[&] {
            while (server.requests().empty() && !over) std::this_thread::yield();
            server.say_to_all("HTTP/1.1 502 Bad Gateway\r\n\r\n");
        }};
        expect_failure(ask(pool, writes ? put() : get()),
                       writes ? errc::outcome_unknown : errc::protocol, "TLS");
        over = true;
        balancer.join();
    }
}

TEST_F(HttpsTest, ADeadlineEndsARequestThatIsNotAnswered) {
    const testing_faults::canned_server silent{{}};
    const auto pool = https_pool::make(loop_, plain(silent.port()));
    const auto soon = [] { return lease_clock::now() + std::chrono::seconds{1}; };
    expect_failure(ask(pool, put(), soon()), errc::outcome_unknown, "no answer within ");
    expect_failure(ask(pool, get(), soon()), errc::unreachable, "no answer within ");
}

// Whose handshake is not answered cannot have read the request.
TEST_F(HttpsTest, ADeadlineBeforeTheRequestLeftMeansThatNothingHappened) {
    const testing_faults::canned_server silent{{}};
    const auto pool = https_pool::make(loop_, secure(silent.port()));
    const auto soon = lease_clock::now() + std::chrono::milliseconds{100};
    expect_failure(ask(pool, put(), soon), errc::unreachable, "no answer within ");
}

TEST_F(HttpsTest, AfterADeadlineTheNextRequestHasAConnectionOfItsOwn) {
    small_server server{[](const std::string& request, int) {
        return said{request.starts_with("GET /slow") ? "" : ok("well")};
    }};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    const auto soon = lease_clock::now() + std::chrono::seconds{1};
    EXPECT_TRUE(ask(pool, get("/slow"), soon).has_error());
    EXPECT_EQ(ask(pool, get("/quick")).value().body, "well");
    EXPECT_EQ(server.connections(), 2);
}

TEST_F(HttpsTest, AHeadOrABodyThatIsTooLargeIsNotTaken) {
    small_server heads{always("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n")};
    const auto one = https_pool::make(loop_, plain(heads.port()));
    expect_failure(ask(one, get()), errc::protocol, "has a head of more than 65536 bytes");
    expect_failure(ask(one, put()), errc::outcome_unknown, "has a head of more than 65536 bytes");

    small_server bodies{always(ok(std::string(1001, 'a')))};
    auto settings = plain(bodies.port());
    settings.body_max = 1000;
    const auto other = https_pool::make(loop_, settings);
    expect_failure(ask(other, get()), errc::protocol, "has a larger body than is allowed");
}

TEST_F(HttpsTest, APeerThatSpeaksSomethingElseIsTheWrongServer) {
    const testing_faults::canned_server other{{"-ERR unknown command\r\n"}};
    const auto pool = https_pool::make(loop_, plain(other.port()));
    expect_failure(ask(pool, get()), errc::protocol, "the answer is not HTTP");

    small_server in_the_clear{always(ok("well"))};
    const auto confused = https_pool::make(loop_, secure(in_the_clear.port()));
    const auto soon = lease_clock::now() + std::chrono::milliseconds{500};
    const auto got = ask(confused, put(), soon);
    ASSERT_TRUE(got.has_error());
    EXPECT_NE(got.error().code, errc::outcome_unknown) << got.error().detail;
}

TEST_F(HttpsTest, AClosedPoolAsksNothing) {
    small_server server{always(ok("well"))};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    ASSERT_TRUE(ask(pool, get()).has_value());
    pool->close();
    expect_failure(ask(pool, get()), errc::unreachable, "closed");
    EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(HttpsTest, ARequestThatIsCancelledEndsAtOnce) {
    small_server silent{always("")};
    const auto pool = https_pool::make(loop_, plain(silent.port()));
    const auto work = [&, until = later()](loop& where) -> boost::asio::awaitable<errc> {
        boost::asio::cancellation_signal stop;
        std::optional<errc> told;
        event over;
        auto asking = [&, pool]() -> boost::asio::awaitable<void> {
            auto one = pool->ask(put(), until);
            told = (co_await std::move(one)).error().code;
            over.set();
        };
        boost::asio::co_spawn(
            where.get_executor(), asking(),
            boost::asio::bind_cancellation_slot(stop.slot(), boost::asio::detached));
        while (silent.requests().empty()) {
            auto pausing = sleep_for(std::chrono::milliseconds{1});
            co_await std::move(pausing);
        }
        stop.emit(boost::asio::cancellation_type::terminal);
        auto waiting = over.wait();
        co_await std::move(waiting);
        co_return *told;
    };
    EXPECT_EQ(loop_.wait_for(work(loop_)), errc::outcome_unknown);
}

// Neither touches the other any more.
TEST_F(HttpsTest, APoolMayOutliveItsLoop) {
    const testing_faults::canned_server silent{{}};
    small_server server{always(ok("well"))};
    std::shared_ptr<https_pool> pool;
    {
        loop own;
        pool = https_pool::make(own, plain(server.port()));
        ASSERT_TRUE(own.wait_for(pool->ask(get(), later())).has_value());
        const auto other = https_pool::make(own, plain(silent.port()));
        boost::asio::co_spawn(own.get_executor(), other->ask(put(), later()),
                              boost::asio::detached);
    }
    pool->close();
    pool.reset();
}

// ---- TLS

TEST_F(HttpsTest, OverTlsTheServersCertificateIsVerified) {
    small_server server{always(ok("secret")),
                        small_server::identity{files().server(), files().server_key()}};
    const auto pool = https_pool::make(loop_, secure(server.port()));
    EXPECT_EQ(pool->examine_tls(), std::nullopt);
    EXPECT_EQ(ask(pool, put()).value().body, "secret");
    EXPECT_EQ(ask(pool, put()).value().body, "secret");
    EXPECT_EQ(server.connections(), 1);
    ASSERT_TRUE(pool->examine_tls().has_value());
    EXPECT_EQ(pool->examine_tls()->check, "tls");

    auto foreign = secure(server.port());
    foreign.tls.ca = files().other_ca();
    expect_failure(ask(https_pool::make(loop_, foreign), put()), errc::denied,
                   "the server's TLS certificate is rejected");
    auto unknown = secure(server.port());
    unknown.tls.ca.clear();
    expect_failure(ask(https_pool::make(loop_, unknown), put()), errc::denied,
                   "the server's TLS certificate is rejected");
    auto other_name = secure(server.port());
    other_name.tls.server_name = "other.example";
    expect_failure(ask(https_pool::make(loop_, other_name), put()), errc::denied,
                   "the server's TLS certificate is rejected");
    EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(HttpsTest, ACertificateThatHasExpiredIsRejected) {
    small_server server{always(ok("secret")),
                        small_server::identity{files().expired(), files().expired_key()}};
    expect_failure(ask(https_pool::make(loop_, secure(server.port())), put()), errc::denied,
                   "expired");
}

TEST_F(HttpsTest, AuthoritiesThatCannotBeReadAreDenied) {
    small_server server{always(ok("secret")),
                        small_server::identity{files().server(), files().server_key()}};
    auto settings = secure(server.port());
    settings.tls.ca = "/no/such/file.pem";
    expect_failure(ask(https_pool::make(loop_, settings), put()), errc::denied,
                   "/no/such/file.pem");
}

// ---- Proxies

TEST_F(HttpsTest, ThroughAProxyTlsGoesToTheServer) {
    small_server server{always(ok("secret")),
                        small_server::identity{files().server(), files().server_key()}};
    small_server proxy{always("HTTP/1.1 200 Connection established\r\n\r\n", then::tunnel)};
    auto settings = secure(server.port());
    settings.proxy = "http://user:pass@127.0.0.1:" + std::to_string(proxy.port());
    const auto pool = https_pool::make(loop_, settings);
    EXPECT_EQ(ask(pool, put()).value().body, "secret");
    EXPECT_EQ(ask(pool, put()).value().body, "secret");
    const auto where = "localhost:" + std::to_string(server.port());
    EXPECT_THAT(proxy.requests(), ElementsAre("CONNECT " + where + " HTTP/1.1\r\nHost: " + where +
                                              "\r\nProxy-Authorization: Basic "
                                              "dXNlcjpwYXNz\r\n\r\n"));
    EXPECT_THAT(server.requests()[0], StartsWith("PUT /record HTTP/1.1\r\n"));
    EXPECT_THAT(server.requests()[0], ::testing::Not(HasSubstr("Proxy-")));
}

TEST_F(HttpsTest, WithoutTlsTheProxyIsAskedItself) {
    small_server proxy{always(ok("from afar"))};
    auto settings = plain(80);
    settings.host = "far.example";
    settings.proxy = "127.0.0.1:" + std::to_string(proxy.port());
    EXPECT_EQ(ask(https_pool::make(loop_, settings), get("/a?b=c")).value().body, "from afar");
    EXPECT_THAT(proxy.requests()[0],
                StartsWith("GET http://far.example:80/a?b=c HTTP/1.1\r\nHost: far.example\r\n"));
}

TEST_F(HttpsTest, AProxyThatRejectsHasPassedNothingOn) {
    const std::pair<const char*, errc> answers[] = {
        {"407 Proxy Authentication Required", errc::denied},
        {"403 Forbidden", errc::denied},
        {"502 Bad Gateway", errc::unreachable}};
    for (const auto& [line, code] : answers) {
        small_server proxy{
            always(std::string{"HTTP/1.1 "} + line + "\r\nContent-Length: 3\r\n\r\nno!")};
        auto settings = secure(1);
        settings.proxy = "http://user:pass@127.0.0.1:" + std::to_string(proxy.port());
        const auto got = ask(https_pool::make(loop_, settings), put());
        expect_failure(got, code,
                       std::string{"the proxy answers "} + std::string{line}.substr(0, 3));
        EXPECT_THAT(got.error().detail, ::testing::Not(HasSubstr("pass@")));
    }
    auto settings = secure(1);
    settings.proxy = "http://127.0.0.1:" + std::to_string(testing_servers::free_port());
    expect_failure(ask(https_pool::make(loop_, settings), put()), errc::unreachable,
                   "the proxy: Connection refused");
    settings.proxy = "socks5://127.0.0.1:1";
    expect_failure(ask(https_pool::make(loop_, settings), put()), errc::unsupported,
                   "invalid proxy");
}

}  // namespace
}  // namespace pawl::net
