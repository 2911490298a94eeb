#include "engines/azblob/client/error_mapping.hpp"

#include <gtest/gtest.h>

namespace pawl::azblob {
namespace {

errc code_of(unsigned status, const std::string& code, effect asked = effect::writes) {
    return explain_rejection("here", {status, code, "words"}, asked).code;
}

TEST(Rejections, SayWhetherAnythingCanHaveBeenWritten) {
    EXPECT_EQ(code_of(500, "InternalError"), errc::outcome_unknown);
    EXPECT_EQ(code_of(500, "OperationTimedOut"), errc::outcome_unknown);
    EXPECT_EQ(code_of(503, "ServerBusy"), errc::outcome_unknown);
    EXPECT_EQ(code_of(502, ""), errc::outcome_unknown);
    EXPECT_EQ(code_of(503, "ServerBusy", effect::none), errc::unreachable);
    EXPECT_EQ(code_of(429, ""), errc::unreachable);
    // Of a balancer, which has waited for the service or not.
    EXPECT_EQ(code_of(425, ""), errc::unreachable);
    EXPECT_EQ(code_of(408, ""), errc::outcome_unknown);
    EXPECT_EQ(code_of(408, "", effect::none), errc::unreachable);
    EXPECT_EQ(code_of(409, "ContainerBeingDeleted"), errc::unreachable);
    EXPECT_EQ(code_of(403, "AuthenticationFailed"), errc::denied);
    EXPECT_EQ(code_of(401, "NoAuthenticationInformation"), errc::denied);
    EXPECT_EQ(code_of(412, "LeaseIdMissing"), errc::rejected);
    EXPECT_EQ(code_of(400, "UnsupportedHeader"), errc::unsupported);
    EXPECT_EQ(code_of(404, ""), errc::protocol);
}

TEST(Rejections, TellAConflictFromEverythingElse) {
    EXPECT_TRUE(is_conflict({412, "ConditionNotMet", ""}));
    EXPECT_TRUE(is_conflict({409, "BlobAlreadyExists", ""}));
    EXPECT_TRUE(is_conflict({404, "BlobNotFound", ""}));
    EXPECT_FALSE(is_conflict({412, "LeaseIdMissing", ""}));
    EXPECT_FALSE(is_conflict({409, "ContainerBeingDeleted", ""}));
    EXPECT_FALSE(is_conflict({404, "ContainerNotFound", ""}));
    EXPECT_FALSE(is_conflict({404, "", ""}));
    EXPECT_TRUE(lacks_container({404, "ContainerNotFound", ""}));
    EXPECT_TRUE(lacks_container({409, "ContainerBeingDeleted", ""}));
    EXPECT_FALSE(lacks_container({404, "BlobNotFound", ""}));
}

// A wrong signature is explained with what was signed.
TEST(Rejections, QuoteNoSignature) {
    net::https_response answer;
    answer.status = 403;
    answer.fields = {{"x-ms-error-code", "AuthenticationFailed"}};
    answer.body =
        "<Error><Code>AuthenticationFailed</Code><Message>Server failed\nRequestId:1</Message>"
        "<AuthenticationErrorDetail>secret</AuthenticationErrorDetail></Error>";
    EXPECT_EQ(read_rejection(answer).message, "Server failed");
    EXPECT_EQ(explain_rejection("here", read_rejection(answer), effect::none).detail,
              "here: AuthenticationFailed, status 403");
    answer.status = 412;
    answer.fields = {{"x-ms-error-code", "LeaseIdMissing"}};
    EXPECT_EQ(explain_rejection("here", read_rejection(answer), effect::none).detail,
              "here: LeaseIdMissing, Server failed, status 412");
}

}  // namespace
}  // namespace pawl::azblob
