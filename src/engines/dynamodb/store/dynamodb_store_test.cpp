// What only DynamoDB has, on Amazon's local server: the layout, batches, pages over its partitions,
// and faults. What every store must do is in test_support/conformance.
#include "base/percent.hpp"
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/cas_medium.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace pawl::dynamodb {
namespace {

using namespace std::chrono_literals;
using conformance::fresh_claim;
using conformance::level_of;
using ::testing::HasSubstr;
using testing_servers::dynamodb_server;

struct dynamodb_engine
    : conformance::cas_engine<testing_servers::dynamodb_server, dynamodb::on_port,
                              make_dynamodb_store, make_dynamodb_medium> {
    static constexpr bool answers_can_be_held = true;
};
using Dynamodb = conformance::CasMedium<dynamodb_engine>;

// The layout is documented: people read it with the console of AWS when all else fails.
TEST_F(Dynamodb, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open();
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto item = server_->ask("GetItem", R"({"TableName":"pawl-test","Key":{"n":{"S":")" +
                                                  name_space() + R"(#l0"},"k":{"B":"am9iL2E="}}})");
    EXPECT_THAT(item, HasSubstr(R"("record":{"S":"1 lease )"));
    EXPECT_THAT(item, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(item, HasSubstr("me"));
}

TEST_F(Dynamodb, AConflictBringsWhatStandsThere) {
    expect_versions_of_one_state({"another"});
    const auto on = medium();
    const auto first = write(on, "other", "one");
    for (const auto* expected : {"", "another"}) {
        const auto got = try_write(on, "other", "two", expected);
        const auto& met = std::get<cas::conflict>(got);
        ASSERT_TRUE(met.now.has_value());
        EXPECT_EQ(met.now->text, "one");
        EXPECT_EQ(met.now->at, first);
        EXPECT_TRUE(met.clock.has_value());
    }
    EXPECT_TRUE(erase(on, "other", first));
    // A version never recurs, also where the record was deleted in between.
    EXPECT_NE(write(on, "other", "one"), first);
}

TEST_F(Dynamodb, EachWriteOfABatchHappensOrNotByItself) {
    const auto on = medium();
    std::vector<cas::change> changes;
    for (int i = 0; i < 25; ++i) {
        const auto key = "key/" + std::to_string(i);
        auto at = write(on, key, "old");
        if (i % 3 == 1) at = "another";
        changes.push_back({{cas::record_kind::lease, key}, "new " + std::to_string(i), at});
    }
    changes[2].name.key = "none";
    const auto got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    for (int i = 0; i < 25; ++i) {
        const auto index = static_cast<std::size_t>(i);
        ASSERT_TRUE((*got)[index].has_value()) << (*got)[index].error().detail;
        const bool wrote = std::holds_alternative<cas::written>(*(*got)[index]);
        EXPECT_EQ(wrote, i % 3 != 1 && i != 2) << i;
        const auto stands = read(on, changes[index].name.key);
        if (i == 2) {
            EXPECT_EQ(stands.at, "");
        } else {
            EXPECT_EQ(stands.text, wrote ? changes[index].text : "old");
        }
        if (wrote) {
            EXPECT_EQ(stands.at, std::get<cas::written>(*(*got)[index]).at);
        }
    }
}

// Sixteen partitions are read as one list.
TEST_F(Dynamodb, ManyAreReadInTheirOrder) { expect_many_read_in_their_order(); }

TEST_F(Dynamodb, PagesOverAllPartitionsAreInByteOrder) {
    std::vector<std::string> keys{"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"};
    for (int i = 0; i < 60; ++i) keys.push_back("a/" + std::to_string(i));
    // A key is bytes, a text is UTF-8.
    paging how{{"", "a/", "a/1", "b", "b\xff", "x"},
               [](const std::string& key) { return "text of " + base::percent_encode(key); }};
    // One by one takes its time: the first few will do.
    how.one_by_one_max = 5;
    expect_pages_in_byte_order(keys, how);
}

TEST_F(Dynamodb, TheDoctorSaysWhatTheTableIsLike) {
    const auto found = examine();
    EXPECT_EQ(found.version, "Amazon DynamoDB");
    EXPECT_EQ(level_of(found, "credentials"), severity::ok);
    EXPECT_EQ(level_of(found, "replication"), severity::ok);
    EXPECT_EQ(level_of(found, "limits"), severity::ok);
    EXPECT_EQ(level_of(found, "persistence"), severity::warn);
    EXPECT_EQ(level_of(found, "atomicity"), severity::ok);
}

// ---- Faults

TEST(DynamodbFaults, ATableThatIsLostIsNotTakenForTheOldOne) {
    dynamodb_server server;
    auto mine = conformance::open_cas<dynamodb_engine>(server.port());
    mine.granted(fresh_claim("key"));
    server.lose_data();
    auto other = conformance::open_cas<dynamodb_engine>(server.port());
    const auto theirs = other.granted(fresh_claim("key"));
    // It is told that the table is another one, or goes by what is there now: never by what it
    // remembers. The first request may have met the table before it was made anew.
    conformance::until([&] {
        const auto got = mine.acquire(fresh_claim("key"));
        if (got.has_error()) return got.error().code == errc::rejected;
        const auto* held = std::get_if<busy>(&*got);
        EXPECT_NE(held, nullptr);
        return held != nullptr && held->holder == theirs;
    });
}

}  // namespace
}  // namespace pawl::dynamodb

namespace pawl::conformance {

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, CasFaults, dynamodb::dynamodb_engine);

}  // namespace pawl::conformance
