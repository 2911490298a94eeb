// What only this engine has, on a server that speaks as MongoDB does: the layout, pages, batches,
// and faults. What every store must do is in test_support/conformance.
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/cas_medium.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace pawl::mongodb {
namespace {

using namespace std::chrono_literals;
using conformance::level_of;
using ::testing::HasSubstr;

// The driver has connections of its own, which look at the server beside the requests.
struct mongodb_engine : conformance::cas_engine<testing_servers::mongodb_server, mongodb::on_port,
                                                make_mongodb_store, make_mongodb_medium> {
    static constexpr bool answers_can_be_held = false;
};
using Mongodb = conformance::CasMedium<mongodb_engine>;

// The layout is documented: people read it with the tools of MongoDB when all else fails.
TEST_F(Mongodb, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open();
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto found = server_->ask(
        "pawl", R"({"find": "pawl", "filter": {"_id": ")" + name_space() + R"(/l/6a6f622f61"}})");
    EXPECT_THAT(found, HasSubstr(R"("key" : "job/a")"));
    EXPECT_THAT(found, HasSubstr(R"("record" : "1 lease )"));
    EXPECT_THAT(found, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
}

TEST_F(Mongodb, AVersionIsThatOfOneStateOnly) {
    expect_versions_of_one_state({"1", "no number"});
    const auto on = medium();
    const auto first = write(on, "other", "one");
    EXPECT_TRUE(erase(on, "other", first));
    EXPECT_NE(write(on, "other", "one"), first);
}

TEST_F(Mongodb, OfABatchEachHasItsOwnAnswer) {
    const auto on = medium();
    std::vector<cas::change> changes;
    for (int i = 0; i < 20; ++i) {
        const auto key = std::to_string(i);
        // Every fourth is of another version.
        auto at = write(on, key, "one");
        if (i % 4 == 0) write(on, key, "other", at);
        changes.emplace_back(cas::record_name{cas::record_kind::lease, key}, "two of " + key,
                             std::move(at));
    }
    const auto got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    for (int i = 0; i < 20; ++i) {
        const auto& answer = got->at(static_cast<std::size_t>(i)).value();
        EXPECT_EQ(std::holds_alternative<cas::written>(answer), i % 4 != 0) << i;
        const auto stands = read(on, std::to_string(i));
        if (i % 4 == 0)
            EXPECT_EQ(stands.text, "other");
        else
            EXPECT_EQ(stands.at, std::get<cas::written>(answer).at);
    }
}

TEST_F(Mongodb, ManyAreReadInTheirOrder) { expect_many_read_in_their_order(); }

TEST_F(Mongodb, PagesAreInByteOrder) {
    std::vector<std::string> keys{"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"};
    for (int i = 0; i < 20; ++i) keys.push_back("a/" + std::to_string(i));
    keys.emplace_back(512, 'k');
    expect_pages_in_byte_order(
        keys, {{"", "a", "a/", "a/1", "b", "b\xff", "k", "none"},
               [](const std::string&) { return std::string(cas::text_max, 'x'); }});
}

TEST_F(Mongodb, TheDoctorSaysWhatTheServerIs) {
    const auto found = examine();
    EXPECT_THAT(found.version, HasSubstr("MongoDB "));
    EXPECT_EQ(level_of(found, "replication"), severity::warn);
    EXPECT_EQ(level_of(found, "persistence"), severity::ok);
    EXPECT_EQ(level_of(found, "limits"), severity::ok);
    EXPECT_EQ(level_of(found, "atomicity"), severity::ok);
}

}  // namespace
}  // namespace pawl::mongodb

namespace pawl::conformance {

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, CasFaults, mongodb::mongodb_engine);

}  // namespace pawl::conformance
