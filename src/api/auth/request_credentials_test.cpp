#include "api/auth/request_credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

http::request with(std::vector<http::field> fields) {
    http::request one;
    one.method = "GET";
    one.fields = std::move(fields);
    return one;
}

TEST(RequestCredentials, ABearerIsTakenOutOfItsField) {
    EXPECT_EQ(bearer_of(with({{"authorization", "Bearer abc"}})), "abc");
    EXPECT_EQ(bearer_of(with({{"authorization", "bearer   abc\t"}})), "abc");
    EXPECT_EQ(bearer_of(with({{"authorization", "Bearer "}})), "");
    for (const std::string other : {"", "Bearer", "Basic YTpi", "Bearerabc", "abc"})
        EXPECT_EQ(bearer_of(with({{"authorization", other}})), std::nullopt) << other;
    EXPECT_EQ(bearer_of(with({{"cookie", "authorization=Bearer abc"}})), std::nullopt);
}

TEST(RequestCredentials, CookiesAreFoundAmongOthers) {
    EXPECT_THAT(cookies_of(with({{"cookie", "a=1; pawl_session=x; b=2"}}), "pawl_session"),
                ElementsAre("x"));
    EXPECT_THAT(cookies_of(with({{"cookie", "pawl_session=x"}, {"cookie", "pawl_session=y=z"}}),
                           "pawl_session"),
                ElementsAre("x", "y=z"));
    for (const std::string none :
         {"", ";", "=", "pawl_session", "xpawl_session=x", "pawl_session2=x", "a=pawl_session=x"})
        EXPECT_THAT(cookies_of(with({{"cookie", none}}), "pawl_session"), ElementsAre()) << none;
    std::string many;
    for (int i = 0; i < 1'000; ++i) many += "pawl_session=x;";
    EXPECT_EQ(cookies_of(with({{"cookie", many}}), "pawl_session").size(), cookies_max);
}

TEST(RequestCredentials, OnlyMethodsThatChangeNothingAreReading) {
    http::request one;
    for (const char* method : {"GET", "HEAD", "OPTIONS"}) {
        one.method = method;
        EXPECT_TRUE(is_reading(one)) << method;
    }
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "get", "WHATEVER", ""}) {
        one.method = method;
        EXPECT_FALSE(is_reading(one)) << method;
    }
}

TEST(RequestCredentials, WhatABrowserSaysOfItsPageCounts) {
    for (const char* own : {"same-origin", "none"})
        EXPECT_FALSE(is_from_other_site(with({{"sec-fetch-site", own}}))) << own;
    for (const char* other : {"cross-site", "same-site", "nonsense"})
        EXPECT_TRUE(is_from_other_site(with({{"sec-fetch-site", other}}))) << other;
    // The web UI's own address stands in Host, unless a proxy has changed it.
    EXPECT_FALSE(is_from_other_site(
        with({{"sec-fetch-site", "same-origin"}, {"origin", "https://a"}, {"host", "b"}})));
    EXPECT_FALSE(is_from_other_site(with({{"host", "h:1"}})));
}

TEST(RequestCredentials, WithoutThatWordTheOriginHasToBeOurs) {
    EXPECT_FALSE(is_from_other_site(with({{"origin", "http://h:1"}, {"host", "H:1"}})));
    EXPECT_FALSE(is_from_other_site(with({{"origin", "https://h"}, {"host", "h"}})));
    for (const char* other :
         {"http://h:2", "http://h:11", "http://h", "null", "h:1", "http://evil", "http://h:1/"})
        EXPECT_TRUE(is_from_other_site(with({{"origin", other}, {"host", "h:1"}}))) << other;
    EXPECT_TRUE(is_from_other_site(with({{"origin", "http://h"}})));
}

TEST(RequestCredentials, AProxyHereIsNotThisMachine) {
    auto one = with({});
    EXPECT_FALSE(is_from_this_machine(one));
    one.from_loopback = true;
    EXPECT_TRUE(is_from_this_machine(one));
    for (const char* name : {"forwarded", "x-forwarded-for"}) {
        one.fields = {{name, "for=192.0.2.1"}};
        EXPECT_FALSE(is_from_this_machine(one)) << name;
    }
}

TEST(RequestCredentials, TheRejectionOfALinkSaysWhatToDo) {
    const auto page = login_rejected_page();
    EXPECT_EQ(page.status, 403u);
    EXPECT_THAT(page.body, HasSubstr("works once"));
    EXPECT_THAT(page.body, HasSubstr("pawl token new"));
}

// Goal: a page whose name was let resolve to this machine reads nothing (DNS rebinding).
TEST(RequestCredentials, AListenerOfTheLoopbackIsAskedByItsOwnNames) {
    auto one = with({{"host", ""}});
    const auto is_other = [&](const std::string& host, const std::vector<std::string>& hosts = {}) {
        one.fields[0].value = host;
        return is_for_other_host(one, hosts);
    };
    one.to_loopback = true;
    for (const auto* own :
         {"localhost", "LOCALHOST:7295", "pawl.localhost:1", "127.0.0.1", "127.0.0.1:7295",
          "127.1.2.3", "[::1]", "[::1]:7295", "localhost.:80", ""})
        EXPECT_FALSE(is_other(own)) << own;
    for (const auto* other :
         {"evil.example", "evil.example:7295", "127.0.0.1.evil.example", "localhost.evil.example",
          "192.0.2.1:7295", "[::2]:7295", "[", "0.0.0.0"})
        EXPECT_TRUE(is_other(other)) << other;
    EXPECT_FALSE(is_other("Pawl.Example.com:443", {"pawl.example.com"}));
    EXPECT_TRUE(is_other("pawl.example.org", {"pawl.example.com"}));
    one.fields.clear();
    EXPECT_FALSE(is_for_other_host(one, {}));
    // Elsewhere its names are the network's.
    one.fields.push_back({"host", "evil.example"});
    one.to_loopback = false;
    EXPECT_FALSE(is_for_other_host(one, {}));
}

}  // namespace
}  // namespace pawl::api
