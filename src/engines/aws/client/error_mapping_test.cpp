#include "engines/aws/client/error_mapping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::aws {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

errc code_of(unsigned status, const std::string& type, effect asked = effect::writes) {
    return explain_rejection("here", "service", {status, type, "words"}, asked).code;
}

TEST(Rejections, SayWhatMayHaveHappened) {
    EXPECT_EQ(code_of(500, "InternalServerError"), errc::outcome_unknown);
    EXPECT_EQ(code_of(503, ""), errc::outcome_unknown);
    EXPECT_EQ(code_of(500, "InternalServerError", effect::none), errc::unreachable);
    for (const auto* type : {"ThrottlingException", "ProvisionedThroughputExceededException",
                             "RequestLimitExceeded", "TransactionConflictException"})
        EXPECT_EQ(code_of(400, type), errc::unreachable) << type;
    EXPECT_EQ(code_of(400, "RequestTimeout"), errc::unreachable);
    // Not every server that says so has done nothing.
    for (const auto* type : {"SlowDown", "RequestTimeout"}) {
        EXPECT_EQ(code_of(503, type), errc::outcome_unknown) << type;
        EXPECT_EQ(code_of(503, type, effect::none), errc::unreachable) << type;
    }
    EXPECT_EQ(code_of(429, ""), errc::unreachable);
    // Of a balancer, which has waited for the service or not.
    EXPECT_EQ(code_of(425, ""), errc::unreachable);
    EXPECT_EQ(code_of(408, ""), errc::outcome_unknown);
    EXPECT_EQ(code_of(408, "", effect::none), errc::unreachable);
    for (const auto* type : {"AccessDeniedException", "UnrecognizedClientException",
                             "InvalidSignatureException", "ExpiredTokenException"})
        EXPECT_EQ(code_of(400, type), errc::denied) << type;
    EXPECT_EQ(code_of(403, ""), errc::denied);
    EXPECT_EQ(code_of(400, "ResourceNotFoundException"), errc::rejected);
    EXPECT_EQ(code_of(400, "ValidationException"), errc::rejected);
    EXPECT_EQ(code_of(400, "UnknownOperationException"), errc::unsupported);
    EXPECT_EQ(code_of(501, "NotImplemented"), errc::unsupported);
    EXPECT_EQ(code_of(404, ""), errc::protocol);
}

// A wrong signature is explained with the canonical request, and that has the keys' session in it.
TEST(Rejections, QuoteNoSignature) {
    const rejection wrong{403, "InvalidSignatureException", "x-amz-security-token:secret"};
    EXPECT_THAT(explain_rejection("here", "DynamoDB", wrong, effect::none).detail,
                Not(HasSubstr("secret")));
    const rejection denied{400, "AccessDeniedException",
                           "User: arn is not authorized\nto perform: dynamodb:PutItem"};
    EXPECT_EQ(explain_rejection("here", "DynamoDB", denied, effect::none).detail,
              "here: AccessDeniedException: User: arn is not authorized?to perform: "
              "dynamodb:PutItem, status 400");
    EXPECT_EQ(explain_rejection("here", "DynamoDB", {404, "", ""}, effect::none).detail,
              "here: this is not DynamoDB: status 404 without an error of its own");
}

}  // namespace
}  // namespace pawl::aws
