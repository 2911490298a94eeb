// What every answer of the API carries, whichever route gives it.
#include "api/bare_api_fixture.hpp"

#include <boost/json.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pawl::api {
namespace {

class Api : public BareApi {
protected:
    static std::string field_of(const http::response& from, std::string_view name) {
        for (const auto& one : from.fields)
            if (one.name == name) return one.value;
        return {};
    }
};

// docs/http.md: after 503 a program asks again, and is told when.
TEST_F(Api, WhatTheServerHasNoRoomForMayBeAskedForAgain) {
    const auto rejected = api_->reject(503, "no room");
    EXPECT_EQ(field_of(rejected, "Retry-After"), "1");
    EXPECT_EQ(field_of(rejected, "Content-Type"), "application/problem+json");
    EXPECT_NE(field_of(rejected, "Content-Security-Policy"), "");
    EXPECT_EQ(field_of(api_->reject(400, "wrong"), "Retry-After"), "");
}

// Each status that the server answers by itself has its words.
TEST_F(Api, AProblemHasItsStatusInWords) {
    const std::pair<unsigned, const char*> all[] = {{400, "Bad Request"},
                                                    {408, "Request Timeout"},
                                                    {413, "Content Too Large"},
                                                    {431, "Request Header Fields Too Large"},
                                                    {500, "Internal Server Error"},
                                                    {503, "Service Unavailable"},
                                                    {505, "HTTP Version Not Supported"}};
    for (const auto& [status, words] : all)
        EXPECT_EQ(boost::json::parse(api_->reject(status, "why").body).at("title").as_string(),
                  words);
}

}  // namespace
}  // namespace pawl::api
