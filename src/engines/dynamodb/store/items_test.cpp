#include "engines/dynamodb/store/items.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <set>

namespace pawl::dynamodb {
namespace {

namespace json = boost::json;
using cas::record_kind;
using cas::record_name;
using ::testing::HasSubstr;

const place_of_items here{"locks", "pawl"};

// The table is read by processes of every version: what was once written has to be found again.
TEST(Items, EveryKindHasPartitionsOfItsOwn) {
    EXPECT_EQ(partition_of(here, {record_kind::lease, "job/a"}), "pawl#l0");
    EXPECT_EQ(partition_of(here, {record_kind::fence, "job/a"}), "pawl#f0");
    EXPECT_EQ(partition_of(here, {record_kind::marker, ""}), "pawl#m");
    std::set<std::string> all;
    for (int i = 0; i < 1000; ++i)
        all.insert(partition_of(here, {record_kind::lease, std::to_string(i)}));
    EXPECT_EQ(all.size(), buckets);
    for (std::size_t i = 0; i < buckets; ++i)
        EXPECT_TRUE(all.contains(partition_of(here, record_kind::lease, i)));
}

TEST(Items, AScopeOfAJournalIsAPartition) {
    const record_name run{record_kind::journal, "due/report/0:17:5"};
    EXPECT_EQ(partition_of(here, run), "pawl#j/due/report/0");
    const auto item = put_request(here, {run, "text", ""}, "v1").at("Item");
    EXPECT_EQ(read_item(item)->key, "17:5");
    const auto page = list_scope_request(here, "control:pause/", "control:pause/a", 10);
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(json::serialize(page->at("ExpressionAttributeValues")),
              R"({":n":{"S":"pawl#j/control"},":from":{"B":"cGF1c2UvYQA="},)"
              R"(":end":{"B":"cGF1c2Uw"}})");
    const auto whole = list_scope_request(here, "runs/a:", "", 10);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(json::serialize(whole->at("ExpressionAttributeValues")),
              R"({":n":{"S":"pawl#j/runs/a"}})");
    // What an answer has is told apart by what was asked for.
    const auto keys = keys_of(here, {run, {record_kind::journal, "due/backup/0:17:5"}});
    EXPECT_NE(identity_of(keys[0]), identity_of(keys[1]));
    EXPECT_EQ(identity_of(keys[0]), identity_of(item));
    EXPECT_EQ(json::serialize(read_many_request(here, {}).at("RequestItems")),
              R"({"locks":{"Keys":[],"ConsistentRead":true}})");
}

TEST(Items, AWriteHasItsVersionAsCondition) {
    const auto first = put_request(here, {{record_kind::lease, "key"}, "text", ""}, "v1");
    EXPECT_EQ(first.at("ConditionExpression"), "attribute_not_exists(#rev)");
    EXPECT_EQ(first.if_contains("ExpressionAttributeValues"), nullptr);
    const auto next = put_request(here, {{record_kind::lease, "key"}, "text", "v1"}, "v2");
    EXPECT_EQ(next.at("ConditionExpression"), "#rev = :expected");
    EXPECT_EQ(json::serialize(next.at("ExpressionAttributeValues")), R"({":expected":{"S":"v1"}})");
    EXPECT_EQ(next.at("ReturnValuesOnConditionCheckFailure"), "ALL_OLD");
    const auto found = read_item(next.at("Item"));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->key, "key");
    EXPECT_EQ(found->stands.text, "text");
    EXPECT_EQ(found->stands.at, "v2");
}

TEST(Items, AnItemOfOthersIsNoRecord) {
    for (const auto* text : {"1", "{}", R"({"k":{"B":"a2V5"}})",
                             R"({"k":{"B":"!"},"rev":{"S":"1"},"record":{"S":""}})",
                             R"({"k":{"S":"a2V5"},"rev":{"S":"1"},"record":{"S":"x"}})",
                             R"({"k":{"B":"a2V5"},"rev":{"S":""},"record":{"S":"x"}})",
                             R"({"k":{"B":"a2V5"},"rev":"1","record":{"S":"x"}})"})
        EXPECT_FALSE(read_item(json::parse(text)).has_value()) << text;
}

std::string condition_of(const std::string& prefix, const std::string& after) {
    const auto request = list_request(here, record_kind::lease, 3, prefix, after, 10);
    return request ? json::serialize(request->at("KeyConditionExpression")) + " " +
                         json::serialize(request->at("ExpressionAttributeValues"))
                   : "";
}

TEST(Items, APageBeginsBehindTheLastKeyAndEndsWithThePrefix) {
    EXPECT_EQ(condition_of("", ""), R"("#n = :n" {":n":{"S":"pawl#l3"}})");
    EXPECT_EQ(condition_of("", "a"),
              R"("#n = :n AND #k >= :from" {":n":{"S":"pawl#l3"},":from":{"B":"YQA="}})");
    EXPECT_THAT(
        condition_of("job/", ""),
        HasSubstr(R"(BETWEEN :from AND :end" {":n":{"S":"pawl#l3"},":from":{"B":"am9iLw=="},)"
                  R"(":end":{"B":"am9iMA=="}})"));
    EXPECT_THAT(condition_of("job/", "job/x"), HasSubstr(R"(":from":{"B":"am9iL3gA"})"));
    EXPECT_THAT(condition_of("job/", "a"), HasSubstr(R"(":from":{"B":"am9iLw=="})"));
    EXPECT_EQ(condition_of("job/", "k"), "");
    EXPECT_THAT(condition_of("\xff\xff", ""), HasSubstr(R"(#k >= :from" )"));
}

}  // namespace
}  // namespace pawl::dynamodb
