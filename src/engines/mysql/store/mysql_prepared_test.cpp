// The ordinary grant and release are prepared statements; where a server has none to give they are
// texts, and nothing else is different.
#include "engines/mysql/store/mysql_fixture.hpp"

#include <string>

namespace pawl::mysql {
namespace {

using conformance::fresh_occurrence;
using conformance::yes;

std::int64_t status_of(const mysql_server& server, const std::string& name) {
    const auto text = server.ask("SHOW GLOBAL STATUS LIKE '" + name + "'");
    return std::stoll(text.substr(text.find('\t') + 1));
}

void pair(client& through, const std::string& key) {
    EXPECT_TRUE(yes(through.release(key, through.granted(fresh_claim(key)))));
}

// Goal: a connection prepares each statement once. Method: the server's own counts.
TEST(MysqlPrepared, APairIsTwoStatementsThatWerePreparedBefore) {
    const mysql_server server;
    auto mine = open(on_port(server.port(), 5s));
    pair(mine, "key");
    const auto prepared = status_of(server, "Com_stmt_prepare");
    const auto executed = status_of(server, "Com_stmt_execute");
    for (int i = 0; i < 5; ++i) pair(mine, "key");
    EXPECT_EQ(status_of(server, "Com_stmt_execute"), executed + 10);
    EXPECT_EQ(status_of(server, "Com_stmt_prepare"), prepared);
}

TEST(MysqlPrepared, AServerThatPreparesNothingIsSentTexts) {
    const mysql_server server;
    server.ask("SET GLOBAL max_prepared_stmt_count = 0");
    auto mine = open(on_port(server.port(), 5s));
    for (int i = 0; i < 3; ++i) pair(mine, "key");
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(mine.rejected(fresh_claim("key")).holder, token);
    EXPECT_EQ(status_of(server, "Com_stmt_execute"), 0);
}

// Goal: what changes under a prepared statement is noticed. Method: the tables are altered, and
// made anew, and the session is ended.
TEST(MysqlPrepared, TablesAndSessionsMayChangeUnderTheStatements) {
    const mysql_server server;
    auto mine = open(on_port(server.port(), 5s));
    pair(mine, "key");
    server.ask("ALTER TABLE pawl.pawl_lease ADD COLUMN more INT NULL");
    pair(mine, "key");
    server.ask("DROP TABLE pawl.pawl_lease, pawl.pawl_marker, pawl.pawl_floor, pawl.pawl_fence");
    pair(mine, "key");
    server.ask("KILL USER locker");
    pair(mine, "key");
}

// Goal: each kind of occurrence is granted and marked as by the whole statement. Method: an
// occurrence at most once, one at least once, one that is done and one that is early, for a key
// with a record.
TEST(MysqlPrepared, OccurrencesOfAKnownKeyAreMarkedOnce) {
    const mysql_server server;
    auto mine = open(on_port(server.port(), 5s));
    pair(mine, "key");
    const auto first = conformance::occurrence_in(-2min),
               second = conformance::occurrence_in(-1min);
    const auto token = mine.granted(fresh_occurrence("key", first));
    EXPECT_EQ(mine.show("key").last_done, first);
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_EQ(mine.done(fresh_occurrence("key", first)).last, first);
    const auto again = fresh_occurrence("key", second, delivery::at_least_once);
    EXPECT_TRUE(yes(mine.release("key", mine.granted(again))));
    EXPECT_EQ(mine.show("key").last_done, first);
    const auto early = fresh_occurrence("key", conformance::occurrence_in(1h));
    EXPECT_EQ(mine.rejected(early).reason, busy_reason::early);
}

}  // namespace
}  // namespace pawl::mysql
