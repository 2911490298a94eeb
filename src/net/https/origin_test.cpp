#include "net/https/origin.hpp"

#include "net/https/https_fixture.hpp"

namespace pawl::net {
namespace {

TEST(Origin, IsASchemeAHostAndAPort) {
    const auto plain = parse_origin("http://host:81");
    ASSERT_TRUE(plain.has_value());
    EXPECT_FALSE(plain->secure);
    EXPECT_EQ(plain->host, "host");
    EXPECT_EQ(plain->port, 81);
    EXPECT_EQ(parse_origin("http://host/")->port, 80);
    EXPECT_EQ(parse_origin("https://host")->port, 443);
    EXPECT_TRUE(parse_origin("https://[::1]:8443")->secure);
    for (const auto* text : {"", "host", "ftp://host", "http://", "http://host/path",
                             "http://user:pw@host", "http://host?a=b", "http://a,b"})
        EXPECT_FALSE(parse_origin(text).has_value()) << text;
}

TEST(Origin, IsSplitFromWhatIsAskedThere) {
    EXPECT_EQ(split_origin("http://host:81/a/b?c=d").origin, "http://host:81");
    EXPECT_EQ(split_origin("http://host:81/a/b?c=d").target, "/a/b?c=d");
    EXPECT_EQ(split_origin("https://host").target, "/");
    EXPECT_EQ(split_origin("nonsense").origin, "nonsense");
}

class AskOnce : public HttpsTest {};

TEST_F(AskOnce, AsksAndClosesTheConnection) {
    small_server server{[](const std::string&, int) { return said{ok("hello")}; }};
    const auto at = "http://127.0.0.1:" + std::to_string(server.port());
    for (int i = 1; i <= 2; ++i) {
        https_request request{"GET", "/a"};
        const auto got = loop_.wait_for(ask_once(loop_, at, std::move(request), later()));
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(got->body, "hello");
        EXPECT_EQ(server.connections(), i);
    }
    https_request request{"GET", "/a"};
    const auto got = loop_.wait_for(ask_once(loop_, "nowhere", std::move(request), later()));
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), name_of(errc::denied));
}

}  // namespace
}  // namespace pawl::net
