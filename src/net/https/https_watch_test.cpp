// Answers that do not end, line by line.
#include "net/https/https_fixture.hpp"

#include <gmock/gmock.h>

namespace pawl::net {
namespace {

using ::testing::HasSubstr;
using then = said::then;
using lines = std::shared_ptr<https_pool::lines>;

https_request watch() { return {"GET", "/watch"}; }

std::string chunk(const std::string& text) {
    std::array<char, 16> size{};
    std::snprintf(size.data(), size.size(), "%zx", text.size());
    return size.data() + ("\r\n" + text + "\r\n");
}
constexpr auto* head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class HttpsWatchTest : public HttpsTest {
protected:
    lines open(const std::shared_ptr<https_pool>& pool) {
        return loop_.wait_for(pool->open_lines(watch(), later())).value();
    }
    result<std::optional<std::string>> next(const lines& of,
                                            std::optional<instant> until = std::nullopt) {
        return loop_.wait_for(of->next(until.value_or(later())));
    }
};

TEST_F(HttpsWatchTest, LinesComeAsTheyAreWhateverTheirPieces) {
    small_server server{[](const std::string&, int) {
        return said{head + chunk("one\ntw") + chunk("o\r\n\n") + chunk("rest") + "0\r\n\r\n"};
    }};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    const auto watched = open(pool);
    EXPECT_EQ(watched->status(), 200U);
    for (const auto* line : {"one", "two", "", "rest"}) EXPECT_EQ(next(watched).value(), line);
    EXPECT_EQ(next(watched).value(), std::nullopt);
    EXPECT_EQ(next(watched).value(), std::nullopt);
}

TEST_F(HttpsWatchTest, AfterADeadlineTheNextLineIsStillThere) {
    small_server server{[](const std::string&, int) { return said{head + chunk("one\n")}; }};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    const auto watched = open(pool);
    EXPECT_EQ(next(watched).value(), "one");
    for (int i = 0; i < 2; ++i) {
        const auto none = next(watched, lease_clock::now() + std::chrono::milliseconds{50});
        ASSERT_TRUE(none.has_error());
        EXPECT_EQ(none.error().code, errc::unreachable);
        EXPECT_THAT(none.error().detail, HasSubstr("no line came in time"));
    }
    server.say_to_all(chunk("two\n"));
    EXPECT_EQ(next(watched).value(), "two");
}

TEST_F(HttpsWatchTest, AWatchThatIsCutIsAFailureAndNoEnd) {
    small_server server{
        [](const std::string&, int) { return said{head + chunk("one\nhalf"), then::close}; }};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    const auto watched = open(pool);
    EXPECT_EQ(next(watched).value(), "one");
    const auto cut = next(watched);
    ASSERT_TRUE(cut.has_error());
    EXPECT_EQ(cut.error().code, errc::unreachable);
    EXPECT_THAT(cut.error().detail, HasSubstr("closed within an answer"));
    EXPECT_TRUE(next(watched).has_error());
}

TEST_F(HttpsWatchTest, ALineHasABound) {
    small_server server{[](const std::string&, int) {
        return said{head + chunk(std::string(3000, 'a')) + chunk(std::string(3000, 'a'))};
    }};
    auto settings = plain(server.port());
    settings.body_max = 2000;
    const auto pool = https_pool::make(loop_, settings);
    const auto watched = open(pool);
    const auto long_one = next(watched);
    ASSERT_TRUE(long_one.has_error());
    EXPECT_EQ(long_one.error().code, errc::protocol);
    EXPECT_THAT(long_one.error().detail, HasSubstr("too long"));
}

TEST_F(HttpsWatchTest, WatchesTakeNoConnectionFromRequests) {
    small_server server{[](const std::string& request, int) {
        return said{request.starts_with("GET /watch") ? head + chunk("one\n") : ok("well")};
    }};
    auto settings = plain(server.port());
    settings.connections_max = 1;
    const auto pool = https_pool::make(loop_, settings);
    const auto one = open(pool), two = open(pool);
    EXPECT_EQ(next(one).value(), "one");
    EXPECT_EQ(ask(pool, {"GET", "/"}).value().body, "well");
    EXPECT_EQ(next(two).value(), "one");
    EXPECT_EQ(server.connections(), 3);
}

TEST_F(HttpsWatchTest, AWatchEndsWithItsPool) {
    small_server server{[](const std::string&, int) { return said{head}; }};
    const auto pool = https_pool::make(loop_, plain(server.port()));
    const auto watched = open(pool);
    const auto work = [&]() -> boost::asio::awaitable<result<std::optional<std::string>>> {
        boost::asio::co_spawn(
            loop_.get_executor(),
            [pool]() -> boost::asio::awaitable<void> {
                pool->close();
                co_return;
            }(),
            boost::asio::detached);
        auto waiting = watched->next(later());
        co_return co_await std::move(waiting);
    };
    EXPECT_TRUE(loop_.wait_for(work()).has_error());
}

TEST_F(HttpsWatchTest, AWatchMayOutliveItsLoop) {
    small_server server{[](const std::string&, int) { return said{head + chunk("one\n")}; }};
    lines watched;
    {
        loop own;
        const auto pool = https_pool::make(own, plain(server.port()));
        watched = own.wait_for(pool->open_lines(watch(), later())).value();
    }
    watched.reset();
}

}  // namespace
}  // namespace pawl::net
