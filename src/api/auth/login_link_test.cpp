#include "api/auth/login_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

constexpr instant start{1'000s};
const login_key key{"http://127.0.0.1:7295", fresh_secret()};

std::string once_of(const std::string& link) { return link.substr(link.find("once=") + 5); }

TEST(LoginLink, WorksOnce) {
    login_links all;
    const auto link = make_login_link(key, start);
    EXPECT_THAT(link, StartsWith("http://127.0.0.1:7295/login?once="));
    EXPECT_TRUE(all.use(key, once_of(link), start));
    EXPECT_FALSE(all.use(key, once_of(link), start));
    EXPECT_NE(make_login_link(key, start), link);
}

TEST(LoginLink, EndsAfterAQuarterOfAnHour) {
    login_links all;
    const auto once = once_of(make_login_link(key, start));
    EXPECT_FALSE(all.use(key, once, start + 15min));
    EXPECT_TRUE(all.use(key, once, start + 15min - 1ms));
    EXPECT_FALSE(all.use(key, once, start + 15min));
}

// What was used is remembered for as long as it would work, however many there are.
TEST(LoginLink, IsRememberedUntilItEnds) {
    login_links all;
    const auto first = once_of(make_login_link(key, start));
    EXPECT_TRUE(all.use(key, first, start));
    for (int i = 0; i < 2'000; ++i)
        ASSERT_TRUE(all.use(key, once_of(make_login_link(key, start)), start));
    EXPECT_FALSE(all.use(key, first, start + 14min));
}

TEST(LoginLink, IsMadeOnlyByAHolderOfTheKey) {
    login_links all;
    const login_key other{key.url, fresh_secret()};
    const auto once = once_of(make_login_link(key, start));
    EXPECT_FALSE(all.use(other, once, start));
    // A later end, under the same proof.
    const auto dot = once.find('.');
    auto later = once;
    later.insert(dot + 1, "9");
    for (const auto& bad : {later, once + "x", once.substr(1), std::string{}, std::string{"."},
                            std::string{".."}, std::string{"a.b.c"}, once.substr(0, dot)})
        EXPECT_FALSE(all.use(key, bad, start)) << bad;
    EXPECT_TRUE(all.use(key, once, start));
}

TEST(LoginLink, ItsKeyIsReadAsItWasWritten) {
    const auto read = login_key_in(text_of(key));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->url, key.url);
    EXPECT_EQ(read->secret, key.secret);
    for (const auto& bad : {std::string{}, std::string{"\n"}, key.secret, key.url + "\n",
                            text_of(key) + "more\n", key.url + '\n' + key.secret})
        EXPECT_FALSE(login_key_in(bad)) << bad;
}

}  // namespace
}  // namespace pawl::api
