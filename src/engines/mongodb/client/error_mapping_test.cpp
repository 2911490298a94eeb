#include "engines/mongodb/client/client.hpp"

#include <mongoc/mongoc.h>

#include <gmock/gmock.h>

namespace pawl::mongodb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

errc of_server(std::int64_t code, effect asked) {
    return explain_rejection("here", said_by_server(code, "words"), asked).code;
}
errc of_library(std::uint32_t domain, std::uint32_t code, effect asked,
                const std::string& words = "words") {
    return explain_rejection("here", {domain, code, words}, asked).code;
}

// Goal: `unreachable` only where nothing can have been written.
TEST(MongodbRejections, AWriteThatWasEndedOrWhosePrimaryIsGoneIsUnknown) {
    for (const auto code : {17, 50, 64, 91, 189, 10107, 11600, 11602, 13435, 13436}) {
        EXPECT_EQ(of_server(code, effect::writes), errc::outcome_unknown) << code;
        EXPECT_EQ(of_server(code, effect::none), errc::unreachable) << code;
    }
    for (const auto code : {48, 112, 134, 246, 365, 14031})
        EXPECT_EQ(of_server(code, effect::writes), errc::unreachable) << code;
}

// It is asked again, but no job runs without a lease for it.
TEST(MongodbRejections, AFullServerIsNoOutage) {
    for (const auto code : {365, 14031})
        EXPECT_TRUE(
            explain_rejection("here", said_by_server(code, "words"), effect::writes).answered);
    EXPECT_FALSE(explain_rejection("here", said_by_server(134, "words"), effect::none).answered);
}

TEST(MongodbRejections, WhatNoRetryHelpsIsSaid) {
    EXPECT_EQ(of_server(13, effect::writes), errc::denied);
    EXPECT_EQ(of_server(18, effect::none), errc::denied);
    EXPECT_EQ(of_server(148, effect::none), errc::unsupported);
    EXPECT_EQ(of_server(121, effect::writes), errc::rejected);
    EXPECT_THAT(
        explain_rejection("here", said_by_server(13, "not authorized\non pawl"), effect::none)
            .detail,
        HasSubstr("docs/stores/mongodb.md"));
}

TEST(MongodbRejections, AConnectionThatIsLostMayHaveCarriedAWrite) {
    EXPECT_EQ(of_library(MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, effect::writes),
              errc::outcome_unknown);
    EXPECT_EQ(of_library(MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, effect::none),
              errc::unreachable);
    for (const auto code : {MONGOC_ERROR_STREAM_CONNECT, MONGOC_ERROR_STREAM_NAME_RESOLUTION})
        EXPECT_EQ(of_library(MONGOC_ERROR_STREAM, code, effect::writes), errc::unreachable);
    EXPECT_EQ(of_library(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE,
                         effect::writes),
              errc::unreachable);
    EXPECT_EQ(of_library(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE,
                         effect::writes, "Authentication failed."),
              errc::denied);
    EXPECT_EQ(of_library(MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, effect::writes),
              errc::denied);
    EXPECT_EQ(
        of_library(MONGOC_ERROR_PROTOCOL, MONGOC_ERROR_PROTOCOL_INVALID_REPLY, effect::writes),
        errc::outcome_unknown);
}

TEST(MongodbRejections, AUriThatIsNoneIsRejectedWithoutItsPassword) {
    EXPECT_FALSE(uri_fault("mongodb://user:secret@host/db?tls=true").has_value());
    for (const auto* uri :
         {"mongodb://user:sec/ret@host/db", "mongodb://user:secret@/db",
          "mongodb+srv://user:secret@one,two/db", "mongodb://user:secret@host/db?tls=secret"})
        EXPECT_THAT(uri_fault(uri).value_or(""), Not(HasSubstr("secret"))) << uri;
    EXPECT_TRUE(uri_fault("mongodb+srv://user:secret@one,two/db").has_value());
}

}  // namespace
}  // namespace pawl::mongodb
