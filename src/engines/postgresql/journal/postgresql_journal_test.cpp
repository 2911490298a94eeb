// The journal on a real PostgreSQL: who may, what is rejected, and what it does under trouble.
#include "engines/postgresql/client/layout_fixture.hpp"
#include "engines/postgresql/journal/make_postgresql_journal.hpp"
#include "engines/postgresql/store/postgresql_store.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/journal/load.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/postgresql_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>

#include <atomic>
#include <future>
#include <thread>

namespace pawl::postgresql {
namespace {

using namespace std::chrono_literals;
using namespace conformance;
using testing_servers::pgbouncer;
using testing_servers::postgresql_options;
using testing_servers::postgresql_server;

journal_opener opener(const postgresql_settings& settings) {
    return [settings](net::loop& where) { return make_postgresql_journal(where, settings); };
}

journal_client open(const postgresql_settings& settings) {
    return journal_client{opener(settings)};
}

std::string script() { return with_schema(journal_layout().script, "pawl"); }

void expect_rejection(const postgresql_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    const auto why = mine.rejection(mine->begin(fresh_run("job", 1)));
    conformance::expect_detail(why, code, words);
    EXPECT_THAT(why.detail, testing::StartsWith("127.0.0.1:"));
}

// ---- Who may, and what is rejected

TEST(PostgresqlJournal, AFunctionThatChangesHasANewName) {
    EXPECT_EQ(newest_and_digest(journal_layout()), "journal_layout_v8() 24678090c0e2e110");
}

// Goal: a user with nothing but the documented privileges can do everything, and a user that lacks
// one is told. Method: privileges are granted one by one.
TEST(PostgresqlJournal, TheDocumentedUserMayDoEverythingAndNoLess) {
    postgresql_server server;
    server.ask("CREATE ROLE locker LOGIN");
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "user", "locker");
    expect_rejection(settings, errc::denied, "an administrator runs postgresql-journal.sql once");
    server.ask(script());
    expect_rejection(settings, errc::denied, "permission denied for schema pawl");
    server.ask("GRANT USAGE ON SCHEMA pawl TO locker");
    expect_rejection(settings, errc::denied, "permission denied for function journal_layout");
    server.ask("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO locker");
    auto mine = open(settings);
    conformance::try_every_verb(mine);
    // And the tables stay out of its reach.
    EXPECT_EQ(server.ask("SELECT has_table_privilege('locker', 'pawl.job_run', 'UPDATE')"), "f");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pg_proc WHERE pronamespace = 'pawl'::regnamespace "
                         "AND has_function_privilege('public', oid, 'EXECUTE')"),
              "0");
}

TEST(PostgresqlJournal, TheScriptChangesNothingTheSecondTime) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    conformance::try_every_verb(mine);
    const auto before = server.ask("SELECT count(*), max(run_number) FROM pawl.job_run");
    server.ask(script());
    EXPECT_EQ(server.ask("SELECT count(*), max(run_number) FROM pawl.job_run"), before);
    EXPECT_EQ(server.ask("SELECT layout FROM pawl.journal_marker"), "1");
}

// Goal: a schema that an earlier pawl has made goes on with a later one, and for the earlier one.
// Method: what has come since is taken away, and the function of before has its old body.
TEST(PostgresqlJournal, AnEarlierSchemaIsGivenWhatItLacks) {
    postgresql_server server;
    open(on_port(server.port())).begin(fresh_run("older", 1));
    server.ask(
        "DROP FUNCTION pawl.journal_publish_v1; DROP FUNCTION pawl.journal_publish_v2; "
        "DROP FUNCTION pawl.journal_layout_v2; DROP FUNCTION pawl.journal_layout_v3; "
        "DROP FUNCTION pawl.journal_layout_v4; DROP FUNCTION pawl.journal_layout_v5; "
        "DROP FUNCTION pawl.journal_layout_v6; DROP FUNCTION pawl.journal_layout_v7; "
        "DROP FUNCTION pawl.journal_layout_v8");
    auto mine = open(on_port(server.port()));
    conformance::try_every_verb(mine);
    // As the earlier one calls it.
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.journal_publish_v1('pawl', ARRAY['j'::bytea], "
                         "ARRAY['@daily'::bytea], ARRAY['UTC'::bytea], ARRAY[1::bigint], "
                         "ARRAY['{}'::bytea], ARRAY['n'::bytea])"),
              "1");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.job_run WHERE job_name = 'older'"), "1");
}

TEST(PostgresqlJournal, ALayoutThatIsNewerIsLeftAlone) {
    postgresql_server server;
    open(on_port(server.port())).begin(fresh_run("job", 1));
    server.ask("UPDATE pawl.journal_marker SET layout = 2");
    expect_rejection(on_port(server.port()), errc::unsupported,
                     "the schema pawl has journal layout 2, and this pawl knows 1 at most");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.job_run"), "1");
}

TEST(PostgresqlJournal, AMissingDatabaseAndAStandbyAreNamed) {
    postgresql_server primary;
    auto settings = on_port(primary.port());
    set_keyword(settings.servers, "dbname", "nowhere");
    expect_rejection(settings, errc::unsupported, "database \"nowhere\" does not exist");
    open(on_port(primary.port())).begin(fresh_run("job", 1));
    postgresql_options following;
    following.primary = primary.port();
    postgresql_server standby{following};
    expect_rejection(on_port(standby.port(), 2s), errc::unreachable,
                     "point the URL at the primary");
}

// Goal: what is not of a journal is left alone. Method: a table of another program has our name.
TEST(PostgresqlJournal, ASchemaOfAnotherProgramIsLeftAlone) {
    postgresql_server server;
    server.ask("CREATE SCHEMA pawl; CREATE TABLE pawl.job_run (id integer)");
    expect_rejection(on_port(server.port()), errc::rejected, "name_space");
    EXPECT_EQ(server.ask("SELECT to_regclass('pawl.journal_marker') IS NULL"), "t");
}

// Goal: leases and runs share a schema, whichever makes it. Method: both orders, in two schemas.
TEST(PostgresqlJournal, LeasesAndRunsShareASchema) {
    postgresql_server server;
    for (const bool leases_first : {true, false}) {
        auto settings = on_port(server.port());
        settings.schema = leases_first ? "first" : "second";
        conformance::client leases{
            [&](net::loop& where) { return make_postgresql_store(where, settings); }};
        auto runs = open(settings);
        if (leases_first) leases.granted(conformance::fresh_claim("key"));
        conformance::try_every_verb(runs);
        EXPECT_GT(number(leases.granted(conformance::fresh_claim("other"))), 0u);
    }
}

TEST(PostgresqlJournal, RunsAreAViewThatPeopleCanRead) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    auto start = fresh_occurrence_run("daily-report", 1'795'184'283'285, 7);
    start.owner = "host:1:2:ab";
    mine.begin(start);
    mine.get(mine->finish(mark_of(start), ended(run_status::failed, "exit 3", 3)));
    EXPECT_EQ(server.ask("SELECT run_id, job_name, lock_owner, fence_token, status, reason, "
                         "occurrence = timestamptz '2026-11-20 14:18:03.285+00', "
                         "started_at <= completed_at, last_heartbeat = started_at "
                         "FROM pawl.job_runs"),
              start.id + "\tdaily-report\thost:1:2:ab\t7\tfailed\texit 3\tt\tt\tt");
}

TEST(PostgresqlJournal, WhatWasAuditedCannotBeChangedOrRemoved) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    mine.get(mine->append_audit(conformance::draft_of("me", "job")));
    for (const auto* change :
         {"UPDATE pawl.audit SET actor = 'you'", "DELETE FROM pawl.audit", "TRUNCATE pawl.audit"})
        EXPECT_THROW(server.ask(change), std::exception) << change;
    EXPECT_EQ(mine.whole_audit(10).size(), 1u);
}

// ---- Sessions that are not as usual

TEST(PostgresqlJournal, DefaultsOfTheSessionDoNotMatter) {
    postgresql_server server;
    open(on_port(server.port())).begin(fresh_run("other", 1));
    for (const auto* setting :
         {"default_transaction_isolation = 'serializable'",
          "default_transaction_isolation = 'repeatable read'", "default_transaction_read_only = on",
          "timezone = 'Asia/Kathmandu'", "datestyle = 'German'", "bytea_output = 'escape'"}) {
        server.ask(std::string{"ALTER ROLE postgres SET "} + setting);
        auto settings = on_port(server.port());
        settings.common.name_space = "space" + std::to_string(std::string{setting}.size());
        auto mine = open(settings);
        conformance::try_every_verb(mine);
        server.ask("BEGIN READ WRITE; ALTER ROLE postgres RESET ALL; COMMIT");
    }
}

// Goal: a pooler in transaction mode changes nothing. Method: eight clients on three sessions.
TEST(PostgresqlJournal, APoolerInTransactionModeIsNoObstacle) {
    postgresql_server server;
    pgbouncer pooler{server.port()};
    auto settings = on_port(pooler.port(), 10s);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([i, settings]() mutable {
            settings.common.name_space = "client" + std::to_string(i);
            auto mine = open(settings);
            conformance::try_every_verb(mine);
        });
    threads.clear();
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.audit"), "8");
}

// ---- Trouble

// Goal: a server that is restarted, ended in a hurry and killed loses no run and doubles none.
// Method: 32 runners, two for each occurrence; who asks again after an unknown outcome gets its
// answer.
TEST(PostgresqlJournal, AServerThatDiesUnderRunsLosesNothingAndDoublesNothing) {
    postgresql_server server;
    const auto settings = on_port(server.port());
    open(settings).begin(fresh_run("warm", 1));
    server.ask("DELETE FROM pawl.run_event; DELETE FROM pawl.job_run");
    const auto finished = [&](int count) {
        const auto give_up = lease_clock::now() + 30s;
        const auto* text = "SELECT count(*) FROM pawl.job_run WHERE status = 'completed'";
        while (std::stoi(server.ask(text)) < count && lease_clock::now() < give_up)
            poll(nullptr, 0, 5);
    };
    conformance::load_plan plan;
    conformance::run_under_trouble(opener(settings), plan, [&] {
        finished(50);
        server.restart();
        finished(150);
        server.crash();
        server.start();
        finished(300);
        server.immediate();
        server.start();
    });
}

// Goal: a run whose row another session keeps locked holds up no other's heartbeat, and is neither
// told stale nor kept from hearing of its cancel. Method: of three runs two are locked.
TEST(PostgresqlJournal, ALockedRunHoldsUpNoOthersHeartbeat) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 5s));
    const auto locked = fresh_run("locked", 0), leaving = fresh_run("leaving", 5),
               other = fresh_run("other", 7);
    const run_ref stale{locked.id, fence_token{9}};
    for (const auto& each : {locked, leaving, other}) mine.begin(each);
    EXPECT_TRUE(mine.get(mine->request_cancel(leaving.id, "me")));
    const auto of_locked = mine.show(locked.id).last_heartbeat;
    const auto of_other = mine.show(other.id).last_heartbeat;
    mine.until_later_than(of_other);
    const auto others =
        server.hold("BEGIN; SELECT FROM pawl.job_run WHERE job_name <> 'other' FOR UPDATE");
    const auto told = mine.get(
        mine->heartbeat(std::vector{mark_of(locked), mark_of(leaving), mark_of(other), stale}));
    EXPECT_THAT(told,
                testing::ElementsAre(heartbeat_result::alive, heartbeat_result::cancel_requested,
                                     heartbeat_result::alive, heartbeat_result::stale));
    EXPECT_GT(mine.show(other.id).last_heartbeat, of_other);
    EXPECT_EQ(mine.show(locked.id).last_heartbeat, of_locked);
}

// Goal: nor does a verb that waits for such a row, which others are sent behind. Method: one
// connection, and a checkpoint that waits on it.
TEST(PostgresqlJournal, ACheckpointThatWaitsHoldsUpNoHeartbeat) {
    postgresql_server server;
    auto settings = on_port(server.port(), 20s);
    settings.connections = 1;
    // The bound of the user's own holds, and the checkpoint waits for as long as the lock stands.
    server.ask("ALTER ROLE postgres SET lock_timeout = '1min'");
    auto mine = open(settings);
    const auto locked = fresh_run("locked", 0), other = fresh_run("other", 7);
    for (const auto& each : {locked, other}) mine.begin(each);
    auto others =
        server.hold("BEGIN; SELECT FROM pawl.job_run WHERE job_name = 'locked' FOR UPDATE");
    std::thread saving{[&] { mine.get(mine->checkpoint(mark_of(locked), "half")); }};
    until([&] {
        return server.ask(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                   "AND application_name = 'pawl'") == "1";
    });
    EXPECT_THAT(mine.get(mine->heartbeat(std::vector{mark_of(other)})),
                testing::ElementsAre(heartbeat_result::alive));
    EXPECT_EQ(server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                         "AND application_name = 'pawl'"),
              "1");
    others.reset();
    saving.join();
}

// Goal: what waited for a lock in vain leaves no session behind, as each of them is one of the
// server's. Method: tables that are locked, and a client that gives up.
TEST(PostgresqlJournal, AVerbOnALockedTableLeavesNoSessionBehind) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 10s));
    EXPECT_TRUE(mine.get(mine->pause_job("job", "why", "who")));
    const auto others = server.hold("BEGIN; LOCK TABLE pawl.job_pause, pawl.run_trigger");
    auto hasty = open(on_port(server.port(), 300ms));
    EXPECT_TRUE(hasty.ask(hasty->pause_job("job", "why", "who")).has_error());
    EXPECT_TRUE(hasty.ask(hasty->remove_trigger("id")).has_error());
    until([&] {
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") ==
               "0";
    });
    // A caller that waits for long enough hears why.
    const auto why = mine.rejection(mine->pause_job("job", "why", "who"));
    EXPECT_EQ(why.code, errc::unreachable) << why.detail;
    EXPECT_TRUE(why.answered);
}

// Goal: an end that no standby may have is not done because it is told again. Method: the only
// synchronous standby does not exist; an administrator cancels the first wait for it.
TEST(PostgresqlJournal, AnEndThatIsToldAgainWaitsForTheStandbyAgain) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 40s));
    const auto run = fresh_run("job", 1);
    mine.begin(run);
    server.ask("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'");
    server.restart();
    until([&] { return mine.ask(mine->find_run(run.id)).has_value(); });
    const std::string waits =
        " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'pawl'";
    const auto end_it = [&] {
        return std::async(std::launch::async, [&] {
            return mine.ask(mine->finish(mark_of(run), ended(run_status::completed)));
        });
    };
    auto first = end_it();
    until([&] { return server.ask("SELECT count(*)" + waits) == "1"; });
    server.ask("SELECT pg_cancel_backend(pid)" + waits);
    const auto told = first.get();
    ASSERT_TRUE(told.has_error());
    EXPECT_EQ(told.error().code, errc::outcome_unknown) << told.error().detail;
    auto again = end_it();
    until([&] { return server.ask("SELECT count(*)" + waits) == "1"; });
    server.ask("ALTER SYSTEM RESET synchronous_standby_names");
    server.ask("SELECT pg_reload_conf()");
    EXPECT_TRUE(yes(again.get()));
}

TEST(PostgresqlJournal, TenThousandRunsLeakNothing) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 20s));
    const auto kept = conformance::run_ten_thousand(mine);
    EXPECT_LE(std::stoi(server.ask("SELECT count(*) FROM pg_stat_activity "
                                   "WHERE application_name = 'pawl'")),
              4);
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.job_run"), std::to_string(kept));
    // Nothing of the runs that went stays.
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.run_event AS e WHERE NOT EXISTS (SELECT FROM "
                         "pawl.job_run AS r WHERE r.run_number = e.run_number)"),
              "0");
}

// ---- Many rows

// How many rows the server reads, with and without an index, to answer this call.
std::int64_t rows_read(const postgresql_server& server, const std::string& call) {
    return std::stoll(server.ask("SELECT count(*) FROM pawl.journal_" + call +
                                 "; SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) FROM "
                                 "pg_stat_xact_user_tables WHERE schemaname = 'pawl'"));
}

struct bounded_call {
    const char* call;
    std::int64_t rows_max;
};

// Goal: no verb reads more than it answers, however many rows there are, and whether or not their
// statistics have been gathered. Method: 100,000 runs, of which few go on; the server counts what
// each call reads.
TEST(PostgresqlJournal, AHundredThousandRunsSlowNothingDown) {
    postgresql_options options;
    options.more = {"autovacuum=off"};
    postgresql_server server{options};
    auto mine = open(on_port(server.port()));
    conformance::try_every_verb(mine);
    server.ask(
        "INSERT INTO pawl.job_run (name_space, run_id, job_name, partition_number, occurrence, "
        "lease_key, lock_owner, node, fence_token, at_least_once, started_by, status, reason, "
        "started_at, completed_at, last_heartbeat, silence_max, attempt, taken_over, "
        "cancel_requested, output_size, checkpoint) SELECT 'pawl', ('run' || i)::bytea, ('job' || "
        "i % 50)::bytea, 0, i, '', '', ('node' || i % 5)::bytea, i, true, 'schedule', CASE WHEN i "
        "% 10000 = 0 THEN 'started' WHEN i % 10001 = 0 THEN 'abandoned' WHEN i % 9 = 0 THEN "
        "'failed' ELSE 'completed' END, '', now(), now(), now(), 60000, 1, false, i % 10000 = 0, "
        "0, '' FROM generate_series(1, 100000) AS i; INSERT INTO pawl.run_event SELECT "
        "run_number, 1, now(), 'begun', '', '', 1, 1 FROM pawl.job_run WHERE occurrence > 2");
    const std::vector<bounded_call> calls{
        {"list_v1('pawl', NULL, NULL, '', 9223372036854775807, 101)", 102},
        {"list_v1('pawl', 'job7', NULL, '', 9223372036854775807, 101)", 102},
        {"list_v1('pawl', NULL, 'node3', '', 9223372036854775807, 101)", 102},
        {"list_v1('pawl', NULL, NULL, 'failed', 9223372036854775807, 101)", 102},
        {"list_v1('pawl', 'job7', 'node2', 'failed', 9223372036854775807, 11)", 110},
        {"list_v1('pawl', NULL, 'node3', 'started', 9223372036854775807, 101)", 20},
        {"board_v1('pawl', 1000)", 60},
        {"stale_v1('pawl', 1000)", 40},
        {"prune_v1('pawl', 'job3', 1000, 0, 100)", 3500},
        {"find_v1('pawl', 'run500')", 5},
        {"firing_v1('pawl', 'job7', 0, 57)", 5},
        {"history_v1('pawl', 'run77')", 10},
        {"begin_v1('pawl', 'x', 'job7', 0, '', '', '', 1, 1000000, true, '', false, true, 1)", 10},
        {"heartbeat_v1('pawl', ARRAY['run10000', 'run20000']::bytea[], "
         "ARRAY[10000, 20000]::bigint[])",
         40},  // with what the call before it left of each row, as long as nothing has cleared it
        {"finish_v1('pawl', 'run30000', 30000, 'completed', '', NULL)", 20},
        {"checkpoint_v1('pawl', 'run40000', 40000, 'half')", 20},
        {"cancel_v1('pawl', 'run60000', 'me')", 20},
    };
    // Of one job at most.
    constexpr std::int64_t rows_max_unknown = 3'500;
    for (const auto& [call, unused] : calls)
        EXPECT_LE(rows_read(server, call), rows_max_unknown) << call;
    server.ask("ANALYZE");
    for (const auto& [call, rows_max] : calls) EXPECT_LE(rows_read(server, call), rows_max) << call;
    EXPECT_EQ(mine.get(mine->read_control_state()).orphans.size(), 9u);
}

}  // namespace
}  // namespace pawl::postgresql
