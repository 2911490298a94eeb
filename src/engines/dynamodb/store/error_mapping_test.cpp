#include "engines/dynamodb/store/error_mapping.hpp"

#include <gtest/gtest.h>

namespace pawl::dynamodb {
namespace {

TEST(DynamodbRejections, StatementsOfABatchSayItOneByOne) {
    EXPECT_EQ(explain_statement("here", "ThrottlingError").code, errc::unreachable);
    EXPECT_EQ(explain_statement("here", "InternalServerError").code, errc::outcome_unknown);
    EXPECT_EQ(explain_statement("here", "AccessDenied").code, errc::denied);
    EXPECT_EQ(explain_statement("here", "ResourceNotFound").code, errc::rejected);
    EXPECT_EQ(explain_statement("here", "of a later year").code, errc::outcome_unknown);
}

TEST(DynamodbRejections, AreReadFromTheBody) {
    const auto read = read_rejection(
        400, R"({"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"a"})");
    EXPECT_EQ(read.type, "ThrottlingException");
    EXPECT_EQ(read.message, "a");
    EXPECT_EQ(read_rejection(400, R"({"__type":"A","Message":"b"})").message, "b");
    for (const auto* body : {"", "<html>", "[]", "{}", R"({"__type":1})"})
        EXPECT_EQ(read_rejection(400, body).type, "") << body;
}

}  // namespace
}  // namespace pawl::dynamodb
