// The classic table of exclusive jobs: the statements of programs that know nothing of pawl, beside
// clients of pawl, on one key.
#include "engines/mysql/store/mysql_fixture.hpp"
#include "exclusive_job_sql.hpp"

#include <gtest/gtest.h>
#include <mysql.h>

#include <atomic>
#include <fstream>
#include <ostream>
#include <thread>
#include <vector>

namespace pawl::mysql {
namespace {

using conformance::yes;

constexpr auto* one = "00000000-0000-4000-8000-000000000001";
constexpr auto* other = "00000000-0000-4000-8000-00000000000B";

constexpr unsigned duplicate_entry = 1062, signalled = 1644, lock_wait = 1205, deadlock = 1213;

// What a program is told of its statement.
struct outcome {
    int rows = 0;
    unsigned error = 0;
    std::string text;
    bool operator==(int expected) const { return error == 0 && rows == expected; }
};
void PrintTo(const outcome& it, std::ostream* out) {
    *out << it.rows << " rows, error " << it.error << ": " << it.text;
}

::testing::AssertionResult is_held(const outcome& got) {
    if (got.error == duplicate_entry) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << ::testing::PrintToString(got);
}

::testing::AssertionResult took(const outcome& got) {
    if (got.error == 0 && got.rows > 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << ::testing::PrintToString(got);
}

// A connection that may write the table and nothing else.
class program {
public:
    enum class counts { changed_rows, found_rows };

    explicit program(std::uint16_t port, counts rows = counts::changed_rows,
                     const char* database = mysql_server::database)
        : by_{mysql_init(nullptr), mysql_close} {
        const unsigned long flags = rows == counts::found_rows ? CLIENT_FOUND_ROWS : 0;
        if (mysql_real_connect(by_.get(), "127.0.0.1", "program", "pw", database, port, nullptr,
                               flags) == nullptr)
            throw std::runtime_error{mysql_error(by_.get())};
        // Where a program lives is its own matter.
        EXPECT_EQ(run("SET time_zone = '-07:30'"), 0);
    }

    outcome run(const std::string& sql) const {
        outcome got;
        if (mysql_real_query(by_.get(), sql.data(), sql.size()) != 0) {
            got.error = mysql_errno(by_.get());
            got.text = mysql_error(by_.get());
            return got;
        }
        if (auto* rows = mysql_store_result(by_.get())) {
            if (auto* row = mysql_fetch_row(rows)) got.text = row[0] == nullptr ? "" : row[0];
            mysql_free_result(rows);
        } else {
            got.rows = static_cast<int>(mysql_affected_rows(by_.get()));
        }
        return got;
    }

    outcome insert(const std::string& job, const std::string& instance,
                   const std::string& lasts = "60", const std::string& ignore = "") const {
        return run("INSERT " + ignore +
                   " INTO exclusive_job (job_id, job_instance_id, lock_expires_at) VALUES ('" +
                   job + "', '" + instance + "', NOW(6) + INTERVAL " + lasts + " SECOND)");
    }
    // tryAcquireLock as MySQL has it.
    outcome try_acquire(const std::string& job, const std::string& instance,
                        const std::string& lasts = "60") const {
        return run(
            "INSERT INTO exclusive_job (job_id, job_instance_id, lock_expires_at) VALUES ('" + job +
            "', '" + instance + "', NOW(6) + INTERVAL " + lasts +
            " SECOND) ON DUPLICATE KEY UPDATE job_instance_id = IF(lock_expires_at < NOW(6), "
            "VALUES(job_instance_id), job_instance_id), lock_expires_at = IF(job_instance_id "
            "= VALUES(job_instance_id), VALUES(lock_expires_at), lock_expires_at)");
    }
    // The same for a row that is there.
    outcome take_over(const std::string& job, const std::string& instance) const {
        return run("UPDATE exclusive_job SET job_instance_id = '" + instance +
                   "', lock_expires_at = NOW(6) + INTERVAL 60 SECOND WHERE job_id = '" + job +
                   "' AND (lock_expires_at < NOW(6) OR job_instance_id = '" + instance + "')");
    }
    outcome update_lock(const std::string& job, const std::string& instance,
                        const std::string& lasts) const {
        return run("UPDATE exclusive_job SET lock_expires_at = NOW(6) + INTERVAL " + lasts +
                   " SECOND WHERE job_id = '" + job + "' AND job_instance_id = '" + instance + "'");
    }
    outcome release_lock(const std::string& job, const std::string& instance) const {
        return run("DELETE FROM exclusive_job WHERE job_id = '" + job +
                   "' AND job_instance_id = '" + instance + "'");
    }
    fence_token token_of(const std::string& job, const std::string& instance) const {
        const auto got = run("SELECT fence_token FROM exclusive_job WHERE job_id = '" + job +
                             "' AND job_instance_id = '" + instance + "'");
        if (got.text.empty()) ADD_FAILURE() << job << " is not of " << instance;
        return fence_token{got.text.empty() ? 0 : std::stoull(got.text)};
    }

private:
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> by_;
};

void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

// A server whose administrator has run the script, by the client that the page names.
class classic_table : public mysql_server {
public:
    explicit classic_table(const std::string& skew_us = "1000000")
        : mine{open(on_port(port(), 10s))} {
        mine.granted(fresh_claim("first"));
        run_script(skew_us);
        ask("CREATE USER program IDENTIFIED BY 'pw'; GRANT SELECT, INSERT, UPDATE, DELETE ON "
            "pawl.exclusive_job TO program");
        by = std::make_unique<program>(port());
    }

    void run_script(const std::string& skew_us) const {
        std::string text{embedded::exclusive_job_sql};
        replace_all(text, " 1000000,", " " + skew_us + ",");
        const testing_servers::temporary_folder folder;
        const auto file = folder.path() / "exclusive-job.sql";
        std::ofstream{file} << text;
        testing_servers::run_command({"sh", "-c",
                                      "mariadb --no-defaults --user=root --socket=" + unix_path() +
                                          " pawl < " + file.string()});
    }
    void until_expired(const std::string& job) const {
        until([&] {
            return ask("SELECT lock_expires_at < NOW(6) FROM pawl.exclusive_job WHERE job_id = '" +
                       job + "'") == "1";
        });
    }

    client mine;
    std::unique_ptr<program> by;
};

TEST(MysqlExclusiveJob, ItsStatementsMeanWhatTheyMeant) {
    const classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    const auto first = by.token_of("report", one);
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
    EXPECT_TRUE(is_held(by.insert("report", other)));
    EXPECT_EQ(by.take_over("report", other), 0);
    EXPECT_EQ(by.update_lock("report", other, "120"), 0);
    EXPECT_EQ(by.release_lock("report", other), 0);
    // The same instance may take it again, and keeps its token.
    EXPECT_EQ(by.try_acquire("report", one, "120"), 2);
    EXPECT_EQ(by.take_over("report", one), 1);
    EXPECT_EQ(by.update_lock("report", one, "180"), 1);
    EXPECT_EQ(by.token_of("report", one), first);
    EXPECT_EQ(by.release_lock("report", one), 1);
    EXPECT_EQ(by.insert("report", other), 1);
    EXPECT_GT(by.token_of("report", other), first);
}

// Goal: a lock that has run out passes on, and is lost for its instance. Method: no bound on skew.
TEST(MysqlExclusiveJob, ALockThatHasExpiredIsTakenOver) {
    const classic_table table{"0"};
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one, "0.3"), 1);
    auto newest = by.token_of("report", one);
    until([&] { return took(by.try_acquire("report", other, "0.3")); });
    EXPECT_GT(by.token_of("report", other), newest);
    newest = by.token_of("report", other);
    EXPECT_EQ(by.update_lock("report", one, "60"), 0);
    EXPECT_EQ(by.release_lock("report", one), 0);
    // By the other statement, too.
    until([&] { return by.take_over("report", one) == 1; });
    EXPECT_GT(by.token_of("report", one), newest);
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
}

// Goal: the same instance takes its expired lock anew, under a higher token, as another run would.
TEST(MysqlExclusiveJob, AnExpiredLockOfItsOwnIsANewGrant) {
    const classic_table table{"0"};
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one, "0.001"), 1);
    const auto first = by.token_of("report", one);
    table.until_expired("report");
    EXPECT_EQ(by.try_acquire("report", one), 2);
    EXPECT_GT(by.token_of("report", one), first);
}

// Goal: a program whose clock is behind by less than the bound is not overtaken, and a lock that
// no other program took can still be extended.
TEST(MysqlExclusiveJob, ALeaseOutlivesItsLockByTheBoundOnSkew) {
    const classic_table table{"600000000"};
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one, "0.001"), 1);
    table.until_expired("report");
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
    EXPECT_TRUE(is_held(by.take_over("report", other)));
    EXPECT_EQ(by.update_lock("report", one, "60"), 1);
}

// Goal: a lock that another program tidies up once it has expired keeps its lease for as long as
// its holder may believe in it; one that is running ends with its row.
TEST(MysqlExclusiveJob, ToDeleteWhatHasExpiredOvertakesNoOne) {
    const classic_table table{"600000000"};
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one, "0.001"), 1);
    table.until_expired("report");
    EXPECT_EQ(by.run("DELETE FROM exclusive_job WHERE lock_expires_at < NOW(6)"), 1);
    EXPECT_TRUE(is_held(by.insert("report", other)));
    EXPECT_EQ(by.insert("report", one), 1);
    EXPECT_EQ(by.run("DELETE FROM exclusive_job"), 1);
    EXPECT_EQ(by.insert("report", other), 1);
}

TEST(MysqlExclusiveJob, ProgramsAndClientsOfPawlExcludeEachOther) {
    classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    const auto first = by.token_of("report", one);
    const auto busy = table.mine.rejected(fresh_claim("report"));
    EXPECT_EQ(busy.holder, first);
    EXPECT_EQ(busy.owner, "exclusive_job " + std::string{one});
    EXPECT_EQ(by.release_lock("report", one), 1);
    const auto token = table.mine.granted(fresh_claim("report", 60s));
    EXPECT_GT(token, first);
    EXPECT_TRUE(is_held(by.try_acquire("report", one)));
    EXPECT_TRUE(is_held(by.insert("report", one)));
    EXPECT_TRUE(is_held(by.insert("report", one, "60", "IGNORE")));
    EXPECT_TRUE(yes(table.mine.release("report", token)));
    EXPECT_EQ(by.try_acquire("report", one), 1);
    EXPECT_GT(by.token_of("report", one), token);
}

// Goal: what a client took over in the meantime, a program's own row does not hide.
TEST(MysqlExclusiveJob, AnExpiredLockThatAClientTookIsLost) {
    classic_table table{"0"};
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one, "0.001"), 1);
    table.until_expired("report");
    const auto token = table.mine.granted(fresh_claim("report", 60s));
    EXPECT_TRUE(is_held(by.update_lock("report", one, "60")));
    EXPECT_TRUE(is_held(by.try_acquire("report", one)));
    EXPECT_TRUE(is_held(by.take_over("report", other)));
    // Also when the client has gone: it may have done the work.
    EXPECT_TRUE(yes(table.mine.release("report", token)));
    EXPECT_TRUE(is_held(by.update_lock("report", one, "60")));
    EXPECT_EQ(by.try_acquire("report", one), 2);
    EXPECT_GT(by.token_of("report", one), token);
}

// Goal: what an administrator takes away is gone for the program, and free for others though the
// row still names a time ahead.
TEST(MysqlExclusiveJob, AForcedReleaseIsObeyed) {
    classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    const auto first = by.token_of("report", one);
    EXPECT_TRUE(yes(table.mine.force_release("report", first, 0ms)));
    EXPECT_TRUE(is_held(by.update_lock("report", one, "300")));
    EXPECT_EQ(by.try_acquire("report", other), 2);
    EXPECT_GT(by.token_of("report", other), first);
    EXPECT_EQ(by.update_lock("report", one, "300"), 0);
    EXPECT_EQ(by.release_lock("report", one), 0);
    EXPECT_EQ(by.try_acquire("report", other), 2);
    // During a cooldown it has no holder.
    EXPECT_TRUE(yes(table.mine.force_release("report", by.token_of("report", other), 30s)));
    EXPECT_TRUE(is_held(by.try_acquire("report", one)));
    EXPECT_TRUE(is_held(by.update_lock("report", other, "300")));
    // The row of a lock that was lost ends nothing when it goes.
    EXPECT_EQ(by.release_lock("report", other), 1);
    EXPECT_TRUE(is_held(by.insert("report", one)));
}

// Goal: what a program may believe is what the lease says. Method: after each statement the row and
// the lease name one token and one end; one statement writes nothing of its own accord, and one
// mistakes the old time for the new.
TEST(MysqlExclusiveJob, TheRowAndTheLeaseAgree) {
    classic_table table;
    const auto& by = *table.by;
    const auto agree = [&] {
        return table.ask(
                   "SELECT l.holder = j.fence_token AND l.claim_id = "
                   "LOWER(REPLACE(j.job_instance_id, '-', '')) AND l.until_at = 1000000 + "
                   "CAST(UNIX_TIMESTAMP(j.lock_expires_at) * 1000000 AS SIGNED) FROM "
                   "pawl.exclusive_job AS j JOIN pawl.pawl_lease AS l ON l.lock_key = "
                   "CAST(j.job_id AS BINARY)") == "1";
    };
    const auto insert = [](const std::string& instance, const std::string& lasts,
                           const std::string& update) {
        return "INSERT INTO exclusive_job (job_id, job_instance_id, lock_expires_at) VALUES "
               "('report', '" +
               instance + "', NOW(6) + INTERVAL " + lasts + " SECOND) ON DUPLICATE KEY UPDATE " +
               update;
    };
    const std::string nothing = "job_id = job_id",
                      mistaken =
                          "lock_expires_at = IF(lock_expires_at < NOW(6), VALUES(lock_expires_at), "
                          "lock_expires_at), job_instance_id = IF(lock_expires_at < NOW(6), "
                          "VALUES(job_instance_id), job_instance_id)";
    const auto lasts_for = [&](const std::string& seconds) {
        return table.ask("SELECT lock_expires_at > NOW(6) + INTERVAL " + seconds +
                         " SECOND FROM pawl.exclusive_job") == "1";
    };
    const auto force = [&](const std::string& instance) {
        EXPECT_TRUE(yes(table.mine.force_release("report", by.token_of("report", instance), 0ms)));
    };
    for (const auto& update : {nothing, mistaken}) {
        EXPECT_EQ(by.run(insert(one, "100", update)), 1);
        EXPECT_TRUE(agree());
        // Its own, which runs on: as the statement says.
        EXPECT_EQ(by.run(insert(one, "600", update)), 0);
        EXPECT_TRUE(agree());
        EXPECT_FALSE(lasts_for("200"));
        // A new grant to the same, and to another, whose time is ahead of the row's and before it.
        force(one);
        EXPECT_EQ(by.run(insert(one, "1200", update)), 2);
        EXPECT_TRUE(agree());
        EXPECT_TRUE(lasts_for("1000"));
        force(one);
        EXPECT_EQ(by.run(insert(other, "60", update)), 2);
        EXPECT_TRUE(agree());
        EXPECT_FALSE(lasts_for("200"));
        EXPECT_EQ(by.update_lock("report", other, "30"), 1);
        EXPECT_TRUE(agree());
        EXPECT_EQ(by.run("DELETE FROM exclusive_job"), 1);
    }
}

// Goal: a statement that grants nothing is never "1 row", whatever the driver counts. Method: a
// connection that counts the rows found, as that of Java does unless told otherwise.
TEST(MysqlExclusiveJob, WhoCountsTheRowsFoundIsNotMisled) {
    classic_table table{"0"};
    const program by{table.port(), program::counts::found_rows};
    EXPECT_EQ(by.try_acquire("report", one), 1);
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
    EXPECT_TRUE(is_held(by.insert("report", other, "60", "IGNORE")));
    EXPECT_EQ(by.take_over("report", other), 0);
    EXPECT_EQ(by.update_lock("report", one, "0.001"), 1);
    table.until_expired("report");
    const auto token = table.mine.granted(fresh_claim("report", 60s));
    EXPECT_TRUE(is_held(by.take_over("report", other)));
    EXPECT_TRUE(is_held(by.take_over("report", one)));
    EXPECT_TRUE(
        is_held(by.run("UPDATE IGNORE exclusive_job SET job_instance_id = '" + std::string{other} +
                       "', lock_expires_at = NOW(6) + INTERVAL 1 HOUR")));
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
    EXPECT_TRUE(yes(table.mine.release("report", token)));
    EXPECT_TRUE(took(by.try_acquire("report", other)));
    EXPECT_EQ(by.token_of("report", other), table.mine.show("report").holder);
}

// Goal: INSERT IGNORE is the classic one, and takes no lease where it adds no row.
TEST(MysqlExclusiveJob, WhatIsIgnoredTakesNothing) {
    classic_table table{"0"};
    const auto& by = *table.by;
    EXPECT_EQ(by.insert("report", one, "0.001", "IGNORE"), 1);
    table.until_expired("report");
    EXPECT_EQ(by.insert("report", other, "60", "IGNORE"), 0);
    const auto token = table.mine.granted(fresh_claim("report", 60s));
    EXPECT_TRUE(yes(table.mine.release("report", token)));
    EXPECT_EQ(by.take_over("report", other), 1);
    EXPECT_GT(by.token_of("report", other), token);
}

// Goal: no row comes to be without its lease. Method: REPLACE, which deletes in between, of the
// lock of another and of one's own.
TEST(MysqlExclusiveJob, ReplaceTakesNothingAway) {
    classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    for (const auto* instance : {one, other})
        EXPECT_TRUE(
            is_held(by.run("REPLACE INTO exclusive_job (job_id, job_instance_id, "
                           "lock_expires_at) VALUES ('report', '" +
                           std::string{instance} + "', NOW(6) + INTERVAL 1 HOUR)")));
    EXPECT_EQ(table.mine.rejected(fresh_claim("report")).holder, by.token_of("report", one));
}

// Goal: what counts is what is there now. Method: a transaction whose snapshot is older, of a row
// that has gone and of one that has come.
TEST(MysqlExclusiveJob, AnOldSnapshotIsNotBelieved) {
    classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    const program old{table.port()};
    old.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    old.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    EXPECT_EQ(by.release_lock("report", one), 1);
    EXPECT_EQ(by.try_acquire("more", one), 1);
    EXPECT_TRUE(is_held(old.try_acquire("more", other)));
    EXPECT_EQ(old.try_acquire("report", other), 1);
    old.run("COMMIT");
    EXPECT_EQ(table.mine.rejected(fresh_claim("report")).holder, old.token_of("report", other));
}

TEST(MysqlExclusiveJob, AStatementOfSeveralRowsHappensAsAWhole) {
    classic_table table;
    const auto& by = *table.by;
    const auto token = table.mine.granted(fresh_claim("b", 60s));
    const std::string row = "', '" + std::string{one} + "', NOW(6) + INTERVAL 1 HOUR)";
    const auto both =
        "INSERT INTO exclusive_job (job_id, job_instance_id, lock_expires_at) VALUES ('a" + row +
        ", ('b" + row;
    EXPECT_TRUE(is_held(by.run(both)));
    EXPECT_TRUE(yes(table.mine.release("a", table.mine.granted(fresh_claim("a")))));
    EXPECT_TRUE(yes(table.mine.release("b", token)));
    EXPECT_EQ(by.run(both), 2);
    EXPECT_NE(by.token_of("a", one), fence_token{});
    EXPECT_EQ(by.run("UPDATE exclusive_job SET lock_expires_at = NOW(6) + INTERVAL 2 HOUR"), 2);
    // The row of a job is that of its lease, whatever the conditions of a statement made of it.
    EXPECT_EQ(by.run("DELETE FROM exclusive_job"), 2);
    table.mine.granted(fresh_claim("a"));
    table.mine.granted(fresh_claim("b"));
}

// Goal: one line says what is wrong, and no lease is touched, also by those who want no errors.
TEST(MysqlExclusiveJob, WhatIsWrongIsRejectedInOneLine) {
    classic_table table;
    const auto& by = *table.by;
    const auto rejects = [&](const std::string& values, const std::string& words) {
        for (const auto* how : {"INSERT", "INSERT IGNORE", "REPLACE"}) {
            const auto got =
                by.run(std::string{how} +
                       " INTO exclusive_job (job_id, job_instance_id, lock_expires_at) VALUES (" +
                       values + ")");
            EXPECT_NE(got.error, 0u) << how << values;
            EXPECT_NE(got.text.find(words), std::string::npos) << how << values << got.text;
        }
    };
    const std::string instance = "'" + std::string{one} + "'",
                      ahead = ", NOW() + INTERVAL 1 MINUTE";
    for (const std::string& mode : std::vector<std::string>{"", "STRICT_ALL_TABLES"}) {
        by.run("SET sql_mode = '" + mode + "'");
        // A strict server rejects by itself what does not fit into its column.
        const bool strict = !mode.empty();
        rejects("'', " + instance + ahead, "invalid job_id");
        rejects("REPEAT('x', 256), " + instance + ahead, "invalid job_id");
        if (!strict) rejects("REPEAT('x', 300), " + instance + ahead, "invalid job_id");
        rejects("REPEAT(_utf8mb4 x'f09f9982', 129), " + instance + ahead, "invalid job_id");
        rejects("'a ', " + instance + ahead, "invalid job_id");
        rejects("'a', 'host-17'" + ahead, "invalid job_instance_id");
        if (!strict) rejects("'a', '" + std::string{one} + "1'" + ahead, "invalid job_instance_id");
        rejects("'a', " + instance + ", NOW() - INTERVAL 1 MINUTE", "expected a time ahead");
        if (!strict) rejects("'a', " + instance + ", 'soon'", "invalid lock_expires_at");
        rejects("NULL, " + instance + ahead, "invalid job_id");
        rejects("'a', NULL" + ahead, "invalid job_instance_id");
        rejects("'a', " + instance + ", NULL", "invalid lock_expires_at");
    }
    EXPECT_TRUE(table.mine.all("a", 10).empty());
    EXPECT_EQ(by.insert(std::string(255, 'x'), one), 1);
    EXPECT_EQ(by.run("UPDATE exclusive_job SET job_id = 'y'").error, signalled);
    EXPECT_EQ(by.run("UPDATE exclusive_job SET job_instance_id = 'y'").error, signalled);
}

// The constraints of the table say the same, to those who read it, and where there are no triggers.
TEST(MysqlExclusiveJob, TheTableHasItsConstraints) {
    const classic_table table;
    table.ask("DROP TRIGGER pawl.exclusive_job_take; DROP TRIGGER pawl.exclusive_job_taken");
    const auto rejects = [&](const std::string& values) {
        EXPECT_THROW(table.ask("INSERT INTO pawl.exclusive_job VALUES (" + values + ", 1)"),
                     std::runtime_error)
            << values;
    };
    const std::string instance = "'" + std::string{one} + "'";
    rejects("'', " + instance + ", NOW()");
    rejects("REPEAT('x', 256), " + instance + ", NOW()");
    rejects("'a', 'b', NOW()");
    rejects("NULL, " + instance + ", NOW()");
    rejects("'a', NULL, NOW()");
    // That of a TIMESTAMP is for the trigger to reject: MariaDB takes NULL for the time it is.
}

// Goal: a program that expects the table in its own database has it there, and needs no right to
// pawl's tables.
TEST(MysqlExclusiveJob, AViewStandsInAnotherDatabase) {
    classic_table table;
    table.ask(
        "CREATE DATABASE app; CREATE VIEW app.exclusive_job AS SELECT * FROM pawl.exclusive_job; "
        "REVOKE ALL PRIVILEGES, GRANT OPTION FROM program; GRANT SELECT, INSERT, UPDATE, DELETE ON "
        "app.exclusive_job TO program");
    const program by{table.port(), program::counts::found_rows, "app"};
    EXPECT_EQ(by.try_acquire("report", one), 1);
    EXPECT_TRUE(is_held(by.try_acquire("report", other)));
    EXPECT_EQ(table.mine.rejected(fresh_claim("report")).holder, by.token_of("report", one));
    EXPECT_TRUE(yes(table.mine.force_release("report", by.token_of("report", one), 0ms)));
    EXPECT_TRUE(took(by.try_acquire("report", other)));
    EXPECT_EQ(by.release_lock("report", other), 1);
    EXPECT_EQ(by.run("SELECT * FROM pawl.pawl_lease").error, 1142u);
}

// Goal: no program goes on under rules that it does not know.
TEST(MysqlExclusiveJob, ANewerLayoutIsRejected) {
    const classic_table table;
    const auto& by = *table.by;
    EXPECT_EQ(by.try_acquire("report", one), 1);
    table.ask("UPDATE pawl.pawl_marker SET layout = 2");
    EXPECT_EQ(by.try_acquire("report", one).error, signalled);
    EXPECT_EQ(by.try_acquire("more", one).error, signalled);
    EXPECT_EQ(by.update_lock("report", one, "300").error, signalled);
    EXPECT_EQ(by.release_lock("report", one).error, signalled);
}

// Goal: there is never a table that takes no leases. Method: the script is run before pawl was.
TEST(MysqlExclusiveJob, WithoutTheTablesOfPawlThereIsNone) {
    const classic_table table;
    table.ask("DROP TABLE pawl.exclusive_job, pawl.pawl_floor");
    EXPECT_THROW(table.run_script("1000000"), std::runtime_error);
    EXPECT_EQ(table.ask("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE "
                        "'%exclusive_job%'"),
              "0");
}

// Goal: jobs do not get into each other's way: no wait for another's row, and no deadlock. Method:
// each program has a job of its own, and is never rejected.
TEST(MysqlExclusiveJob, ProgramsOfDifferentJobsDoNotMeet) {
    const classic_table table;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            const program by{table.port()};
            const auto job = "job" + std::to_string(i);
            for (int times = 0; times < 30; ++times) {
                EXPECT_EQ(by.try_acquire(job, one), 1);
                EXPECT_EQ(by.try_acquire(job, one, "90"), 2);
                EXPECT_EQ(by.release_lock(job, one), 1);
            }
        });
    threads.clear();
}

// Goal: however they mix, one at a time is inside. Method: programs with either statement, that
// count either rows, and clients of pawl contend, and a witness counts them.
TEST(MysqlExclusiveJob, ProgramsAndClientsContendWithoutAnOverlap) {
    classic_table table;
    std::atomic<int> inside{0}, overlaps{0}, by_programs{0}, by_clients{0};
    std::atomic<std::uint64_t> newest{0};
    const auto work = [&](fence_token token) {
        if (++inside > 1) ++overlaps;
        EXPECT_GT(number(token), newest.exchange(number(token)));
        std::this_thread::yield();
        --inside;
    };
    // A statement that the server gave up had no effect.
    const auto rejected = [](const outcome& got) {
        return got.error == duplicate_entry || got.error == deadlock || got.error == lock_wait ||
               got == 0;
    };
    std::atomic<bool> enough{false};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            const auto rows =
                i % 2 == 0 ? program::counts::changed_rows : program::counts::found_rows;
            const program by{table.port(), rows};
            const auto instance = "00000000-0000-4000-8000-00000000001" + std::to_string(i);
            while (!enough) {
                const auto got = i < 2
                                     ? by.try_acquire("report", instance)
                                     : by.insert("report", instance, "60", i == 2 ? "IGNORE" : "");
                if (rejected(got)) continue;
                EXPECT_TRUE(took(got));
                const auto token = by.token_of("report", instance);
                work(token);
                until([&] { return by.update_lock("report", instance, "90") == 1; });
                EXPECT_EQ(by.token_of("report", instance), token);
                ++by_programs;
                until([&] { return by.release_lock("report", instance) == 1; });
            }
        });
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            auto client = open(on_port(table.port(), 10s));
            while (!enough) {
                const auto got = client.acquire(fresh_claim("report", 60s));
                if (got.has_error() || !std::holds_alternative<grant>(*got)) continue;
                work(std::get<grant>(*got).token);
                ++by_clients;
                EXPECT_TRUE(yes(client.release("report", std::get<grant>(*got).token)));
            }
        });
    until([&] { return by_programs >= 20 && by_clients >= 10; }, 60s);
    enough = true;
    threads.clear();
    EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace pawl::mysql
