// What a PostgreSQL store does besides the laws: its schema, its connections, poolers, waiting.
#include "engines/postgresql/client/layout_fixture.hpp"
#include "engines/postgresql/store/postgresql_fixture.hpp"
#include "engines/postgresql/store/store_layout.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pawl::postgresql {
namespace {

using testing_faults::tcp_proxy;
using testing_servers::pgbouncer;

// One pair after the other; how many of them were granted and released.
int pairs(client& through, const std::string& key, int count) {
    int done = 0;
    for (int i = 0; i < count; ++i) {
        const auto token = through.granted(fresh_claim(key));
        if (number(token) != 0 && yes(through.release(key, token))) ++done;
    }
    return done;
}

// The same by many callers at once, each on a key of its own.
int pairs_at_once(client& through, int callers, int count) {
    std::atomic<int> done{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&, i] { done += pairs(through, "key/" + std::to_string(i), count); });
    threads.clear();
    return done;
}

// ---- The schema

// Goal: processes that start together make one schema. Method: 64 clients with loops of their own
// on an empty database.
TEST(PostgresqlStore, ManyThatStartAtOnceMakeOneSchema) {
    postgresql_server server;
    std::atomic<int> granted{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 64; ++i)
        threads.emplace_back([&, i] {
            auto mine = open(on_port(server.port(), 10s));
            const auto got = mine.acquire(fresh_claim("key/" + std::to_string(i)));
            if (got.has_error())
                ADD_FAILURE() << got.error().detail;
            else
                ++granted;
        });
    threads.clear();
    EXPECT_EQ(granted, 64);
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.lease"), "64");
}

TEST(PostgresqlStore, SchemasAreWorldsOfTheirOwn) {
    postgresql_server server;
    auto settings = on_port(server.port());
    settings.schema = "other_locks";
    auto mine = open(settings);
    auto other = open(on_port(server.port()));
    mine.granted(fresh_claim("key"));
    other.granted(fresh_claim("key"));
    EXPECT_EQ(server.ask("SELECT count(*) FROM other_locks.lease"), "1");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.lease"), "1");
}

// The script may be run again, as by an administrator who is not sure.
TEST(PostgresqlStore, TheScriptChangesNothingTheSecondTime) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    const auto marker = server.ask("SELECT * FROM pawl.marker");
    server.ask(layout_script("pawl"));
    EXPECT_EQ(server.ask("SELECT * FROM pawl.marker"), marker);
    EXPECT_EQ(mine.show("key").holder, token);
}

// What came after the first release of the script.
constexpr const char* drop_newer_functions =
    "DROP FUNCTION pawl.withdraw_v4, pawl.withdraw_v3, pawl.withdraw_v2, pawl.renew_v2, "
    "pawl.fence_v2, "
    "pawl.bounded_fence_v1, pawl.bound_locks";

TEST(PostgresqlStore, AFunctionThatChangesHasANewName) {
    EXPECT_EQ(newest_and_digest(store_layout()),
              "withdraw_v4(text, bytea, bytea, bigint) a499965694d85d38");
}

// Goal: a newer pawl finds the functions of an older one, whose agents go on beside it. Method: a
// schema without the newer functions, which its owner may add.
TEST(PostgresqlStore, FunctionsThatAreMissingAreAddedAndNothingElseChanges) {
    postgresql_server server;
    auto before = open(on_port(server.port()));
    const auto token = before.granted(fresh_claim("key", 60s));
    server.ask(drop_newer_functions);
    auto mine = open(on_port(server.port()));
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token, 90s)), renewal::renewed);
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(
        server.ask("SELECT pawl.renew_v1('pawl', ARRAY['key'::bytea], ARRAY[" +
                   std::to_string(number(token)) + "], ARRAY[95000], ARRAY[0], ARRAY[false])"),
        "{1}");
}

// Goal: where an administrator made the schema, the script is all that a newer pawl needs. Method:
// a user who may only call is told so, and works once the script has run.
TEST(PostgresqlStore, AfterTheScriptAUserMayCallTheNewerFunctions) {
    postgresql_server server;
    server.ask(layout_script("pawl"));
    server.ask(drop_newer_functions);
    server.ask(
        "CREATE ROLE \"a locker\" LOGIN; GRANT USAGE ON SCHEMA pawl TO \"a locker\"; "
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO \"a locker\"");
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "user", "a locker");
    expect_failure(open(settings).acquire(fresh_claim("key")), errc::denied,
                   "an administrator runs postgresql.sql");
    server.ask(layout_script("pawl"));
    auto mine = open(settings);
    const auto wanted = fresh_claim("key");
    const auto token = mine.granted(wanted);
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token)), renewal::renewed);
    EXPECT_TRUE(conformance::yes(mine.withdraw({"key", wanted.id})));
    EXPECT_EQ(server.ask("SELECT count(*) FROM pg_proc WHERE pronamespace = 'pawl'::regnamespace "
                         "AND proname ~ '_v[0-9]+$' "
                         "AND NOT has_function_privilege('a locker', oid, 'EXECUTE')"),
              "0");
    EXPECT_EQ(server.ask("SELECT has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc "
                         "WHERE proname = 'renew_v2'"),
              "f");
}

// Goal: the script gives back nothing that an administrator has taken away. Method: one who may not
// force-release, and one who may only look, before a script that adds functions.
TEST(PostgresqlStore, TheScriptGivesNewerVersionsOfWhatAUserMayCallAndNothingElse) {
    postgresql_server server;
    server.ask(layout_script("pawl"));
    server.ask(drop_newer_functions);
    server.ask(
        "CREATE ROLE locker; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO locker; "
        "REVOKE EXECUTE ON FUNCTION pawl.evict_v1 FROM locker; "
        "CREATE ROLE reader; GRANT EXECUTE ON FUNCTION pawl.layout, pawl.list_v1, pawl.inspect_v1 "
        "TO reader");
    server.ask(layout_script("pawl"));
    const auto may_call = [&](const std::string& role) {
        return server.ask(
            "SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc "
            "WHERE pronamespace = 'pawl'::regnamespace AND proname ~ '_v[0-9]+$' "
            "AND proname !~ '^journal_' AND has_function_privilege('" +
            role + "', oid, 'EXECUTE')");
    };
    EXPECT_EQ(may_call("locker"),
              "acquire_v1 bounded_fence_v1 fence_v1 fence_v2 inspect_v1 list_v1 purge_v1 "
              "release_v1 renew_v1 renew_v2 watch_v1 withdraw_v1 withdraw_v2 withdraw_v3 "
              "withdraw_v4");
    EXPECT_EQ(may_call("reader"), "inspect_v1 list_v1");
}

// Goal: a fence in a transaction of the user's own leaves its waits for locks as they are, also one
// under a bound of theirs, and what pawl asks is bounded. Method: what is in force behind each.
TEST(PostgresqlStore, AFenceBoundsNoWaitOfTheUsersOwnTransaction) {
    postgresql_server server;
    server.ask(layout_script("pawl"));
    const auto after = [&](const std::string& bound, const std::string& call) {
        return server.ask("BEGIN; SET LOCAL lock_timeout = '" + bound +
                          "'; DO $$ BEGIN PERFORM pawl." + call + "; END $$; SHOW lock_timeout");
    };
    EXPECT_EQ(after("0", "fence_v2('pawl', 'invoices', 7, false, false, NULL)"), "0");
    EXPECT_EQ(after("0", "fence_v1('pawl', 'invoices', 7, false)"), "0");
    EXPECT_EQ(after("7s", "fence_v2('pawl', 'invoices', 7, false, false, NULL)"), "7s");
    const std::string asked = "bounded_fence_v1('pawl', 'invoices', 7, false, false, NULL)";
    const std::string purge = "purge_v1('pawl', '', 0, 100)";
    const std::string renew =
        "renew_v1('pawl', ARRAY['a'::bytea], ARRAY[1], ARRAY[1], ARRAY[0], ARRAY[false])";
    for (const auto& each : {asked, purge, renew}) EXPECT_EQ(after("0", each), "1500ms") << each;
    EXPECT_EQ(after("7s", asked), "7s");
}

TEST(PostgresqlStore, ASchemaThatWasDroppedIsMadeAgain) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    mine.granted(fresh_claim("key"));
    server.ask("DROP SCHEMA pawl CASCADE");
    EXPECT_FALSE(mine.inspect("key")->has_value());
    EXPECT_EQ(pairs(mine, "key", 3), 3);
}

// Goal: a token does not fall where the clock has, though its record was purged. Method: a floor
// far ahead of the clock, for a key that is new and for one that is known for a withdrawal only.
TEST(PostgresqlStore, TokensRiseAboveTheFloorOfWhatWasPurged) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    EXPECT_FALSE(yes(mine.withdraw({"withdrawn", fresh_claim("withdrawn").id})));
    EXPECT_FALSE(mine.inspect("withdrawn")->has_value());
    constexpr std::uint64_t ahead = 8'000'000'000'000'000;
    server.ask("INSERT INTO pawl.floor VALUES ('pawl', " + std::to_string(ahead) + ")");
    EXPECT_EQ(number(mine.granted(fresh_claim("new"))), ahead + 1);
    EXPECT_EQ(number(mine.granted(fresh_claim("withdrawn"))), ahead + 1);
}

// The classic table of exclusive jobs, for those who read it.
TEST(PostgresqlStore, WhoHoldsWhatIsAViewThatPeopleCanRead) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    const auto wanted = fresh_claim("job/täglich", 60s, "me on host");
    const auto token = mine.granted(wanted);
    mine.granted(fresh_claim("\xff\xfe", 60s));
    yes(mine.release("free", mine.granted(fresh_claim("free"))));
    EXPECT_EQ(
        server.ask("SELECT name_space, job_id, replace(job_instance_id::text, '-', ''), owner, "
                   "fence_token, lock_expires_at - acquired_at FROM pawl.exclusive_job "
                   "WHERE job_id LIKE 'job/%'"),
        "pawl\tjob/täglich\t" + wanted.id + "\tme on host\t" + std::to_string(number(token)) +
            "\t00:01:00");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.exclusive_job"), "2");
}

// ---- Transactions

// Goal: what a database or a user has as its defaults does not matter. Method: the worst of them,
// with contention.
TEST(PostgresqlStore, DefaultsOfTheSessionDoNotMatter) {
    postgresql_server server;
    server.ask("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    server.ask("ALTER DATABASE postgres SET default_transaction_read_only = on");
    auto mine = open(on_port(server.port(), 5s));
    EXPECT_EQ(pairs_at_once(mine, 8, 10), 80);
    server.ask(
        "BEGIN READ WRITE; "
        "ALTER ROLE postgres SET default_transaction_isolation = 'repeatable read'; COMMIT");
    auto other = open(on_port(server.port(), 5s));
    std::atomic<std::uint64_t> newest{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            auto& through = i % 2 == 0 ? mine : other;
            for (int j = 0; j < 10; ++j) {
                const auto token = through.granted_in_the_end(fresh_claim("same", 60s));
                EXPECT_GT(number(token), newest.exchange(number(token)));
                EXPECT_TRUE(yes(through.release("same", token)));
            }
        });
}

// A row is locked in the order of keys, so that two beats do not wait for each other in a circle.
TEST(PostgresqlStore, BatchesInOppositeOrderDoNotDeadlock) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 10s));
    std::vector<held_lease> up;
    for (int i = 0; i < 300; ++i) {
        const auto key = "key/" + std::to_string(i);
        up.push_back(conformance::lease_of(key, mine.granted(fresh_claim(key, 60s)), 60s));
    }
    const std::vector<held_lease> down{up.rbegin(), up.rend()};
    auto other = open(on_port(server.port(), 10s));
    std::atomic<int> renewed{0};
    const auto beat = [&](client& through, const std::vector<held_lease>& leases) {
        for (int round = 0; round < 10; ++round) {
            const auto answers = through.renew(leases);
            if (answers.has_error()) {
                ADD_FAILURE() << answers.error().detail;
                continue;
            }
            for (const auto one : *answers) renewed += one == renewal::renewed ? 1 : 0;
        }
    };
    std::jthread first{[&] { beat(mine, up); }};
    std::jthread second{[&] { beat(other, down); }};
    first.join();
    second.join();
    EXPECT_EQ(renewed, 2 * 10 * 300);
}

// ---- Connections

// Goal: connections are bounded, shared, and gone with the store; rows do not pile up. Method: ten
// thousand rounds by many callers, and the server's own counts.
TEST(PostgresqlStore, TenThousandRoundsLeakNothing) {
    postgresql_server server;
    {
        auto mine = open(on_port(server.port(), 10s));
        EXPECT_EQ(pairs_at_once(mine, 40, 250), 10'000);
        EXPECT_LE(sessions(server), 4);
        EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.lease"), "40");
    }
    until([&] { return sessions(server) == 0; });
}

TEST(PostgresqlStore, ALoneCallerUsesOneConnection) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    EXPECT_EQ(pairs(mine, "key", 50), 50);
    EXPECT_EQ(proxy.connections(), 1);
}

// ---- Poolers

// Goal: a pooler that hands every transaction to another session changes nothing. Method: eight
// clients on three sessions, with every verb, and a count of the rounds that failed.
TEST(PostgresqlStore, APoolerInTransactionModeIsNoObstacle) {
    postgresql_server server;
    pgbouncer pooler{server.port()};
    std::atomic<int> done{0};
    std::atomic<std::uint64_t> newest{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            auto mine = open(on_port(pooler.port(), 10s));
            const auto own = "own/" + std::to_string(i);
            for (int j = 0; j < 20; ++j) {
                done += pairs(mine, own, 1);
                const auto token = mine.granted_in_the_end(fresh_claim("same", 60s));
                EXPECT_GT(number(token), newest.exchange(number(token)));
                EXPECT_EQ(mine.renew(conformance::lease_of("same", token)), renewal::renewed);
                EXPECT_FALSE(mine.all("own/", 3).empty());
                EXPECT_TRUE(mine.fence("file", token, fence_rule::reject_older).value().accepted);
                EXPECT_TRUE(yes(mine.release("same", token)));
            }
        });
    threads.clear();
    EXPECT_EQ(done, 160);
    EXPECT_EQ(server.ask("SELECT count(*) FROM pawl.lease WHERE holder <> 0"), "0");
}

// Goal: notifications that a pooler swallows are missed, once, and then polled for. Method: wait
// through a pooler; then with the server's own address in notify=.
TEST(PostgresqlStore, NotificationsThatAPoolerSwallowsAreNotWaitedFor) {
    postgresql_server server;
    pgbouncer pooler{server.port()};
    auto settings = on_port(pooler.port());
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_TRUE(mine.traits().notifies);
    EXPECT_EQ(mine.wait_change("key", token, 10s), wait_end::failed);
    EXPECT_FALSE(mine.traits().notifies);
    EXPECT_EQ(mine.wait_change("key", token, 50ms), wait_end::timed_out);

    settings.notified_by = on_port(server.port()).servers;
    auto waiter = open(settings);
    auto woke = waiter.start_waiting("key", token, 10s);
    until([&] { return server.ask("SELECT waited FROM pawl.lease") == "t"; });
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_TRUE(waiter.traits().notifies);

    settings.notified_by.reset();
    settings.listens = false;
    auto polling = open(settings);
    EXPECT_FALSE(polling.traits().notifies);
    EXPECT_EQ(polling.wait_change("key", token, 10s), wait_end::changed);
}

TEST(PostgresqlStore, PreparedStatementsMayBeLeftOut) {
    postgresql_server server;
    auto settings = on_port(server.port());
    settings.prepare = preparation::off;
    auto mine = open(settings);
    EXPECT_EQ(pairs(mine, "key", 5), 5);
}

// Another program may end our prepared statements, as DISCARD ALL of a pooler does.
TEST(PostgresqlStore, AConnectionThatLostItsStatementsContinues) {
    postgresql_server server;
    pgbouncer pooler{
        server.port(),
        {"server_reset_query_always=1", "server_reset_query=DISCARD ALL", "default_pool_size=1"}};
    auto mine = open(on_port(pooler.port()));
    EXPECT_EQ(pairs(mine, "key", 5), 5);
    EXPECT_EQ(pairs_at_once(mine, 8, 5), 40);
}

// ---- Waiting

// No client is told of keys that none waits for, and a mark is good for one announcement.
TEST(PostgresqlStore, OnlyAKeyThatIsWaitedForIsAnnounced) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    EXPECT_EQ(server.ask("SELECT waited FROM pawl.lease"), "f");
    auto woke = mine.start_waiting("key", token, 10s);
    until([&] { return server.ask("SELECT waited FROM pawl.lease") == "t"; });
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_EQ(server.ask("SELECT waited FROM pawl.lease"), "f");
    EXPECT_EQ(sessions(server), 2);
}

TEST(PostgresqlStore, ALostConnectionWakesTheWaiters) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 5s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    const auto waiting = [&] {
        auto woke = mine.start_waiting("key", token, 10s);
        until([&] {
            return server.ask("SELECT waited FROM pawl.lease") == "t" && sessions(server) == 2;
        });
        return woke;
    };
    auto woke = waiting();
    server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    EXPECT_EQ(woke.get(), wait_end::changed);
    // And waiting works again, over another connection.
    woke = mine.start_waiting("key", token, 10s);
    until([&] {
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") ==
               "1";
    });
    EXPECT_TRUE(yes(open(on_port(server.port())).release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TEST(PostgresqlStore, WaitingForAServerThatIsGoneFails) {
    auto mine = open(on_port(testing_servers::free_port(), 100ms));
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 5s), wait_end::failed);
}

// ---- Quarantine

TEST(PostgresqlStore, FencingIsStrictOnlyUnderQuarantine) {
    auto settings = on_port(1);
    EXPECT_FALSE(open(settings).traits().strict_fencing);
    settings.common.quarantine = 1s;
    EXPECT_TRUE(open(settings).traits().strict_fencing);
}

// Goal: commits that never reach the disk may be lost by a restart. Method: restart a server that
// syncs, one that syncs although commits need not wait for it, and one that never does.
TEST(PostgresqlStore, ARestartWithUnsyncedCommitsIsQuarantined) {
    struct kind {
        const char* setting;
        bool is_loss;
    };
    for (const auto& [setting, is_loss] :
         {kind{"fsync=on", false}, {"synchronous_commit=off", false}, {"fsync=off", true}}) {
        postgresql_options options;
        options.more = {setting};
        postgresql_server server{options};
        auto careful = on_port(server.port(), 5s);
        careful.common.quarantine = 1s;
        EXPECT_GT(number(open(careful).granted_in_the_end(fresh_claim("key", 500ms))), 0u);
        server.restart();
        auto mine = open(careful);
        if (is_loss) {
            EXPECT_EQ(mine.rejected(fresh_claim("other", 500ms)).reason, busy_reason::quarantined);
        }
        const auto got = mine.granted_in_the_end(fresh_claim("other", 500ms));
        EXPECT_GT(number(got), 0u) << setting;
    }
}

// ---- The end of a loop

TEST(PostgresqlStore, ALoopMayEndUnderWhatStillRuns) {
    postgresql_server server;
    for (const bool warm : {false, true}) {
        auto where = std::make_unique<net::loop>();
        auto store = make_postgresql_store(*where, on_port(server.port()));
        if (warm) {
            auto looking = store->inspect("key");
            EXPECT_TRUE(where->wait_for(std::move(looking)).has_value());
        }
        server.freeze();
        conformance::end_under_requests(std::move(where), std::move(store));
        server.thaw();
    }
}

}  // namespace
}  // namespace pawl::postgresql
