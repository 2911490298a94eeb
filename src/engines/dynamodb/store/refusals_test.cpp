#include "engines/dynamodb/store/refusals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::dynamodb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

errc code_of(unsigned status, const std::string& type, effect asked = effect::writes) {
    return explain_refusal("here", {status, type, "words"}, asked).code;
}

TEST(Refusals, SayWhatMayHaveHappened) {
    EXPECT_EQ(code_of(500, "InternalServerError"), errc::outcome_unknown);
    EXPECT_EQ(code_of(503, ""), errc::outcome_unknown);
    EXPECT_EQ(code_of(500, "InternalServerError", effect::none), errc::unreachable);
    for (const auto* type : {"ThrottlingException", "ProvisionedThroughputExceededException",
                             "RequestLimitExceeded", "TransactionConflictException"})
        EXPECT_EQ(code_of(400, type), errc::unreachable) << type;
    for (const auto* type : {"AccessDeniedException", "UnrecognizedClientException",
                             "InvalidSignatureException", "ExpiredTokenException"})
        EXPECT_EQ(code_of(400, type), errc::denied) << type;
    EXPECT_EQ(code_of(403, ""), errc::denied);
    EXPECT_EQ(code_of(400, "ResourceNotFoundException"), errc::rejected);
    EXPECT_EQ(code_of(400, "ValidationException"), errc::rejected);
    EXPECT_EQ(code_of(400, "UnknownOperationException"), errc::unsupported);
    EXPECT_EQ(code_of(404, ""), errc::protocol);
}

TEST(Refusals, StatementsOfABatchSayItOneByOne) {
    EXPECT_EQ(explain_statement("here", "ThrottlingError").code, errc::unreachable);
    EXPECT_EQ(explain_statement("here", "InternalServerError").code, errc::outcome_unknown);
    EXPECT_EQ(explain_statement("here", "AccessDenied").code, errc::denied);
    EXPECT_EQ(explain_statement("here", "ResourceNotFound").code, errc::rejected);
    EXPECT_EQ(explain_statement("here", "of a later year").code, errc::outcome_unknown);
}

TEST(Refusals, AreReadFromTheBody) {
    const auto read = read_refusal(
        400, R"({"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"a"})");
    EXPECT_EQ(read.type, "ThrottlingException");
    EXPECT_EQ(read.message, "a");
    EXPECT_EQ(read_refusal(400, R"({"__type":"A","Message":"b"})").message, "b");
    for (const auto* body : {"", "<html>", "[]", "{}", R"({"__type":1})"})
        EXPECT_EQ(read_refusal(400, body).type, "") << body;
}

// A wrong signature is explained with the canonical request, and that has the keys' session in it.
TEST(Refusals, QuoteNoSignature) {
    const refusal wrong{403, "InvalidSignatureException", "x-amz-security-token:secret"};
    EXPECT_THAT(explain_refusal("here", wrong, effect::none).detail, Not(HasSubstr("secret")));
    const refusal denied{400, "AccessDeniedException",
                         "User: arn is not authorized\nto perform: dynamodb:PutItem"};
    EXPECT_EQ(explain_refusal("here", denied, effect::none).detail,
              "here: AccessDeniedException: User: arn is not authorized?to perform: "
              "dynamodb:PutItem, status 400");
}

}  // namespace
}  // namespace pawl::dynamodb
