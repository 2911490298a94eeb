#include "engines/sqlite/store/examination.hpp"

#include "engines/sqlite/store/sqlite_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace pawl::sqlite {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

TEST(ExamineFile, RoomIsJudgedByWhatIsFreeAndByTheLog) {
    EXPECT_EQ(judge_room(1000 * mebibyte, 0).level, severity::ok);
    EXPECT_EQ(judge_room(100 * mebibyte, 0).level, severity::warn);
    EXPECT_EQ(judge_room(1 * mebibyte, 0).level, severity::fail);
    EXPECT_EQ(judge_room(1000 * mebibyte, 100 * mebibyte).level, severity::warn);
}

TEST(ExamineFile, AFileThatEverybodyMayWriteIsWarnedAbout) {
    EXPECT_EQ(judge_mode(0100660).level, severity::ok);
    EXPECT_EQ(judge_mode(0100666).level, severity::warn);
    EXPECT_THAT(judge_mode(0100666).text, HasSubstr("0666"));
}

// Goal: a healthy file has no finding but ok ones. Method: a store that was just made.
TEST(ExamineFile, AFreshFileIsWell) {
    const test_folder folder;
    net::loop where;
    const auto store = make_sqlite_store(where, folder / "pawl.db", {}).value();
    const auto said = where.wait_for(store->examine()).value();
    EXPECT_THAT(said.version, HasSubstr("SQLite 3."));
    EXPECT_TRUE(said.clock.has_value());
    ASSERT_EQ(said.findings.size(), 3u);
    for (const auto& one : said.findings) EXPECT_NE(one.level, severity::fail) << one.text;
    std::filesystem::remove(folder / "pawl.db");
    const auto gone = examine_file(folder / "pawl.db", synchronous::normal);
    EXPECT_EQ(gone.findings.at(0).level, severity::warn);
    EXPECT_EQ(gone.findings.at(1).level, severity::fail);
}

}  // namespace
}  // namespace pawl::sqlite
