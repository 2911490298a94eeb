#include "http/router.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::http {
namespace {

using ::testing::ElementsAre;

// The routes of the API that could be taken for one another.
router made() {
    router routes;
    routes.add("GET", "/");                                       // 0
    routes.add("GET", "/api/v1/locks");                           // 1
    routes.add("GET", "/api/v1/locks/{key*}");                    // 2
    routes.add("POST", "/api/v1/locks/release");                  // 3
    routes.add("GET", "/api/v1/runs/{id}");                       // 4
    routes.add("GET", "/api/v1/runs/{id}/output");                // 5
    routes.add("PUT", "/api/v1/leases/{key*}/{fence_token}");     // 6
    routes.add("DELETE", "/api/v1/leases/{key*}/{fence_token}");  // 7
    routes.add("GET", "/{file}");                                 // 8
    routes.add("GET", "/healthz");                                // 9
    return routes;
}

const matched& expect_match(const match& found, std::size_t route) {
    static const matched none{};
    const auto* one = std::get_if<matched>(&found);
    if (one == nullptr) {
        ADD_FAILURE() << "no match";
        return none;
    }
    EXPECT_EQ(one->route, route);
    return *one;
}

TEST(Router, FindsARouteByItsPlaceInTheOrderOfAdding) {
    const auto routes = made();
    expect_match(routes.find("GET", "/"), 0);
    expect_match(routes.find("GET", "/api/v1/locks"), 1);
    expect_match(routes.find("POST", "/api/v1/locks/release"), 3);
}

TEST(Router, LiteralSegmentsWinOverNames) {
    const auto routes = made();
    EXPECT_TRUE(expect_match(routes.find("GET", "/healthz"), 9).values.empty());
    EXPECT_EQ(expect_match(routes.find("GET", "/readyz"), 8).values.at("file"), "readyz");
}

TEST(Router, OneSegmentWinsOverSeveral) {
    router routes;
    routes.add("GET", "/a/{rest*}");
    routes.add("GET", "/a/{one}");
    routes.add("GET", "/a/{one}/b");
    expect_match(routes.find("GET", "/a/1"), 1);
    expect_match(routes.find("GET", "/a/1/b"), 2);
    EXPECT_EQ(expect_match(routes.find("GET", "/a/1/c"), 0).values.at("rest"), "1/c");
}

// The order in which routes are added decides nothing.
TEST(Router, TheMoreParticularRouteWinsWhicheverCameFirst) {
    for (const bool particular_first : {true, false}) {
        router routes;
        if (particular_first) routes.add("GET", "/x/y");
        routes.add("GET", "/x/{name}");
        if (!particular_first) routes.add("GET", "/x/y");
        expect_match(routes.find("GET", "/x/y"), particular_first ? 0 : 1);
    }
}

TEST(Router, AKeyWithSlashesIsOneValue) {
    const auto routes = made();
    EXPECT_EQ(expect_match(routes.find("GET", "/api/v1/locks/job/a"), 2).values.at("key"), "job/a");
    EXPECT_EQ(expect_match(routes.find("GET", "/api/v1/locks/job%2Fa"), 2).values.at("key"),
              "job/a");
    EXPECT_EQ(expect_match(routes.find("GET", "/api/v1/locks//a//b/"), 2).values.at("key"),
              "/a//b/");
}

TEST(Router, WhatFollowsAKeyIsNotPartOfIt) {
    const auto routes = made();
    const auto found = expect_match(routes.find("PUT", "/api/v1/leases/job/a/0/17"), 6);
    EXPECT_EQ(found.values.at("key"), "job/a/0");
    EXPECT_EQ(found.values.at("fence_token"), "17");
    expect_match(routes.find("DELETE", "/api/v1/leases/k/1"), 7);
    EXPECT_TRUE(std::holds_alternative<no_such_path>(routes.find("PUT", "/api/v1/leases/17")));
}

// A lock may be called "release": only the method tells the two apart.
TEST(Router, AMethodIsLookedForUnderEveryPatternThatFits) {
    EXPECT_EQ(expect_match(made().find("GET", "/api/v1/locks/release"), 2).values.at("key"),
              "release");
}

TEST(Router, AnEmptySegmentIsNoValue) {
    const auto routes = made();
    EXPECT_TRUE(std::holds_alternative<no_such_path>(routes.find("GET", "/api/v1/locks/")));
    EXPECT_TRUE(std::holds_alternative<no_such_path>(routes.find("GET", "/api/v1/runs//output")));
    EXPECT_TRUE(std::holds_alternative<no_such_path>(routes.find("PUT", "/api/v1/leases//17")));
}

TEST(Router, AWrongMethodIsToldTheRightOnes) {
    const auto routes = made();
    const auto found = routes.find("PATCH", "/api/v1/locks/release");
    ASSERT_TRUE(std::holds_alternative<no_such_method>(found));
    EXPECT_THAT(std::get<no_such_method>(found).allowed, ElementsAre("GET", "HEAD", "POST"));
    const auto leases = routes.find("GET", "/api/v1/leases/k/1");
    ASSERT_TRUE(std::holds_alternative<no_such_method>(leases));
    EXPECT_THAT(std::get<no_such_method>(leases).allowed, ElementsAre("DELETE", "PUT"));
}

TEST(Router, HeadIsAnsweredByGetUnlessThereIsARouteForIt) {
    auto routes = made();
    expect_match(routes.find("HEAD", "/api/v1/locks"), 1);
    routes.add("HEAD", "/api/v1/locks");
    expect_match(routes.find("HEAD", "/api/v1/locks"), 10);
    expect_match(routes.find("GET", "/api/v1/locks"), 1);
}

TEST(Router, AnUnknownPathIsNoRoute) {
    const auto routes = made();
    for (const auto* path :
         {"/api/v1", "/api/v1/runs", "/api/v1/runs/1/2", "/a/b", "/api/v1/locks2"})
        EXPECT_TRUE(std::holds_alternative<no_such_path>(routes.find("GET", path))) << path;
}

TEST(Router, ABrokenPathSaysSoInOneLine) {
    const auto routes = made();
    for (const auto* path : {"", "api", "/%", "/%4", "/%zz", "/%00", "/a%0ab", "/%ff", "/\xc3"}) {
        const auto found = routes.find("GET", path);
        ASSERT_TRUE(std::holds_alternative<bad_path>(found)) << path;
        const auto& why = std::get<bad_path>(found).why;
        EXPECT_FALSE(why.empty());
        EXPECT_EQ(why.find('\n'), std::string::npos);
    }
}

TEST(RouterDeathTest, TwoRoutesOfOneKindAreAMistake) {
    auto routes = made();
    EXPECT_DEATH(routes.add("GET", "/healthz"), "");
    EXPECT_DEATH(routes.add("GET", "/{a}/{a}"), "");
    EXPECT_DEATH(routes.add("GET", "/{a*}/{b*}"), "");
    EXPECT_DEATH(routes.add("GET", "a"), "");
}

TEST(Percent, OnlyWholeEscapesOfUtf8WithoutControlsAreDecoded) {
    EXPECT_EQ(percent_decode("a%2fb%2Fc+d"), "a/b/c+d");
    for (const auto* text : {"%", "%1", "%g0", "%0g", "% 1", "%00", "%1f", "%7f", "\x1b", "%c3",
                             "%c0%80", "%ed%a0%80", "%f4%90%80%80", "%e2%82", "%c2%85", "%80"})
        EXPECT_EQ(percent_decode(text), std::nullopt) << text;
    EXPECT_TRUE(percent_decode("%c2%a0%ed%9f%bf%ee%80%80%f4%8f%bf%bf%e0%a0%80%f0%90%80%80"));
}

TEST(Query, PairsAreDecodedAndTheLastOfANameWins) {
    const auto pairs = parse_query("prefix=job%2F&limit=10&limit=20&&flag&empty=&sum=a=b&text=a+b");
    ASSERT_TRUE(pairs);
    EXPECT_EQ(*pairs, (parameters{{"prefix", "job/"},
                                  {"limit", "20"},
                                  {"flag", ""},
                                  {"empty", ""},
                                  {"sum", "a=b"},
                                  {"text", "a b"}}));
    EXPECT_EQ(parse_query(""), parameters{});
}

TEST(Query, ABrokenPairSpoilsTheWhole) {
    for (const auto* text : {"a=%", "%zz=1", "a=1&b=%00", "a=%ff", "a=\n"})
        EXPECT_EQ(parse_query(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pawl::http
