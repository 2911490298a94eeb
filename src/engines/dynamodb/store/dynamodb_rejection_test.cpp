// The ways in which a service turns the store away, or is not what it should be: one clear line
// each. The service is a small server that answers as DynamoDB does.
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/https_rejections.hpp"

#include <boost/json.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace pawl::dynamodb {
namespace {

using namespace net;
using conformance::expect_failure;
using conformance::store_opener;

std::string described(const std::string& more = "", const std::string& identity = "one",
                      const std::string& hash = "n") {
    return ok(R"({"Table":{"TableStatus":"ACTIVE","TableId":")" + identity +
                  R"(","KeySchema":[{"AttributeName":")" + hash +
                  R"(","KeyType":"HASH"},{"AttributeName":"k","KeyType":"RANGE"}],)"
                  R"("AttributeDefinitions":[{"AttributeName":"n","AttributeType":"S"},)"
                  R"({"AttributeName":"k","AttributeType":"B"}])" +
                  more + "}}",
              "Date: Sun, 01 Nov 2026 00:00:00 GMT\r\n");
}

std::string rejected(const std::string& type, const std::string& message = "words",
                     const std::string& status = "400 Bad Request") {
    const auto body = R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + type +
                      R"(","message":")" + message + R"("})";
    return "HTTP/1.1 " + status + "\r\nDate: Sun, 01 Nov 2026 00:00:00 GMT\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Answers of each operation; the others fail the test.
small_server::script answering(std::map<std::string, std::string> answers) {
    return [answers = std::move(answers)](const std::string& request, int) {
        for (const auto& [operation, answer] : answers)
            if (request.find("X-Amz-Target: DynamoDB_20120810." + operation + "\r\n") !=
                std::string::npos)
                return said{answer};
        ADD_FAILURE() << request;
        return said{rejected("UnknownOperationException")};
    };
}

store_opener opener(std::uint16_t port) {
    auto settings = on_port(port);
    settings.service.keys.keys = {"AKID", "top secret", "session secret"};
    return [settings](loop& where) { return make_dynamodb_store(where, settings); };
}

void expect_rejection(const small_server& server, errc code, const std::string& words) {
    conformance::expect_rejection(opener(server.port()), code, words);
}

TEST(DynamodbRejections, AGlobalTableIsRejected) {
    small_server replicated{
        answering({{"DescribeTable", described(R"(,"Replicas":[{"RegionName":"eu-west-1"}])")}})};
    expect_rejection(replicated, errc::unsupported, "this is a global table");
    small_server old{
        answering({{"DescribeTable", described(R"(,"GlobalTableVersion":"2017.11.29")")}})};
    expect_rejection(old, errc::unsupported, "this is a global table");
}

TEST(DynamodbRejections, ATableOfOthersIsRejected) {
    small_server server{answering({{"DescribeTable", described("", "one", "id")}})};
    expect_rejection(server, errc::unsupported, "expected n (S) as hash and k (B) as range key");
}

TEST(DynamodbRejections, ATableThatMayNotBeMadeIsAskedForInOneLine) {
    small_server server{
        answering({{"DescribeTable", rejected("ResourceNotFoundException")},
                   {"CreateTable", rejected("AccessDeniedException", "no dynamodb:CreateTable")}})};
    expect_rejection(server, errc::denied, "there is no table 'pawl-test', and it cannot be made");
}

TEST(DynamodbRejections, KeysThatAreWrongAreDenied) {
    for (const auto* type : {"UnrecognizedClientException", "InvalidSignatureException",
                             "AccessDeniedException", "MissingAuthenticationTokenException"}) {
        small_server server{answering(
            {{"DescribeTable", rejected(type, type[0] == 'I' ? "token:session secret" : "no")}})};
        expect_rejection(server, errc::denied, type);
    }
}

TEST(DynamodbRejections, WhereNoKeysAreFoundNothingIsAsked) {
    conformance::expect_nothing_asked(
        [](std::uint16_t port) -> store_opener {
            auto settings = on_port(port);
            settings.service.keys = {};
            return [settings](loop& where) { return make_dynamodb_store(where, settings); };
        },
        "no credentials of AWS");
}

TEST(DynamodbRejections, SomethingElseOnThePortIsNoDynamodb) {
    conformance::expect_strangers_rejected(opener, "DynamoDB", "");
}

// The medium alone, which the core asks: what becomes of one write.
class DynamodbMedium : public net::HttpsTest {
protected:
    std::shared_ptr<cas::medium> open(std::uint16_t port) {
        return make_dynamodb_medium(loop_, on_port(port));
    }
    result<cas::write_answer> write(const std::shared_ptr<cas::medium>& to,
                                    const cas::version& expected = {}) {
        cas::change wanted{{cas::record_kind::lease, "key"}, "text", expected};
        return loop_.wait_for(to->write(std::move(wanted), later()));
    }
    result<cas::seen> read(const std::shared_ptr<cas::medium>& from) {
        cas::record_name name{cas::record_kind::lease, "key"};
        return loop_.wait_for(from->read(std::move(name), later()));
    }
};

TEST_F(DynamodbMedium, AServerThatFailsMayHaveWritten) {
    const auto broken = rejected("InternalServerError", "words", "500 Internal Server Error");
    small_server server{answering({{"PutItem", broken}, {"GetItem", broken}})};
    const auto medium = open(server.port());
    expect_failure(write(medium), errc::outcome_unknown, "InternalServerError");
    expect_failure(read(medium), errc::unreachable, "InternalServerError");
    EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(DynamodbMedium, AServerThatIsOverloadedHasNotWritten) {
    small_server server{answering({{"PutItem", rejected("ThrottlingException")}})};
    expect_failure(write(open(server.port())), errc::unreachable, "ThrottlingException");
}

// An older server says no more than that the condition failed.
TEST_F(DynamodbMedium, AConflictWithoutTheRecordIsAConflict) {
    small_server server{answering({{"PutItem", rejected("ConditionalCheckFailedException")}})};
    const auto got = write(open(server.port()), "v1");
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_FALSE(std::get<cas::conflict>(*got).now.has_value());
    EXPECT_TRUE(std::get<cas::conflict>(*got).clock.has_value());
}

// Goal: a table that was restored, or made anew, under a process that runs is not taken for the one
// that it knows. Method: it is not found for a moment, and has another identity then.
TEST_F(DynamodbMedium, ATableThatWasReplacedIsNotUsed) {
    std::atomic<bool> gone = false;
    std::atomic<int> identity = 1;
    small_server server{[&](const std::string& request, int) {
        if (gone) return said{rejected("ResourceNotFoundException")};
        if (request.find("DescribeTable") != std::string::npos)
            return said{described("", std::to_string(identity))};
        return said{ok("{}", "Date: Sun, 01 Nov 2026 00:00:00 GMT\r\n")};
    }};
    const auto medium = open(server.port());
    EXPECT_EQ(loop_.wait_for(medium->prepare(later())).value(), "1");
    EXPECT_TRUE(read(medium).has_value());
    gone = true;
    expect_failure(read(medium), errc::rejected, "ResourceNotFoundException");
    gone = false;
    EXPECT_TRUE(read(medium).has_value());
    gone = true;
    EXPECT_TRUE(read(medium).has_error());
    gone = false;
    identity = 2;
    expect_failure(read(medium), errc::rejected, "the table was replaced by another");
    expect_failure(write(medium), errc::rejected, "the table was replaced by another");
    EXPECT_EQ(loop_.wait_for(medium->prepare(later())).value(), "2");
    EXPECT_TRUE(read(medium).has_value());
}

// Goal: an item that is none of pawl's hides no other. Method: two are read together, of which one
// has no record.
TEST_F(DynamodbMedium, AnItemOfOthersHidesNoRecord) {
    small_server server{[](const std::string& request, int) {
        const auto body =
            boost::json::parse(request.substr(request.find("\r\n\r\n") + 4)).as_object();
        boost::json::array items;
        for (const auto& key : body.at("RequestItems").at("pawl-test").at("Keys").as_array()) {
            auto item = key.as_object();
            if (!items.empty()) {
                item["rev"] = {{"S", "v1"}};
                item["record"] = {{"S", "text"}};
            }
            items.push_back(std::move(item));
        }
        return said{ok(boost::json::serialize(
            boost::json::object{{"Responses", {{"pawl-test", std::move(items)}}}}))};
    }};
    std::vector<cas::record_name> names;
    for (const auto* key : {"a", "b"}) names.emplace_back(cas::record_kind::lease, key);
    const auto many = loop_.wait_for(open(server.port())->read_many(std::move(names), later()));
    ASSERT_TRUE(many.has_value()) << many.error().detail;
    EXPECT_EQ(many->at(0).text, "");
    EXPECT_NE(many->at(0).at, "") << "there is something";
    EXPECT_EQ(many->at(1).text, "text");
}

// Goal: nor in a list, which shows its key. Method: each partition has one item, without a record.
TEST_F(DynamodbMedium, AnItemOfOthersIsListed) {
    std::atomic<int> asked = 0;
    small_server server{[&](const std::string&, int) {
        const bool is_first = asked++ == 0;
        return said{ok(is_first ? R"({"Items":[{"n":{"S":"n"},"k":{"B":"YQ=="}},{"n":{"S":"n"},)"
                                  R"("k":{"B":"Yg=="},"rev":{"S":"v1"},"record":{"S":"text"}}]})"
                                : R"({"Items":[]})")};
    }};
    const auto all =
        loop_.wait_for(open(server.port())->list({cas::record_kind::lease, "", "", 10}, later()));
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), 2U);
    EXPECT_EQ(all->records[0].first, "a");
    EXPECT_EQ(all->records[0].second.text, "");
    EXPECT_EQ(all->records[1].second.text, "text");
}

TEST_F(DynamodbMedium, ABatchWithoutItsAnswersMayHaveBeenWritten) {
    small_server server{answering({{"BatchExecuteStatement", ok(R"({"Responses":[{}]})")}})};
    const std::vector<cas::change> changes{{{cas::record_kind::lease, "a"}, "text", "v1"},
                                           {{cas::record_kind::lease, "b"}, "text", "v1"}};
    const auto medium = open(server.port());
    const auto got = loop_.wait_for(medium->write_many(changes, later()));
    expect_failure(got, errc::outcome_unknown, "a batch without its answers");
}

}  // namespace
}  // namespace pawl::dynamodb
