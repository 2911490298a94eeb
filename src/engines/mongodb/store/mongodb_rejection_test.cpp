// The ways in which a server turns the store away, or is not what it should be: one clear line
// each; and what becomes of writes that a majority has not confirmed.
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "engines/mongodb/store/mongodb_scripted_fixture.hpp"
#include "test_support/conformance/rejections.hpp"
#include "test_support/faults/canned_server.hpp"

#include <gmock/gmock.h>

namespace pawl::mongodb {
namespace {

using namespace std::chrono_literals;
using conformance::expect_failure;

void expect_rejection(const mongodb_settings& to, errc code, const std::string& words) {
    conformance::expect_rejection([to](net::loop& where) { return make_mongodb_store(where, to); },
                                  code, words);
}

scripted_mongodb::script always(const document& said) {
    return [said](const std::string&, const document&) { return std::optional{said}; };
}

// The collection is there, finds find nothing, and all other commands are answered so.
scripted_mongodb::script answering(const document& said) {
    return [said](const std::string& name, const document&) -> std::optional<document> {
        if (name == "listCollections") return documents({document{}.text("name", "pawl")});
        if (name == "find") return documents({});
        return said;
    };
}

TEST(MongodbRejections, ARouterOfAShardedClusterIsRejected) {
    scripted_mongodb server{stands_alone().text("msg", "isdbgrid"), always(document{})};
    expect_rejection(on_port(server.port()), errc::unsupported, "a router of a sharded cluster");
}

TEST(MongodbRejections, ASecondaryIsNotAsked) {
    scripted_mongodb server{document{}
                                .no("ismaster")
                                .yes("secondary")
                                .text("setName", "rs0")
                                .texts("hosts", {"127.0.0.1:1"})
                                .number("localTime", 1),
                            always(document{})};
    expect_rejection(on_port(server.port(), 2s), errc::unreachable, "not the primary");
    EXPECT_TRUE(server.heard("insert").empty());
}

TEST(MongodbRejections, AUserWithoutRightsIsToldWhichTheyNeed) {
    scripted_mongodb server{stands_alone(), always(rejected(13, "not authorized on pawl"))};
    expect_rejection(on_port(server.port()), errc::denied, "docs/stores/mongodb.md");
}

TEST(MongodbRejections, SomethingElseOnThePortIsUnreachable) {
    testing_faults::canned_server other{{"-ERR unknown command\r\n"}};
    auto to = on_port(other.port(), 2s);
    to.uri = "mongodb://user:secret@127.0.0.1:" + std::to_string(other.port()) + "/pawl";
    expect_rejection(to, errc::unreachable, "mongodb://127.0.0.1");
}

// One that says yes to every write, whatever the condition: FerretDB 1 does so now and then.
TEST(MongodbRejections, AServerThatIgnoresConditionsIsRejected) {
    scripted_mongodb server{stands_alone(), answering(document{}.small("n", 1))};
    expect_rejection(on_port(server.port()), errc::unsupported,
                     "8 of 8 writers that raced for one record won");
}

// The medium alone, which the core asks: what becomes of one command.
class MongodbMedium : public ::testing::Test {
protected:
    std::shared_ptr<cas::medium> open(const scripted_mongodb& server) {
        auto made = make_mongodb_medium(loop_, on_port(server.port()));
        EXPECT_TRUE(loop_.wait_for(made->prepare(later())).has_value());
        return made;
    }
    static instant later() { return lease_clock::now() + 60s; }
    static cas::change change_of(const std::string& key, const cas::version& expected) {
        return {{cas::record_kind::lease, key}, "text of " + key, expected};
    }
    result<cas::write_answer> write(const std::shared_ptr<cas::medium>& to,
                                    const cas::version& expected = {}) {
        return loop_.wait_for(to->write(change_of("key", expected), later()));
    }
    result<cas::seen> read(const std::shared_ptr<cas::medium>& from,
                           cas::record_kind kind = cas::record_kind::lease) {
        cas::record_name name{kind, "key"};
        return loop_.wait_for(from->read(std::move(name), later()));
    }

    net::loop loop_;
};

TEST_F(MongodbMedium, EveryWriteWaitsForAMajorityAndItsJournal) {
    scripted_mongodb server{stands_alone(), answering(document{}.small("n", 1))};
    const auto on = open(server);
    EXPECT_TRUE(write(on).has_value());
    EXPECT_TRUE(write(on, "7").has_value());
    EXPECT_TRUE(
        loop_.wait_for(on->erase({cas::record_kind::lease, "key"}, "7", later())).has_value());
    for (const auto* command : {"insert", "update", "delete"}) {
        const auto sent = server.heard(command);
        ASSERT_EQ(sent.size(), 1U) << command;
        EXPECT_EQ(sent[0].find_text("writeConcern.w"), "majority");
        EXPECT_TRUE(sent[0].is_true("writeConcern.j"));
        EXPECT_GT(sent[0].find_number("writeConcern.wtimeout").value_or(0), 0);
    }
}

TEST_F(MongodbMedium, OfAReplicaSetOnlyWhatAMajorityHasIsRead) {
    scripted_mongodb alone{stands_alone(), answering(document{})};
    EXPECT_TRUE(read(open(alone)).has_value());
    EXPECT_FALSE(alone.heard("find").at(0).has("readConcern"));
    scripted_mongodb set{of_set({"127.0.0.1:1", "127.0.0.1:2"}), answering(document{})};
    const auto seen = read(open(set));
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_TRUE(seen->clock.has_value());
    EXPECT_EQ(set.heard("find").at(0).find_text("readConcern.level"), "majority");
}

// Goal: a token that is accepted without a write is accepted on nothing that was. Method: a fence
// is read from a set, which waits for its majority no longer than the verb does.
TEST_F(MongodbMedium, AFenceIsReadAsAllMembersWouldHaveIt) {
    scripted_mongodb set{of_set({"127.0.0.1:1", "127.0.0.1:2"}), answering(document{})};
    EXPECT_TRUE(read(open(set), cas::record_kind::fence).has_value());
    const auto asked = set.heard("find").at(0);
    EXPECT_EQ(asked.find_text("readConcern.level"), "linearizable");
    const auto longest = asked.find_number("maxTimeMS").value_or(0);
    EXPECT_GT(longest, 0);
    EXPECT_LE(longest, 60'000);
    scripted_mongodb superseded{
        of_set({"127.0.0.1:1"}), [](const std::string& name, const document&) {
            return std::optional{name == "find" ? rejected(50, "exceeded time limit")
                                                : documents({document{}.text("name", "pawl")})};
        }};
    expect_failure(read(open(superseded), cas::record_kind::fence), errc::unreachable, "error 50");
}

// It is on the primary, and may stay there.
TEST_F(MongodbMedium, AWriteThatNoMajorityConfirmedIsUnknown) {
    const auto error =
        document{}.small("code", 64).text("errmsg", "waiting for replication timed out");
    scripted_mongodb server{of_set({"127.0.0.1:1"}),
                            answering(document{}.small("n", 1).nested("writeConcernError", error))};
    const auto on = open(server);
    for (const auto* expected : {"", "7"})
        expect_failure(write(on, expected), errc::outcome_unknown, "timed out");
}

TEST_F(MongodbMedium, AWriteWhosePrimaryStepsDownOrIsCutOffIsUnknownAndNotRepeated) {
    scripted_mongodb steps_down{of_set({"127.0.0.1:1"}), answering(rejected(189))};
    expect_failure(write(open(steps_down)), errc::outcome_unknown, "error 189");
    EXPECT_EQ(steps_down.heard("insert").size(), 1U);
    scripted_mongodb cut{
        stands_alone(), [](const std::string& name, const document&) {
            return name == "insert" ? std::nullopt
                                    : std::optional{documents({document{}.text("name", "pawl")})};
        }};
    expect_failure(write(open(cut)), errc::outcome_unknown, "mongodb://127.0.0.1");
    EXPECT_EQ(cut.heard("insert").size(), 1U);
}

TEST_F(MongodbMedium, AReadIsAskedAgainOnceWhereItsConnectionIsCut) {
    std::atomic<int> finds{0};
    scripted_mongodb server{stands_alone(), [&](const std::string& name, const document&) {
                                if (name == "find" && ++finds == 1)
                                    return std::optional<document>{};
                                return std::optional{documents({})};
                            }};
    auto on = make_mongodb_medium(loop_, on_port(server.port()));
    const auto seen = read(on);
    EXPECT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_EQ(finds, 2);
}

TEST_F(MongodbMedium, AnotherRevisionOrADuplicateIsAConflict) {
    scripted_mongodb other{stands_alone(), answering(document{}.small("n", 0))};
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(write(open(other), "7").value()));
    const auto update = other.heard("update").at(0);
    EXPECT_EQ(update.find_number("updates.0.q.rev"), 7);
    EXPECT_EQ(update.find_number("updates.0.u.$inc.rev"), 1);
    scripted_mongodb there{
        stands_alone(), answering(document{}.small("n", 0).array(
                            "writeErrors", {document{}.small("index", 0).small("code", 11000)}))};
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(write(open(there)).value()));
}

// Goal: a write tells the time where the core asks for it, though it was heard of just now. Method:
// one write alone, and two in one command.
TEST_F(MongodbMedium, AWriteThatAsksForTheTimeIsToldIt) {
    for (const auto count : {1, 2}) {
        scripted_mongodb server{stands_alone(), answering(document{}.small("n", count))};
        const auto on = open(server);
        for (const bool asks : {true, false, true}) {
            std::vector<cas::change> changes(static_cast<std::size_t>(count), change_of("a", "7"));
            for (auto& each : changes) each.asks_time = asks;
            const auto got = loop_.wait_for(on->write_many(changes, later()));
            ASSERT_TRUE(got.has_value()) << got.error().detail;
            for (const auto& one : *got)
                EXPECT_EQ(std::get<cas::written>(one.value()).clock.has_value(), asks);
        }
    }
}

// A loop's clock that a test moves.
struct moved_clock final : net::simulated_node {
    std::atomic<std::chrono::seconds> ahead{0s};
    instant now() const override { return lease_clock::now() + ahead.load(); }
    time::wall_instant wall() const override { return time::wall_now() + ahead.load(); }
    std::uint64_t random() override { return 1; }
};

// Goal: a write is told the time again when the last is old, by the clock of its loop. Method: that
// clock goes on for longer than the time is good for, and no other does.
TEST(MongodbClock, TheTimeIsOldByTheClockOfTheLoop) {
    scripted_mongodb server{stands_alone(), answering(document{}.small("n", 1))};
    moved_clock clock;
    net::loop loop{net::turned_by{&clock}};
    const auto on = make_mongodb_medium(loop, on_port(server.port()));
    const auto is_told = [&] {
        cas::change wanted{{cas::record_kind::lease, "key"}, "text", "7"};
        const auto got = loop.wait_for(on->write(std::move(wanted), clock.now() + 60s));
        return std::get<cas::written>(got.value()).clock.has_value();
    };
    EXPECT_TRUE(is_told());
    EXPECT_FALSE(is_told());
    clock.ahead = 10min;
    EXPECT_TRUE(is_told());
    EXPECT_FALSE(is_told());
}

// Goal: of several writes in one command each has its own answer, though the server only counts.
TEST_F(MongodbMedium, OfABatchThatIsNotWrittenWholeEachIsLookedAt) {
    std::atomic<bool> whole = false;
    scripted_mongodb server{
        stands_alone(), [&](const std::string& name, const document&) -> std::optional<document> {
            if (name == "listCollections") return documents({document{}.text("name", "pawl")});
            if (name == "update") return document{}.small("n", whole ? 2 : 1);
            const auto record = [](const char* id, std::int64_t rev, const char* text) {
                return document{}.text("_id", id).number("rev", rev).text("record", text);
            };
            return documents(
                {record("pawl/l/61", 8, "text of a"), record("pawl/l/62", 9, "other")});
        }};
    const auto on = open(server);
    const std::vector<cas::change> changes{change_of("a", "7"), change_of("b", "7")};
    auto got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(std::get<cas::written>(got->at(0).value()).at, "8");
    const auto& lost = std::get<cas::conflict>(got->at(1).value());
    ASSERT_TRUE(lost.now.has_value());
    EXPECT_EQ(lost.now->at, "9");
    whole = true;
    got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    for (const auto& one : *got) EXPECT_EQ(std::get<cas::written>(one.value()).at, "8");
    EXPECT_EQ(server.heard("update").size(), 2U);
    EXPECT_EQ(server.heard("find").size(), 1U);
}

TEST_F(MongodbMedium, OneUpdateThatIsRejectedLeavesTheOthersOfItsBatchKnown) {
    scripted_mongodb server{
        stands_alone(), [](const std::string& name, const document&) -> std::optional<document> {
            if (name == "listCollections") return documents({document{}.text("name", "pawl")});
            if (name == "update")
                return document{}.small("n", 1).array(
                    "writeErrors",
                    {document{}.small("index", 1).small("code", 112).text("errmsg", "conflict")});
            const auto record = [](const char* id, std::int64_t rev, const char* text) {
                return document{}.text("_id", id).number("rev", rev).text("record", text);
            };
            return documents(
                {record("pawl/l/61", 8, "text of a"), record("pawl/l/62", 7, "as it was")});
        }};
    const std::vector<cas::change> changes{change_of("a", "7"), change_of("b", "7")};
    const auto got = loop_.wait_for(open(server)->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(std::get<cas::written>(got->at(0).value()).at, "8");
    expect_failure(got->at(1), errc::unreachable, "conflict");
}

// Else a command that starts while its server stands still would be told that this is no MongoDB.
TEST_F(MongodbMedium, AReadWithoutTheTimeHasNoAnswer) {
    scripted_mongodb server{stands_alone(), always(documents({}))};
    const auto on = open(server);
    server.hide_its_time(true);
    expect_failure(read(on), errc::unreachable, "");
    server.hide_its_time(false);
    const auto seen = read(on);
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_TRUE(seen->clock.has_value());
}

TEST_F(MongodbMedium, ADocumentOfOthersIsNoRecord) {
    scripted_mongodb server{stands_alone(), always(documents({document{}.text("name", "pawl")}))};
    expect_failure(read(open(server)), errc::rejected, "is not a record of pawl");
}

// Goal: a document that is none of pawl's hides no other. Method: several are read, and listed; of
// one of them there is no record, and another has no key.
TEST_F(MongodbMedium, ADocumentOfOthersHidesNoRecord) {
    scripted_mongodb server{
        stands_alone(),
        always(documents(
            {document{}.text("_id", "pawl/l/61"),
             document{}.text("_id", "pawl/l/62").number("rev", 7).text("record", "text of b"),
             document{}.text("_id", "pawl/l/by hand")}))};
    const auto on = open(server);
    std::vector<cas::record_name> names;
    for (const auto* key : {"a", "b", "c"}) names.emplace_back(cas::record_kind::lease, key);
    const auto many = loop_.wait_for(on->read_many(std::move(names), later()));
    ASSERT_TRUE(many.has_value()) << many.error().detail;
    EXPECT_EQ(many->at(0).text, "");
    EXPECT_NE(many->at(0).at, "") << "there is something";
    EXPECT_EQ(many->at(1).text, "text of b");
    EXPECT_EQ(many->at(2).at, "");
    const auto list = [&](std::size_t limit) {
        return loop_.wait_for(on->list({cas::record_kind::lease, "", "", limit}, later()));
    };
    const auto page = list(10);
    ASSERT_TRUE(page.has_value()) << page.error().detail;
    ASSERT_EQ(page->records.size(), 2U);
    EXPECT_EQ(page->records[0].first, "a");
    EXPECT_EQ(page->records[0].second.text, "");
    EXPECT_EQ(page->records[1].second.text, "text of b");
    EXPECT_EQ(list(1)->records[0].first, "a");
}

}  // namespace
}  // namespace pawl::mongodb
