// The journal on a real MariaDB: who may, what is rejected, and what it does under trouble.
#include "engines/mysql/journal/make_mysql_journal.hpp"
#include "engines/mysql/store/mysql_store.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/journal/load.hpp"
#include "test_support/servers/mysql_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>

#include <thread>

namespace pawl::mysql {
namespace {

using namespace std::chrono_literals;
using namespace conformance;
using testing_servers::mysql_server;
using testing_servers::mysql_server_options;

journal_opener opener(const mysql_settings& settings) {
    return [settings](net::loop& where) { return make_mysql_journal(where, settings); };
}

journal_client open(const mysql_settings& settings) { return journal_client{opener(settings)}; }

void expect_rejection(const mysql_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    const auto why = mine.rejection(mine->begin(fresh_run("job", 1)));
    conformance::expect_detail(why, code, words);
    EXPECT_THAT(why.detail, testing::StartsWith("127.0.0.1:"));
}

class MysqlJournal : public testing::Test {
protected:
    static void SetUpTestSuite() {
        mysql_server_options options;
        options.more = {"max_connections=200"};
        server_ = std::make_unique<mysql_server>(options);
    }
    static void TearDownTestSuite() { server_.reset(); }
    static mysql_server& server() { return *server_; }
    // A database and a user with these privileges on it, both called `name`.
    static mysql_settings with_user(const std::string& name, const std::string& privileges) {
        server().ask("CREATE DATABASE " + name + "; CREATE USER " + name +
                     " IDENTIFIED BY 's3cret'; GRANT " + privileges + " ON " + name + ".* TO " +
                     name);
        auto settings = on_port(server().port());
        settings.user = settings.database = name;
        return settings;
    }

private:
    static inline std::unique_ptr<mysql_server> server_;
};

// ---- Who may, and what is rejected

TEST_F(MysqlJournal, TheDocumentedUserMayDoEverything) {
    const auto settings = with_user("frugal", "SELECT, INSERT, UPDATE, DELETE, CREATE");
    open(settings).begin(fresh_run("other", 1));
    server().ask("REVOKE CREATE ON frugal.* FROM frugal; DELETE FROM frugal.pawl_job_run");
    auto mine = open(settings);
    conformance::try_every_verb(mine);
}

TEST_F(MysqlJournal, TablesThatMayNotBeMadeAreAnAdministratorsTask) {
    expect_rejection(with_user("nomaker", "SELECT, INSERT, UPDATE, DELETE"), errc::denied,
                     "an administrator must make them once");
}

TEST_F(MysqlJournal, AMissingDatabaseIsNamed) {
    auto settings = on_port(server().port());
    settings.database = "nowhere";
    expect_rejection(settings, errc::denied, "to database 'nowhere'");
}

TEST_F(MysqlJournal, TablesThatAreNewerOrOfAnotherKindAreLeftAlone) {
    const auto newer = with_user("newer", "ALL");
    open(newer).begin(fresh_run("job", 1));
    server().ask("UPDATE newer.pawl_journal_marker SET layout = 7");
    expect_rejection(newer, errc::unsupported,
                     "the journal has layout 7, and this pawl knows 1 at most");
    const auto other = with_user("other_kind", "ALL");
    open(other).begin(fresh_run("job", 1));
    server().ask("ALTER TABLE other_kind.pawl_run_event ENGINE=MyISAM");
    expect_rejection(other, errc::unsupported, "the table pawl_run_event is MyISAM");
}

TEST_F(MysqlJournal, AReadOnlyServerIsUnreachableUntilItIsThePrimary) {
    const auto settings = with_user("reading", "ALL");
    auto mine = open(settings);
    mine.begin(fresh_run("job", 1));
    server().ask("SET GLOBAL read_only = 1");
    expect_rejection(settings, errc::unreachable, "point the URL at the primary");
    EXPECT_EQ(name_of(mine.rejection(mine->begin(fresh_run("job", 2))).code), "unreachable");
    server().ask("SET GLOBAL read_only = 0");
    mine.begin(fresh_run("job", 3));
}

// Goal: leases and runs share a database, whichever makes its tables. Method: both orders.
TEST_F(MysqlJournal, LeasesAndRunsShareADatabase) {
    for (const std::string name : {"leases_first", "runs_first"}) {
        const auto settings = with_user(name, "ALL");
        conformance::client leases{
            [&](net::loop& where) { return make_mysql_store(where, settings); }};
        auto runs = open(settings);
        if (name == "leases_first") leases.granted(conformance::fresh_claim("key"));
        conformance::try_every_verb(runs);
        EXPECT_GT(number(leases.granted(conformance::fresh_claim("other"))), 0u);
    }
}

TEST_F(MysqlJournal, SixteenThatStartAtOnceMakeTheTablesOnce) {
    const auto settings = with_user("many", "ALL");
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
        threads.emplace_back(
            [&, i] { open(settings).begin(fresh_run("job" + std::to_string(i), 1)); });
    threads.clear();
    EXPECT_EQ(server().ask("SELECT COUNT(*) FROM many.pawl_job_run"), "16");
}

TEST_F(MysqlJournal, RunsAreRowsThatPeopleCanRead) {
    const auto settings = with_user("reader", "ALL");
    auto mine = open(settings);
    auto start = fresh_occurrence_run("daily-report", 1'795'184'283'285, 7);
    start.owner = "host:1:2:ab";
    mine.begin(start);
    mine.get(mine->finish(mark_of(start), ended(run_status::failed, "exit 3", 3)));
    EXPECT_EQ(server().ask("SELECT run_id, job_name, lock_owner, fence_token, status, reason, "
                           "occurrence, started_at <= completed_at, last_heartbeat = started_at, "
                           "ABS(TIMESTAMPDIFF(SECOND, started_at, UTC_TIMESTAMP())) < 60 "
                           "FROM reader.pawl_job_run"),
              start.id + "\tdaily-report\thost:1:2:ab\t7\tfailed\texit 3\t1795184283285\t1\t1\t1");
}

TEST_F(MysqlJournal, TheServersOwnSettingsDoNotMatter) {
    const auto settings = with_user("odd", "ALL");
    server().ask(
        "SET GLOBAL sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,ORACLE', GLOBAL time_zone = '+05:45', "
        "GLOBAL autocommit = 0, GLOBAL tx_isolation = 'SERIALIZABLE'");
    auto mine = open(settings);
    conformance::try_every_verb(mine);
    server().ask(
        "SET GLOBAL sql_mode = DEFAULT, GLOBAL time_zone = 'SYSTEM', GLOBAL autocommit = 1, "
        "GLOBAL tx_isolation = 'REPEATABLE-READ'");
    const auto run = mine.all({}, 10).front();
    EXPECT_LT(std::abs(run.started_at -
                       std::stoll(server().ask("SELECT UNIX_TIMESTAMP(NOW(3)) * 1000 DIV 1"))),
              60'000);
}

TEST_F(MysqlJournal, TenThousandRunsLeakNothing) {
    auto settings = with_user("leak", "ALL");
    settings.common.timeout = 20s;
    auto mine = open(settings);
    const auto kept = conformance::run_ten_thousand(mine);
    EXPECT_LE(server().count("SELECT COUNT(*) FROM information_schema.PROCESSLIST "
                             "WHERE USER = 'leak'"),
              16);
    EXPECT_EQ(server().ask("SELECT COUNT(*) FROM leak.pawl_job_run"), std::to_string(kept));
    // Nothing of the runs that went stays.
    EXPECT_EQ(server().ask("SELECT COUNT(*) FROM leak.pawl_run_event AS e LEFT JOIN "
                           "leak.pawl_job_run AS r USING (run_number) WHERE r.run_number IS NULL"),
              "0");
}

// ---- Trouble

// Goal: a row that another session keeps locked makes no other run stale, nor its own. Method: an
// outsider locks one of three runs' rows, by its id and by its number, which are different locks.
TEST_F(MysqlJournal, ALockedRunHoldsUpTheHeartbeatOfNoOther) {
    auto settings = with_user("locked", "ALL");
    settings.common.timeout = 8s;
    auto mine = open(settings);
    std::vector<run_ref> marks;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const auto start = fresh_run("job" + std::to_string(i), i);
        mine.begin(start);
        marks.push_back(mark_of(start));
    }
    mine.get(mine->request_cancel(marks[2].id, "me"));
    auto foreign = marks;
    foreign[0].token = fence_token{99};
    const std::vector alive{heartbeat_result::alive, heartbeat_result::alive,
                            heartbeat_result::cancel_requested};
    const auto beaten = [&] {
        return server().ask(
            "SELECT GROUP_CONCAT(last_heartbeat > '2020-01-02' ORDER BY job_name) "
            "FROM locked.pawl_job_run");
    };
    for (const std::string column : {"run_id", "run_number"}) {
        server().ask("UPDATE locked.pawl_job_run SET last_heartbeat = '2020-01-01'");
        const auto value =
            server().ask("SELECT CONCAT(\"'\", " + column +
                         ", \"'\") FROM locked.pawl_job_run WHERE job_name = 'job1'");
        auto outsider = server().hold(
            "START TRANSACTION; SELECT 1 FROM locked.pawl_job_run WHERE name_space = 'pawl' AND " +
            column + " = " + value + " FOR UPDATE");
        const auto asked = lease_clock::now();
        EXPECT_EQ(mine.get(mine->heartbeat(marks)), alive) << column;
        EXPECT_LT(lease_clock::now() - asked, settings.common.timeout / 2) << column;
        EXPECT_EQ(beaten(), "0,1,1") << column;
        EXPECT_EQ(mine.get(mine->heartbeat(foreign)).front(), heartbeat_result::stale) << column;
        outsider.reset();
        EXPECT_EQ(mine.get(mine->heartbeat(marks)), alive) << column;
        EXPECT_EQ(beaten(), "1,1,1") << column;
    }
}

// Goal: a server that is restarted and killed loses no run and doubles none. Method: 32 runners,
// two for each occurrence; who asks again after an unknown outcome gets its answer.
TEST(MysqlJournalTrouble, AServerThatDiesUnderRunsLosesNothingAndDoublesNothing) {
    mysql_server server;
    const auto settings = on_port(server.port());
    open(settings).begin(fresh_run("warm", 1));
    server.ask("DELETE FROM pawl.pawl_run_event; DELETE FROM pawl.pawl_job_run");
    const auto finished = [&](int count) {
        const auto give_up = lease_clock::now() + 30s;
        const auto* text = "SELECT COUNT(*) FROM pawl.pawl_job_run WHERE status = 'completed'";
        while (server.count(text) < count && lease_clock::now() < give_up) poll(nullptr, 0, 5);
    };
    conformance::load_plan plan;
    conformance::run_under_trouble(opener(settings), plan, [&] {
        finished(50);
        server.restart();
        finished(200);
        server.crash();
        server.start();
    });
}

// ---- Many rows

// How many rows the server reads in one verb, through an index or without one.
std::int64_t rows_read(const mysql_server& server) {
    return server.count(
        "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN "
        "('Handler_read_first', 'Handler_read_key', 'Handler_read_last', 'Handler_read_next', "
        "'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')");
}

// Goal: no verb reads more than it answers, however many rows there are. Method: 100,000 runs, of
// which few go on; the server counts what each verb reads.
TEST(MysqlJournalTrouble, AHundredThousandRunsSlowNothingDown) {
    mysql_server server;
    auto mine = open(on_port(server.port(), 20s));
    conformance::try_every_verb(mine);
    server.ask(
        "INSERT INTO pawl.pawl_job_run (name_space, run_id, job_name, partition_number, "
        "occurrence, lease_key, lock_owner, node, fence_token, at_least_once, started_by, status, "
        "reason, started_at, completed_at, last_heartbeat, silence_max, attempt, taken_over, "
        "cancel_requested, output_size, checkpoint) SELECT 'pawl', CONCAT('run', seq), "
        "CONCAT('job', seq % 50), 0, seq, '', '', CONCAT('node', seq % 5), seq, 1, 'schedule', "
        "CASE WHEN seq % 10000 = 0 THEN 'started' WHEN seq % 10001 = 0 THEN 'abandoned' WHEN seq "
        "% 9 = 0 THEN 'failed' ELSE 'completed' END, '', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), "
        "UTC_TIMESTAMP(3), 60000, 1, 0, seq % 10000 = 0, 0, '' FROM pawl.seq_1_to_100000; "
        "INSERT INTO pawl.pawl_run_event SELECT run_number, 1, started_at, 'begun', '', '', 1, 1 "
        "FROM pawl.pawl_job_run WHERE run_id LIKE 'run%'");
    // What the question about the counters reads itself.
    const auto before = rows_read(server);
    const auto own = rows_read(server) - before;
    const auto reads = [&](const auto& verb, std::int64_t most, const char* name) {
        const auto start = rows_read(server);
        verb();
        EXPECT_LE(rows_read(server) - start - own, most) << name;
    };
    const auto list = [&](run_filter which) {
        return mine.get(mine->list_runs(std::move(which), "", 100)).records.size();
    };
    run_filter job, node, status, rare;
    job.job = "job7";
    node.node = "node3";
    status.status = run_status::failed;
    rare.status = run_status::started;
    reads([&] { EXPECT_EQ(list({}), 100u); }, 250, "list");
    reads([&] { EXPECT_EQ(list(job), 100u); }, 250, "list by job");
    reads([&] { EXPECT_EQ(list(node), 100u); }, 250, "list by node");
    reads([&] { EXPECT_EQ(list(status), 100u); }, 250, "list by status");
    reads([&] { EXPECT_EQ(list(rare), 11u); }, 50, "list of what goes on");
    reads([&] { EXPECT_EQ(mine.get(mine->read_control_state()).orphans.size(), 9u); }, 250,
          "control state");
    reads([&] { mine.get(mine->stale_runs(100, 0)); }, 50, "stale");
    reads([&] { EXPECT_EQ(mine.get(mine->prune("job3", 1000, 0ms, 100)), 100u); }, 6000, "prune");
    reads([&] { mine.show("run500"); }, 20, "find");
    reads([&] { mine.get(mine->find_occurrence("job7", 0, occurrence{57})); }, 20, "firing");
    reads([&] { mine.kinds_of_events("run77"); }, 20, "history");
    reads([&] { mine.begin(fresh_occurrence_run("job7", 1'000'000, 1'000'000)); }, 30, "begin");
    std::vector<run_ref> marks;
    for (std::uint64_t i = 1; i <= 10; ++i)
        marks.push_back(mark_of("run" + std::to_string(i * 10'000), i * 10'000));
    reads([&] { mine.get(mine->heartbeat(marks)); }, 100, "heartbeat");
    reads([&] { EXPECT_TRUE(mine.get(mine->finish(marks[0], ended(run_status::completed)))); }, 30,
          "finish");
}

}  // namespace
}  // namespace pawl::mysql
