#include "net/https/proxy.hpp"

#include "net/https/https_pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pawl::net {
namespace {

TEST(Proxy, IsReadWithItsCredentials) {
    const auto whole = parse_proxy("http://user:p%40ss@proxy.example:8080/");
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(whole->host, "proxy.example");
    EXPECT_EQ(whole->port, 8080);
    EXPECT_EQ(whole->authorization, "Basic dXNlcjpwQHNz");  // user:p@ss

    const auto bare = parse_proxy("10.0.0.1");
    ASSERT_TRUE(bare.has_value());
    EXPECT_EQ(bare->host, "10.0.0.1");
    EXPECT_EQ(bare->port, 3128);
    EXPECT_EQ(bare->authorization, "");
}

TEST(Proxy, AFaultDoesNotShowThePassword) {
    for (const auto* text : {"https://user:secret@proxy", "socks5://user:secret@proxy",
                             "http://user:secret@", "http://user:secret@a,b"}) {
        const auto read = parse_proxy(text);
        ASSERT_TRUE(read.has_error()) << text;
        EXPECT_EQ(read.error().code, errc::unsupported);
        EXPECT_EQ(read.error().detail,
                  "invalid proxy; expected http://[user:password@]host[:port]");
    }
}

TEST(Proxy, NoProxyNamesHostsDomainsAddressesAndNetworks) {
    constexpr auto* list = "internal.example, .corp ,10.0.0.0/8,192.168.1.1,fd00::/8,*.svc";
    for (const auto* host : {"internal.example", "A.Internal.Example", "a.corp", "10.20.30.40",
                             "192.168.1.1", "fd00::1", "kubernetes.default.svc", "corp"})
        EXPECT_TRUE(is_exempt(list, host)) << host;
    for (const auto* host : {"example", "notinternal.example", "acorp", "11.0.0.1", "192.168.1.2",
                             "fe00::1", "internal.example.org"})
        EXPECT_FALSE(is_exempt(list, host)) << host;
    EXPECT_TRUE(is_exempt("*", "anything"));
    EXPECT_FALSE(is_exempt("", "anything"));
    EXPECT_FALSE(is_exempt(",,", "anything"));
}

// What the environment says, until the end of the test.
class setting {
public:
    setting(const char* name, const char* value) : name_{name} {
        if (const auto* old = std::getenv(name)) old_ = old;
        ::setenv(name, value, 1);
    }
    ~setting() {
        if (old_)
            ::setenv(name_, old_->c_str(), 1);
        else
            ::unsetenv(name_);
    }
    setting(const setting&) = delete;
    setting& operator=(const setting&) = delete;

private:
    const char* name_;
    std::optional<std::string> old_;
};

TEST(Proxy, TheEnvironmentNamesOneForEachScheme) {
    const setting lower{"https_proxy", ""}, lower_plain{"http_proxy", ""}, lower_no{"no_proxy", ""};
    const setting secure{"HTTPS_PROXY", "http://one"}, plain{"HTTP_PROXY", "http://two"},
        exempt{"NO_PROXY", "near.example"};
    https_settings settings;
    settings.host = "far.example";
    EXPECT_EQ(proxy_of_environment(settings), "http://one");
    settings.secure = false;
    EXPECT_EQ(proxy_of_environment(settings), "http://two");
    settings.host = "near.example";
    EXPECT_EQ(proxy_of_environment(settings), "");
    for (const auto* host : {"localhost", "127.0.0.1", "::1"}) {
        settings.host = host;
        EXPECT_EQ(proxy_of_environment(settings), "") << host;
    }
    settings.host = "far.example";
    const setting over{"http_proxy", "http://three"};
    EXPECT_EQ(proxy_of_environment(settings), "http://three");
}

}  // namespace
}  // namespace pawl::net
