#include "engines/mongodb/store/records.hpp"
#include "engines/mongodb/store/examination.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace pawl::mongodb {
namespace {

using cas::record_kind;
using ::testing::HasSubstr;

TEST(MongodbRecords, IdsAreInByteOrderOfKeysAndComeBack) {
    std::vector<std::string> keys{
        "a", "a/1", "a0", "b", "b\xc3\xa9", "b\xff", std::string(512, 'k')};
    std::vector<std::string> ids;
    for (const auto& key : keys) {
        ids.push_back(id_of("pawl", {record_kind::lease, key}));
        EXPECT_EQ(key_of("pawl", record_kind::lease, ids.back()), key);
    }
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(ids[1], "pawl/l/612f31");
    EXPECT_FALSE(key_of("pawl", record_kind::fence, ids[1]).has_value());
    EXPECT_FALSE(key_of("paw", record_kind::lease, ids[1]).has_value());
    for (const auto* none : {"pawl/l/", "pawl/l/6", "pawl/l/zz", "pawl/m"})
        EXPECT_FALSE(key_of("pawl", record_kind::lease, none).has_value()) << none;
}

TEST(MongodbRecords, AJournalHasIdsOfItsOwn) {
    const auto id = id_of("pawl", {record_kind::journal, "runs:0f"});
    EXPECT_EQ(id, "pawl/j/72756e733a3066");
    EXPECT_EQ(key_of("pawl", record_kind::journal, id), "runs:0f");
    EXPECT_FALSE(key_of("pawl", record_kind::fence, id).has_value());
    EXPECT_EQ(ids_between("pawl", record_kind::journal, "runs:", "").find_text("_id.$gte"),
              "pawl/j/72756e733a");
}

TEST(MongodbRecords, AListIsAllThatBeginsWithThePrefixAndComesLater) {
    const auto bounds = [](std::string_view prefix, std::string_view after) {
        return ids_between("pawl", record_kind::lease, prefix, after);
    };
    EXPECT_EQ(bounds("", "").find_text("_id.$gte"), "pawl/l/");
    EXPECT_EQ(bounds("", "").find_text("_id.$lt"), "pawl/l/g");
    EXPECT_EQ(bounds("b", "").find_text("_id.$gte"), "pawl/l/62");
    EXPECT_EQ(bounds("b", "").find_text("_id.$lt"), "pawl/l/62g");
    EXPECT_EQ(bounds("b", "b1").find_text("_id.$gt"), "pawl/l/6231");
    // What comes before all of them is no bound.
    EXPECT_EQ(bounds("b", "a").find_text("_id.$gte"), "pawl/l/62");
}

// Goal: a record that was deleted and made again has no version twice.
TEST(MongodbRecords, RevisionsBeginAtRandomAndHaveManySuccessors) {
    std::set<std::int64_t> seen;
    for (int i = 0; i < 100; ++i) {
        const auto one = fresh_revision();
        EXPECT_GE(one, 0);
        EXPECT_LT(one, std::int64_t{1} << 62);
        EXPECT_EQ(revision_of(version_of(one)), one);
        seen.insert(one);
    }
    EXPECT_EQ(seen.size(), 100U);
    for (const auto* none : {"", "-1", "x", "9223372036854775808"})
        EXPECT_FALSE(revision_of(none).has_value()) << none;
}

TEST(MongodbRecords, ADocumentOfOthersIsNoRecord) {
    EXPECT_FALSE(read_record(document{}.text("record", "1 lease")).has_value());
    EXPECT_FALSE(read_record(document{}.number("rev", 1)).has_value());
    const auto read = read_record(document{}.number("rev", 1).text("record", "1 lease"));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->at, "1");
    EXPECT_EQ(read->text, "1 lease");
}

greeting hello(const document& said) { return {said, instant{}, instant{}}; }

document primary(std::int64_t time = 1'700'000'000'000) {
    return document{}.yes("isWritablePrimary").number("localTime", time);
}

TEST(MongodbDeployment, ARouterASecondaryAndAServerWithoutAClockAreRejected) {
    const auto code_of = [](const document& said) {
        const auto found = judge("here", hello(said));
        return found.has_error() ? std::optional{found.error().code} : std::nullopt;
    };
    EXPECT_EQ(code_of(primary().text("msg", "isdbgrid")), errc::unsupported);
    EXPECT_EQ(code_of(document{}.no("ismaster").yes("secondary").number("localTime", 1)),
              errc::unreachable);
    EXPECT_EQ(code_of(document{}.yes("isWritablePrimary")), errc::unsupported);
    EXPECT_EQ(code_of(primary()), std::nullopt);
    EXPECT_EQ(code_of(document{}.yes("ismaster").number("localTime", 1)), std::nullopt);
}

TEST(MongodbDeployment, TheDoctorWarnsWhereGrantsCanBeForgotten) {
    const auto level = [](document said) {
        return judge_durability(judge("here", hello(said)).value()).level;
    };
    EXPECT_EQ(level(primary()), severity::warn);
    EXPECT_EQ(level(primary().text("setName", "rs0").texts("hosts", {"a"})), severity::warn);
    const auto three =
        primary().text("setName", "rs0").texts("hosts", {"a", "b"}).texts("passives", {"c"});
    const auto found = judge("here", hello(three)).value();
    EXPECT_EQ(found.members, 3U);
    EXPECT_EQ(judge_durability(found).level, severity::ok);
    EXPECT_THAT(judge_durability(found).text, HasSubstr("rs0"));
}

TEST(MongodbDeployment, AnIndexThatDeletesIsAFault) {
    EXPECT_EQ(judge_indexes({document{}.text("name", "_id_")}).level, severity::ok);
    const auto found =
        judge_indexes({document{}.text("name", "_id_"),
                       document{}.text("name", "old").number("expireAfterSeconds", 60)});
    EXPECT_EQ(found.level, severity::fail);
    EXPECT_THAT(found.text, HasSubstr("'old'"));
}

}  // namespace
}  // namespace pawl::mongodb
