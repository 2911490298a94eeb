// The web UI as a browser, curl and a cache ask for it, over a table of three files.
#include "api/static_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace pawl::api {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

const std::array<ui::asset, 3> table{{
    {"/index.html", "text/html; charset=utf-8", "a1", false, bytes("<page>"), bytes("zipped page")},
    {"/main-AB12CD34.js", "text/javascript", "b2", true, bytes("script"), bytes("zipped script")},
    {"/pawl.svg", "image/svg+xml", "c3", false, bytes("<svg>"), {}},
}};

http::response ask(std::string path, std::vector<http::field> fields = {}) {
    http::request asked;
    asked.method = "GET";
    asked.path = std::move(path);
    asked.fields = std::move(fields);
    return serve_from(table, asked);
}

std::string field(const http::response& answered, std::string_view name) {
    for (const auto& one : answered.fields)
        if (one.name == name) return one.value;
    return "";
}

std::string body(const http::response& answered) {
    return answered.shared_body ? *answered.shared_body : answered.body;
}

TEST(Assets, AFileIsGivenWithItsTypeAndTag) {
    const auto answered = ask("/main-AB12CD34.js");
    EXPECT_EQ(answered.status, 200U);
    EXPECT_EQ(field(answered, "Content-Type"), "text/javascript");
    EXPECT_EQ(field(answered, "ETag"), "\"b2\"");
    EXPECT_EQ(body(answered), "script");
}

TEST(Assets, GzipIsGivenOnlyToWhoTakesIt) {
    for (const auto* takes : {"gzip", "br, gzip", "GZIP;q=0.5", "deflate , gzip ; q=1.0"}) {
        const auto answered = ask("/main-AB12CD34.js", {{"accept-encoding", takes}});
        EXPECT_EQ(field(answered, "Content-Encoding"), "gzip") << takes;
        EXPECT_EQ(body(answered), "zipped script") << takes;
    }
    for (const auto* not_taken : {"", "br", "gzip;q=0", "gzip; q=0.000", "xgzip"}) {
        const auto answered = ask("/main-AB12CD34.js", {{"accept-encoding", not_taken}});
        EXPECT_EQ(field(answered, "Content-Encoding"), "") << not_taken;
        EXPECT_EQ(body(answered), "script") << not_taken;
    }
}

TEST(Assets, WhatIsNoSmallerZippedIsGivenPlain) {
    const auto answered = ask("/pawl.svg", {{"accept-encoding", "gzip"}});
    EXPECT_EQ(field(answered, "Content-Encoding"), "");
    EXPECT_EQ(body(answered), "<svg>");
}

TEST(Assets, OnlyNamesThatChangeAreKeptForEver) {
    EXPECT_THAT(field(ask("/main-AB12CD34.js"), "Cache-Control"), HasSubstr("immutable"));
    EXPECT_EQ(field(ask("/index.html"), "Cache-Control"), "no-cache");
}

TEST(Assets, WhoHasItIsToldSoWithoutABody) {
    for (const auto* had : {"\"a1\"", "W/\"a1\"", "\"x\", \"a1\"", "*"}) {
        const auto answered = ask("/index.html", {{"if-none-match", had}});
        EXPECT_EQ(answered.status, 304U) << had;
        EXPECT_EQ(body(answered), "") << had;
        EXPECT_EQ(field(answered, "ETag"), "\"a1\"") << had;
    }
}

TEST(Assets, EncodingsHaveTagsOfTheirOwn) {
    const std::vector<http::field> zipped{{"accept-encoding", "gzip"}, {"if-none-match", "\"a1\""}};
    EXPECT_EQ(ask("/index.html", zipped).status, 200U);
    EXPECT_EQ(ask("/index.html", {{"if-none-match", "\"a\""}}).status, 200U);
}

TEST(Assets, AddressesOfThePageLeadToItsIndex) {
    for (const auto* path : {"/", "/locks", "/locks/job/report.v2", "/jobs/daily", "/sign-in"}) {
        const auto answered = ask(path, {{"accept", "text/html,application/xhtml+xml,*/*;q=0.8"}});
        EXPECT_EQ(answered.status, 200U) << path;
        EXPECT_EQ(body(answered), "<page>") << path;
    }
}

TEST(Assets, AScriptThatIsGoneIsNotThePage) {
    const auto answered = ask("/chunk-OLD00000.js", {{"accept", "*/*"}});
    EXPECT_EQ(answered.status, 404U);
    EXPECT_THAT(body(answered), HasSubstr("there is no /chunk-OLD00000.js"));
}

TEST(Assets, WithoutAPageOneSaysSo) {
    http::request asked;
    asked.method = "GET";
    asked.path = "/";
    const auto answered = serve_from({}, asked);
    EXPECT_EQ(answered.status, 200U);
    EXPECT_THAT(body(answered), HasSubstr("built without its web UI"));
    asked.path = "/locks";
    asked.fields = {{"accept", "text/html"}};
    EXPECT_EQ(serve_from({}, asked).status, 404U);
}

// Of the table that this binary has: whatever the web UI loads first is there, and sorted for
// search.
TEST(Assets, TheTableIsSortedAndWhole) {
    const auto all = ui::assets();
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                               [](const auto& a, const auto& b) { return a.path < b.path; }));
    for (const auto& one : all) {
        EXPECT_EQ(one.path.substr(0, 1), "/");
        EXPECT_NE(one.type, "") << one.path;
        EXPECT_NE(one.etag, "") << one.path;
        EXPECT_LT(one.gzip.size(), one.plain.size()) << one.path;
    }
    if (all.empty()) return;  // PAWL_UI=OFF
    http::request asked;
    asked.method = "GET";
    asked.path = "/";
    const auto index = body(serve_asset(asked));
    EXPECT_THAT(index, HasSubstr("<pawl-app>"));
    for (std::size_t at = 0; (at = index.find("src=\"", at)) != std::string::npos; ++at) {
        const auto end = index.find('"', at + 5);
        asked.path = index.substr(at + 5, end - at - 5);
        EXPECT_EQ(serve_asset(asked).status, 200U) << asked.path;
    }
}

}  // namespace
}  // namespace pawl::api
