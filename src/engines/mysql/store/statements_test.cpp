#include "engines/mysql/store/statements.hpp"

#include "acquire_sql.hpp"
#include "exclusive_job_sql.hpp"
#include "release_sql.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace pawl::mysql {
namespace {

TEST(MysqlStatement, ALiteralHasNoByteThatADialectCouldRead) {
    EXPECT_EQ(literal(""), "x''");
    EXPECT_EQ(literal("a'\\\"\xff"), "x'61275c22ff'");
    EXPECT_EQ(literal(std::string{"\0\n", 2}), "x'000a'");
}

TEST(MysqlStatement, CommentsGoAndNamesAreBound) {
    const statement one{"-- a {comment}\nSELECT {b},\n  {a}, {b}\n\n-- more\nFROM t;\n"};
    EXPECT_EQ(one.with({{"a", "1"}, {"b", "'{a}'"}}), "SELECT '{a}', 1, '{a}' FROM t");
}

TEST(MysqlStatement, TheClockIsInUtc) {
    const statement asks{"SELECT {now}"};
    EXPECT_EQ(asks.with({}), "SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))");
}

// A prepared statement and its text mean the same: a question mark stands for each name, in order.
TEST(MysqlStatement, APreparedStatementHasAQuestionMarkForEachName) {
    const statement one{"UPDATE t SET a = {a}, b = {b} WHERE a < {a} AND c = {now}"};
    EXPECT_EQ(one.prepared(),
              "UPDATE t SET a = ?, b = ? WHERE a < ? AND c = " + std::string{server_clock});
    EXPECT_EQ(one.names(), (std::vector<std::string_view>{"a", "b", "a"}));
    const prepared_call call{&one, {{"b", std::string{"'x"}}, {"a", std::int64_t{-7}}}};
    EXPECT_EQ(call.text(),
              "UPDATE t SET a = -7, b = x'2778' WHERE a < -7 AND c = " + std::string{server_clock});
}

TEST(MysqlStatement, TheOrdinaryStatementsLeaveNothingOpen) {
    const auto& all = statements::all();
    for (const auto* one :
         {&all.acquire_free, &all.acquire_due, &all.acquire_due_once, &all.release_now}) {
        EXPECT_EQ(one->prepared().find_first_of("{}"), std::string::npos) << one->prepared();
        EXPECT_FALSE(one->names().empty());
    }
}

TEST(MysqlStatement, ANameThatIsNotBoundIsAMistakeOfOurs) {
    const statement one{"SELECT {a}"};
    EXPECT_DEATH(one.with({{"b", "1"}}), "");
}

// Nothing of what a caller gives may stand in a text but as a literal: no quote of ours opens a
// string in which there could be a name.
TEST(MysqlStatement, NoNameStandsInsideQuotes) {
    const auto text = statements::all().acquire.with({{"space", "<"},
                                                      {"key", "<"},
                                                      {"id", "<"},
                                                      {"owner", "<"},
                                                      {"ttl_us", "<"},
                                                      {"mark", "<"}});
    bool quoted = false;
    for (const char each : text) {
        if (each == '\'') quoted = !quoted;
        EXPECT_FALSE(quoted && each == '<');
    }
    EXPECT_FALSE(quoted);
}

// What a program's statement grants and ends is what a client's does: the script repeats the texts,
// with its own names for their values.
TEST(MysqlStatement, TheScriptOfTheClassicTableRepeatsTheGrantAndTheRelease) {
    const auto folded = [](const std::string& text) {
        std::istringstream words{text};
        std::string all, word;
        while (words >> word) all += word + " ";
        return all;
    };
    const auto script = folded(std::string{embedded::exclusive_job_sql});
    const auto repeats = [&](std::string text) {
        for (auto at = text.find(server_clock); at != std::string::npos;
             at = text.find(server_clock))
            text.replace(at, server_clock.size(), "now_us");
        text = folded(text + ";");
        EXPECT_NE(script.find(text), std::string::npos) << text;
    };
    repeats(statement{embedded::acquire_sql}.with({{"space", "its_space"},
                                                   {"key", "its_key"},
                                                   {"id", "its_id"},
                                                   {"owner", "its_owner"},
                                                   {"ttl_us", "its_ttl_us"},
                                                   {"mark", "its_mark"}}));
    repeats(statement{embedded::release_sql}.with(
        {{"space", "its_space"}, {"key", "its_key"}, {"token", "its_token"}, {"until", "now_us"}}));
}

}  // namespace
}  // namespace pawl::mysql
