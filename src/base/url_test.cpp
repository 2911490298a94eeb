#include "base/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::base {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

store_url read(std::string_view text) { return parse_store_url(text).value(); }

TEST(StoreUrl, ReadsEveryFormOfTheContract) {
    EXPECT_EQ(read("memory:").scheme, "memory");
    EXPECT_EQ(read("sqlite:/var/lib/pawl/pawl.db").path, "/var/lib/pawl/pawl.db");
    EXPECT_EQ(read("sqlite:///var/lib/pawl/pawl.db").path, "/var/lib/pawl/pawl.db");
    EXPECT_EQ(read("sqlite:pawl.db").path, "pawl.db");
    EXPECT_EQ(read("redis+unix:/run/redis.sock").path, "/run/redis.sock");
    const auto one = read("redis://user:pa%40ss@host:6380/3?timeout=1s&namespace=x");
    EXPECT_EQ(one.user, "user");
    EXPECT_EQ(one.password, "pa@ss");
    EXPECT_EQ(one.endpoints, (std::vector<endpoint>{{"host", 6380}}));
    EXPECT_EQ(one.path, "3");
    ASSERT_NE(one.find("timeout"), nullptr);
    EXPECT_EQ(*one.find("timeout"), "1s");
    EXPECT_EQ(one.find("nothing"), nullptr);
    EXPECT_EQ(read("redis+sentinel://a:1,b,[::1]:3/master/2").endpoints,
              (std::vector<endpoint>{{"a", 1}, {"b", 0}, {"::1", 3}}));
    EXPECT_EQ(read("redis://:secret@h").password, "secret");
    EXPECT_FALSE(read("redis://:secret@h").user);
}

// libpq finds what is left out by itself.
TEST(StoreUrl, APostgresqlUrlMayLackItsHost) {
    EXPECT_TRUE(read("postgresql:///db").endpoints.empty());
    EXPECT_EQ(read("postgresql://user@/db").endpoints, (std::vector<endpoint>{{"", 0}}));
    EXPECT_EQ(read("postgres://:6432/db").endpoints, (std::vector<endpoint>{{"", 6432}}));
    EXPECT_EQ(read("postgresql://%2Frun%2Fpostgresql/db").endpoints,
              (std::vector<endpoint>{{"/run/postgresql", 0}}));
    EXPECT_EQ(read("postgresql://a:1,b/db").endpoints, (std::vector<endpoint>{{"a", 1}, {"b", 0}}));
}

// People write '@' and ':' into passwords; the last '@' ends the credentials.
TEST(StoreUrl, ForgivesAnUnencodedAtSignInThePassword) {
    const auto one = read("redis://u:p@ss:word@h:1");
    EXPECT_EQ(one.password, "p@ss:word");
    EXPECT_EQ(one.endpoints.front().host, "h");
}

TEST(StoreUrl, RejectsWithTheColumn) {
    const struct {
        std::string text;
        std::size_t column;
    } cases[] = {{"", 0},
                 {"redis", 0},
                 {"Redis://h", 0},
                 {"redis://h:0", 10},
                 {"redis://h:70000", 10},
                 {"redis://h:x", 10},
                 {"redis://a,,b", 10},
                 {"redis://[::1", 8},
                 {"redis://[::1]x", 13},
                 {"redis://h/%4", 10},
                 {"redis://h/%zz", 10},
                 {"redis://h/%00", 10},
                 {"redis://h?x", 10},
                 {"redis://h?=1", 10},
                 {"redis://h?a=1&a=2", 14},
                 {"redis://h /0", 9},
                 {"redis://u:%@h", 10},
                 {std::string(5000, 'a'), 4096}};
    for (const auto& [text, column] : cases) {
        const auto parsed = parse_store_url(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_EQ(parsed.error().column, column) << text;
    }
}

TEST(StoreUrl, IsShownWithoutItsSecret) {
    EXPECT_EQ(redact_url("redis://u:p@ss@h/0?password=x&ca=y"),
              "redis://u:***@h/0?password=***&ca=y");
    EXPECT_EQ(redact_url("redis://:secret@h"), "redis://:***@h");
    EXPECT_EQ(redact_url("sqlite:/a@b:c"), "sqlite:/a@b:c");
    EXPECT_EQ(redact_url("azblob://account/box?sas=x&a=b"), "azblob://account/box?sas=***&a=b");
    EXPECT_EQ(redact_url("postgresql://h/?sslpassword=x&notify=postgresql%3A%2F%2Fu%3Ap%40h&a=b"),
              "postgresql://h/?sslpassword=***&notify=***&a=b");
    // Those of libpq 18; whatever is a keyword to the libpq that is there may stand in a URL.
    EXPECT_EQ(redact_url("postgresql://h/?oauth_client_secret=x&scram_client_key=y"
                         "&scram_server_key=z&oauth_client_id=a"),
              "postgresql://h/?oauth_client_secret=***&scram_client_key=***"
              "&scram_server_key=***&oauth_client_id=a");
    EXPECT_EQ(
        redact_url("mongodb://h/db?tlsCertificateKeyFilePassword=x&authMechanismProperties=y"),
        "mongodb://h/db?tlsCertificateKeyFilePassword=***&authMechanismProperties=***");
    EXPECT_EQ(redact_url("redis://h/?a=1&password=secret"), "redis://h/?a=1&password=***");
    EXPECT_EQ(redact_url("redis://h/?p%61ssword=secret"), "redis://h/?p%61ssword=***");
}

// People forget to encode a password. What then stands there is no URL, and no part of the password
// may be shown, whichever character split it.
TEST(StoreUrl, APasswordThatIsNotEncodedIsNeitherShownNorHandedOn) {
    for (const auto* given :
         {"redis://u:sec/ret@h:6379", "redis://u:12/ret@h:6379/0", "redis://:12/34/56@h",
          "redis://u:sec?ret@h", "redis://u:sec?ret=1@h/0?ca=y", "redis://u:s@sec/ret@h",
          "redis://u:sec/ret:12@h", "redis://sec/ret@h", "redis://u:sec ret@h", "redis:u:secret@h",
          "redis//u:secret@h", "redis://u:sec%ret@h", "redis://u:sec/?ret@h?a=b"}) {
        const auto parsed = parse_store_url(given);
        ASSERT_TRUE(parsed.has_error()) << given;
        EXPECT_THAT(parsed.error().what, Not(ContainsRegex("sec|ret|12"))) << given;
        EXPECT_THAT(redact_url(given), Not(ContainsRegex("sec|ret|12"))) << given;
        EXPECT_THAT(without_secrets(given), Not(ContainsRegex("sec|ret|12"))) << given;
        EXPECT_THAT(redact_url(given), HasSubstr("***@h")) << given;
    }
    // A '#' splits nothing, and neither does an '@' in front of the last.
    EXPECT_EQ(parse_store_url("redis://u:p#a@b@h/0")->password, "p#a@b");
    EXPECT_EQ(redact_url("redis://u:p#a@b@h/0"), "redis://u:***@h/0");
    // A path may have an '@', in its place.
    EXPECT_EQ(parse_store_url("etcd://h:1/a%40b")->path, "a@b");
    EXPECT_EQ(parse_store_url("sqlite:./a:b@c")->path, "./a:b@c");
    EXPECT_EQ(redact_url("redis://h:6379?user=me@corp"), "redis://h:6379?user=me@corp");
}

TEST(StoreUrl, AHintSaysHowAPasswordIsEncoded) {
    EXPECT_THAT(parse_store_url("redis://u:12/34@h").error().what, HasSubstr("%2F"));
    EXPECT_THAT(parse_store_url("redis://u:12?34@h").error().what, HasSubstr("%3F"));
}

// What a child is handed: another process may see it, so no secret stands in it.
TEST(StoreUrl, IsHandedOnWithoutItsSecret) {
    const std::pair<const char*, const char*> cases[]{
        {"redis://u:p@ss@h/0?password=x&ca=y", "redis://u@h/0?ca=y"},
        {"redis://:secret@h:1,i:2/3", "redis://h:1,i:2/3"},
        {"redis://h/?password=a&sslpassword=b", "redis://h/"},
        {"redis://h?a=1&p%61ssword=b&c=2", "redis://h?a=1&c=2"},
        {"postgresql://u@h/?notify=postgresql%3A%2F%2Fu%3Ap%40h&a=b", "postgresql://u@h/?a=b"},
        {"redis://u@h?password_file=/etc/pawl/secret",
         "redis://u@h?password_file=/etc/pawl/secret"},
        {"sqlite:/a@b:c", "sqlite:/a@b:c"},
    };
    for (const auto& [given, handed_on] : cases) {
        EXPECT_EQ(without_secrets(given), handed_on);
        EXPECT_TRUE(secrets_in(without_secrets(given)).empty());
    }
}

}  // namespace
}  // namespace pawl::base
