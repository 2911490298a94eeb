// What only MySQL and MariaDB have: rows, locks, connections, and a server that fails under load.
// What every store must do is in test_support/conformance.
#include "engines/mysql/store/mysql_fixture.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"
#include "time/clocks.hpp"

#include <atomic>
#include <future>
#include <regex>
#include <thread>

namespace pawl::mysql {
namespace {

using conformance::wait_end;
using testing_faults::direction;
using testing_faults::tcp_proxy;

std::int64_t connections_of(const mysql_server& server) {
    return server.count(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'locker'");
}

std::int64_t deadlocks_of(const mysql_server& server) {
    const auto text = server.ask("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'");
    return std::stoll(text.substr(text.find('\t') + 1));
}

// Each test with a server that it may harm has one of its own; the others share this one.
class MysqlStore : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<mysql_server>(); }
    static void TearDownTestSuite() { server_.reset(); }
    MysqlStore() {
        static int tests = 0;
        space_ = "test" + std::to_string(++tests);
    }

    static const mysql_server& server() { return *server_; }
    // In a namespace of this test.
    mysql_settings at(std::uint16_t port, millis timeout = 5s) const {
        auto settings = on_port(port, timeout);
        settings.common.name_space = space_;
        return settings;
    }
    mysql_settings here(millis timeout = 5s) const { return at(server().port(), timeout); }
    std::string of_key(const std::string& columns, const std::string& key) const {
        return server().ask("SELECT " + columns + " FROM pawl.pawl_lease WHERE name_space = '" +
                            space_ + "' AND lock_key = '" + key + "'");
    }
    // All rows of the namespace, by another session: they are when it returns.
    std::future<std::string> keep_rows_locked(const std::string& seconds) const {
        auto done =
            std::async(std::launch::async, [text = "START TRANSACTION; SELECT 1 FROM "
                                                   "pawl.pawl_lease WHERE name_space = '" +
                                                   space_ + "' FOR UPDATE; DO GET_LOCK('" + space_ +
                                                   "', 0); DO SLEEP(" + seconds +
                                                   "); COMMIT"] { return server().ask(text); });
        until([&] {
            return server().ask("SELECT IS_USED_LOCK('" + space_ + "') IS NOT NULL") == "1";
        });
        return done;
    }

    std::string space_;

private:
    static inline std::unique_ptr<mysql_server> server_;
};

// ---- Rows

// The layout is documented: people read it with the mysql client when all else fails.
TEST_F(MysqlStore, ARecordIsARowThatPeopleCanRead) {
    auto mine = open(here());
    const auto token = mine.granted(claim{"a/key", "my-id", "me on host", 30s});
    const auto digits = std::to_string(number(token));
    const auto row = of_key("*", "a/key");
    EXPECT_TRUE(std::regex_match(
        row, std::regex{space_ + "\ta/key\t" + digits +
                        "\tmy-id\tme on host\t[0-9]{16}\t[0-9]{16}\t" + digits + "\tNULL\t"}))
        << row;
}

// Nothing that a server's administrator may choose has a say: not the dialect, not the time zone,
// not what init_connect did to the session.
TEST_F(MysqlStore, TheServersOwnSettingsDoNotMatter) {
    mysql_server_options options;
    options.more = {
        "sql_mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,SIMULTANEOUS_ASSIGNMENT",
        "autocommit=0", "transaction-isolation=SERIALIZABLE", "default-time-zone='+05:30'",
        "completion_type=CHAIN", "lower_case_table_names=1", "character-set-server=utf16",
        "default-storage-engine=MyISAM",
        // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one option
        "init_connect='SET timestamp=1000000, sql_select_limit=1, sql_safe_updates=1, "
        "time_zone=\"-08:00\"'"};
    mysql_server odd{options};
    auto mine = open(at(odd.port()));
    const auto before = time::wall_now().time_since_epoch().count();
    std::vector<held_lease> batch;
    for (int i = 0; i < 5; ++i) {
        const auto key = "it's \"a\" \\key\\ " + std::to_string(i);
        batch.push_back(
            conformance::lease_of(key, mine.granted(fresh_claim(key, 30s, "o'w\"n\\er")), 60s));
    }
    EXPECT_NEAR(static_cast<double>(number(batch[0].token)), static_cast<double>(before), 10e6);
    EXPECT_EQ(*mine.renew(batch), std::vector<renewal>(5, renewal::renewed));
    EXPECT_EQ(mine.all("", 2).size(), 5u);
    EXPECT_TRUE(*mine.force_release(batch[0].key, batch[0].token, 0ms));
    EXPECT_TRUE(*mine.release(batch[1].key, batch[1].token));
    // Committed, whatever autocommit says.
    EXPECT_EQ(odd.ask("SELECT COUNT(*) FROM pawl.pawl_lease WHERE holder = 0"), "2");
}

TEST_F(MysqlStore, ABatchFitsIntoTheServersPacket) {
    mysql_server_options options;
    options.more = {"max_allowed_packet=32768"};
    mysql_server narrow{options};
    auto mine = open(at(narrow.port()));
    std::vector<held_lease> batch;
    for (int i = 0; i < 60; ++i) {
        const auto key = std::string(480, 'k') + std::to_string(i);
        batch.push_back(conformance::lease_of(key, mine.granted(fresh_claim(key)), 60s));
    }
    const auto got = mine.renew(batch);
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(*got, std::vector<renewal>(60, renewal::renewed));
}

// ---- Claims on their way

// A key that has a record is granted by one statement.
void leave_a_record_of(const std::string& key, client mine) {
    EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
}

std::int64_t updates_of(const mysql_server& server) {
    const auto text = server.ask("SHOW GLOBAL STATUS LIKE 'Com_update'");
    return std::stoll(text.substr(text.find('\t') + 1));
}

// Goal: a withdrawn claim that arrives late grants nothing. Method: it is held back on its way
// until its claimer has withdrawn it over another connection.
TEST_F(MysqlStore, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    tcp_proxy proxy{server().port()};
    auto mine = open(at(proxy.port(), 300ms));
    auto direct = open(here());
    leave_a_record_of("key", open(here()));
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_FALSE(*direct.withdraw({"key", wanted.id}));
    const auto before = updates_of(server());
    proxy.resume(direction::to_server);
    until([&] { return updates_of(server()) > before; });
    EXPECT_EQ(number(direct.show("key").holder), 0u);
    EXPECT_EQ(direct.rejected(wanted).reason, busy_reason::cooldown);
    EXPECT_GT(number(direct.granted(fresh_claim("key"))), 0u);
}

// Goal: a claim that was sent twice leaves nothing behind, though its first copy arrives last.
// Method: that copy is held back until the second was granted, released and withdrawn.
TEST_F(MysqlStore, AFirstCopyOfAClaimThatArrivesAfterTheReleaseIsRejected) {
    tcp_proxy proxy{server().port()};
    auto mine = open(at(proxy.port(), 300ms));
    auto direct = open(here());
    leave_a_record_of("key", open(here()));
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_TRUE(*direct.release("key", direct.granted(wanted)));
    EXPECT_FALSE(*direct.withdraw({"key", wanted.id}));
    const auto before = updates_of(server());
    proxy.resume(direction::to_server);
    until([&] { return updates_of(server()) > before; });
    EXPECT_EQ(number(direct.show("key").holder), 0u);
    EXPECT_EQ(direct.rejected(wanted).reason, busy_reason::cooldown);
}

TEST_F(MysqlStore, TheLastSixteenWithdrawnClaimsAreRemembered) {
    auto mine = open(here());
    conformance::expect_withdrawals_remembered(mine, 16);
}

TEST_F(MysqlStore, AWithdrawnClaimThatComesLateFindsItsTraceInAnOldRecord) {
    auto settings = here();
    settings.common.retention = 1ms;
    auto mine = open(settings);
    conformance::expect_the_trace_to_outlive_an_old_record(mine, [&] {
        server().ask(
            "UPDATE pawl.pawl_lease SET until_at = until_at - 3600000000 WHERE name_space = '" +
            settings.common.name_space + "'");
    });
}

// Goal: an answer that was lost costs nothing. Method: the proxy holds it back and cuts; the same
// claim is then repeated, or withdrawn.
TEST_F(MysqlStore, AConnectionCutMidRequestIsAnUnknownOutcomeThatTheSameClaimResolves) {
    tcp_proxy proxy{server().port()};
    auto mine = open(at(proxy.port()));
    auto direct = open(here());
    mine.granted(fresh_claim("warm"));
    for (const auto* key : {"repeated", "withdrawn"}) leave_a_record_of(key, open(here()));
    for (const bool repeats : {true, false}) {
        const auto held_before = proxy.held_bytes(direction::to_client);
        proxy.stall(direction::to_client);
        const auto wanted = fresh_claim(repeats ? "repeated" : "withdrawn", 60s);
        auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_client, held_before + 1));
        proxy.cut();
        proxy.resume(direction::to_client);
        expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
        const auto held = direct.show(wanted.key).holder;
        EXPECT_GT(number(held), 0u);
        if (repeats) {
            EXPECT_EQ(mine.granted(wanted), held);
        } else {
            EXPECT_TRUE(*mine.withdraw({wanted.key, wanted.id}));
            EXPECT_GT(direct.granted(fresh_claim(wanted.key)), held);
        }
    }
}

// ---- Locks

// Goal: 64 contenders never deadlock, on one key and on many. Method: 64 coroutine-free threads of
// eight stores, and the server's own count of deadlocks.
TEST_F(MysqlStore, SixtyFourContendersNeverDeadlock) {
    const auto deadlocks = deadlocks_of(server());
    std::vector<client> stores;
    for (int i = 0; i < 8; ++i) stores.push_back(open(here(10s)));
    std::atomic<int> grants{0}, inside{0}, failures{0};
    {
        std::vector<std::jthread> contenders;
        for (int i = 0; i < 64; ++i)
            contenders.emplace_back([&, i] {
                auto& through = stores[static_cast<std::size_t>(i % 8)];
                for (int j = 0; j < 12; ++j) {
                    // One key for all, one for a few, and always new ones.
                    const std::string keys[] = {
                        "one", "few/" + std::to_string(i % 4),
                        "new/" + std::to_string(i) + "/" + std::to_string(j)};
                    for (const auto& key : keys) {
                        const auto got = through.acquire(fresh_claim(key));
                        if (got.has_error()) ++failures;
                        const auto* won = got.has_value() ? std::get_if<grant>(&*got) : nullptr;
                        if (won == nullptr) continue;
                        ++grants;
                        if (key == "one" && inside.fetch_add(1) != 0) ++failures;
                        if (key == "one") --inside;
                        if (!through.release(key, won->token).value()) ++failures;
                    }
                }
            });
    }
    EXPECT_EQ(failures, 0);
    EXPECT_GE(grants, 64 * 12);
    EXPECT_EQ(deadlocks_of(server()), deadlocks);
}

// Goal: a transaction that lost against another is begun again. Method: a foreign one takes the
// locks of a withdrawal in the other order, the second once the withdrawal waits for the first.
TEST_F(MysqlStore, ADeadlockWithAnotherSessionIsSurvived) {
    auto mine = open(here(30s));
    EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    const auto deadlocks = deadlocks_of(server());
    const auto row = "name_space = '" + space_ + "'";
    // Heavier than ours by the rows it has changed, so that ours is the one to lose. What waits is
    // told anew to one who has not asked for a tenth of a second.
    auto foreign = std::async(std::launch::async, [&] {
        return server().ask(
            "USE pawl; CREATE TABLE pawl.heavy (n INT PRIMARY KEY); START TRANSACTION; "
            "INSERT INTO pawl.heavy SELECT seq FROM seq_1_to_100; "
            "UPDATE pawl.pawl_lease SET owner = 'x' WHERE " +
            row +
            " AND lock_key = 'key'; DO GET_LOCK('ready', 0); BEGIN NOT ATOMIC "
            "DECLARE looks INT DEFAULT 0; WHILE looks < 100 AND NOT EXISTS (SELECT 1 FROM "
            "information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT') DO DO SLEEP(0.2); "
            "SET looks = looks + 1; END WHILE; END; "
            "UPDATE pawl.pawl_floor SET token = token + 1 WHERE " +
            row + "; COMMIT; SELECT 'done'");
    });
    until([&] { return server().ask("SELECT IS_USED_LOCK('ready') IS NOT NULL") == "1"; });
    const auto withdrawn = mine.withdraw({"key", "another"});
    ASSERT_TRUE(withdrawn.has_value()) << withdrawn.error().detail;
    EXPECT_FALSE(*withdrawn);
    EXPECT_EQ(foreign.get(), "done");
    EXPECT_GT(deadlocks_of(server()), deadlocks);
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), 0u);
}

// Goal: the force-released holder gets its delay in full. Method: the forced release waits for a
// lock for longer than the delay is.
TEST_F(MysqlStore, TheDelayOfAForcedReleaseCountsFromWhenItTakesEffect) {
    auto mine = open(here(30s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto foreign = keep_rows_locked("12");
    const auto asked = lease_clock::now();
    EXPECT_TRUE(*mine.force_release("key", token, 6s));
    EXPECT_GT(lease_clock::now() - asked, 6s);
    EXPECT_GT(mine.show("key").remaining, 100ms);
    foreign.get();
}

// Goal: who waits for a lock for too long is told in time that it is unknown. Method: a foreign
// transaction keeps the row locked.
TEST_F(MysqlStore, ALockThatAnotherSessionKeepsIsAnUnknownOutcomeInTime) {
    auto mine = open(here(300ms));
    const auto wanted = fresh_claim("key", 60s);
    conformance::warm_up(mine);
    const auto token = open(here()).granted(wanted);
    auto foreign = keep_rows_locked("6");
    const auto asked = lease_clock::now();
    expect_failure(mine.acquire(wanted), errc::outcome_unknown, "no answer within 300ms");
    EXPECT_LT(lease_clock::now() - asked, 5900ms);
    foreign.get();
    EXPECT_EQ(open(here()).granted(wanted), token);
}

// ---- Connections

TEST_F(MysqlStore, OneCallerUsesOneConnectionAndManyNoMoreThanAllowed) {
    mysql_server own;
    auto settings = at(own.port());
    settings.connections_max = 3;
    auto mine = open(settings);
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    EXPECT_EQ(connections_of(own), 1);
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 12; ++i)
            callers.emplace_back([&, i] {
                const auto key = "key/" + std::to_string(i);
                for (int j = 0; j < 20; ++j)
                    EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
            });
    }
    EXPECT_GE(connections_of(own), 1);
    EXPECT_LE(connections_of(own), 3);
}

// Goal: a burst leaves no connections behind. Method: many callers, then one who asks now and then.
TEST_F(MysqlStore, ConnectionsThatAreNotNeededAreClosed) {
    mysql_server own;
    auto settings = at(own.port(), 3s);
    settings.idle_max = 50ms;
    auto mine = open(settings);
    // The row's lock keeps all callers waiting, each on a connection, until they have been seen.
    mine.granted(fresh_claim("key", 60s));
    auto locked = own.hold("USE pawl; START TRANSACTION; SELECT 1 FROM pawl_lease FOR UPDATE");
    {
        std::atomic<bool> seen{false};
        std::vector<std::jthread> callers;
        for (int i = 0; i < 8; ++i)
            callers.emplace_back([&] {
                while (!seen) static_cast<void>(mine.acquire(fresh_claim("key")));
            });
        until([&] { return connections_of(own) > 4; }, 30s);
        seen = true;
        locked.reset();
    }
    until([&] { return mine.inspect("key").has_value() && connections_of(own) == 1; });
}

// Goal: nothing leaks. Method: 10,000 rounds, then the server's own count of rows, connections and
// transactions.
TEST_F(MysqlStore, TenThousandRoundsLeaveNothingBehind) {
    mysql_server_options lazily;
    lazily.synced = false;
    mysql_server own{lazily};
    auto mine = open(at(own.port(), 20s));
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 4; ++i)
            callers.emplace_back([&, i] {
                const auto key = "key/" + std::to_string(i);
                fence_token last{};
                for (int j = 0; j < 2500; ++j) {
                    const auto token = mine.granted(fresh_claim(key));
                    EXPECT_GT(token, last);
                    last = token;
                    EXPECT_TRUE(*mine.release(key, token));
                }
            });
    }
    EXPECT_EQ(own.ask("SELECT COUNT(*), SUM(holder) FROM pawl.pawl_lease"), "4\t0");
    EXPECT_LE(connections_of(own), 8);
    EXPECT_EQ(
        own.ask("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_locked > 0"),
        "0");
}

// Goal: a connection that the server ended while it was idle is replaced within the operation.
TEST_F(MysqlStore, AConnectionThatTheServerEndedIsReplacedSilently) {
    mysql_server_options brief;
    brief.more = {"wait_timeout=1"};
    mysql_server own{brief};
    auto mine = open(at(own.port()));
    auto token = mine.granted(fresh_claim("key", 60s));
    until([&] { return connections_of(own) == 0; });
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token)), renewal::renewed);
    // And one that an administrator killed.
    own.ask("KILL " +
            own.ask("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'locker'"));
    until([&] { return connections_of(own) == 0; });
    EXPECT_TRUE(*mine.release("key", token));
}

TEST_F(MysqlStore, AConnectionThatWasCutIsMadeAnew) {
    tcp_proxy proxy{server().port()};
    auto mine = open(at(proxy.port()));
    conformance::expect_connections_made_anew(proxy, mine);
}

// Goal: sixteen processes that start at once on an empty database all work. Method: as many stores,
// each with a loop and connections of its own.
TEST_F(MysqlStore, SixteenThatStartAtOnceMakeTheTablesOnce) {
    mysql_server own;
    std::atomic<int> worked{0};
    {
        std::vector<std::jthread> processes;
        for (int i = 0; i < 16; ++i)
            processes.emplace_back([&, i] {
                auto mine = open(at(own.port(), 10s));
                const auto got = mine.acquire(fresh_claim("key/" + std::to_string(i)));
                if (got.has_error()) ADD_FAILURE() << got.error().detail;
                if (got.has_value() && std::holds_alternative<grant>(*got)) ++worked;
            });
    }
    EXPECT_EQ(worked, 16);
    EXPECT_EQ(own.ask("SELECT COUNT(*) FROM pawl.pawl_marker"), "1");
}

// Tables that were dropped under a store are made again: the marker is new, so a quarantine begins.
TEST_F(MysqlStore, TablesThatWereDroppedAreMadeAgain) {
    mysql_server own;
    auto mine = open(at(own.port()));
    auto settings = at(own.port());
    settings.common.quarantine = 60s;
    auto careful = open(settings);
    EXPECT_EQ(careful.rejected(fresh_claim("key", 30s)).reason, busy_reason::quarantined);
    const auto token = mine.granted(fresh_claim("key"));
    own.ask("DROP DATABASE pawl; CREATE DATABASE pawl");
    EXPECT_GT(mine.granted(fresh_claim("key")), token);
    EXPECT_EQ(careful.rejected(fresh_claim("key", 30s)).reason, busy_reason::quarantined);
}

// ---- Servers that fail

TEST_F(MysqlStore, ARequestWithoutAnswerEndsWithinTheTimeoutAsUnknown) {
    mysql_server own;
    auto mine = open(at(own.port(), 300ms));
    const auto wanted = conformance::unanswered_claim(own, mine, "300ms", 10s);
    auto patient = open(at(own.port(), 10s));
    EXPECT_GT(number(patient.granted_in_the_end(wanted)), 0u);
    const auto end = lease_clock::now() + 10s;
    while (mine.inspect("key").has_error() && lease_clock::now() < end) {
    }
    EXPECT_GT(number(mine.show("key").holder), 0u);
}

TEST_F(MysqlStore, AServerKilledMidRequestIsAnUnknownOutcomeThatTheSameClaimResolves) {
    mysql_server own;
    leave_a_record_of("key", open(at(own.port())));
    conformance::expect_the_same_grant_after_a_kill(
        own, [&](std::uint16_t port) { return open(at(port, 10s)); });
}

// Goal: a server that is killed and started again under load loses no grant and lets no token fall.
// Method: four threads hold keys in turn and repeat the same claim when they do not know; each
// minds its own tokens, and that no other was granted its key.
TEST_F(MysqlStore, AServerKilledUnderLoadLosesNothing) {
    mysql_server own;
    auto mine = open(at(own.port(), 2s));
    mine.granted(fresh_claim("warm"));
    std::atomic<bool> enough{false};
    std::atomic<int> rounds{0}, wrong{0};
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            const auto key = "key/" + std::to_string(i);
            fence_token last{};
            while (!enough) {
                const auto wanted = fresh_claim(key, 60s);
                auto got = mine.acquire(wanted);
                while (got.has_error()) got = mine.acquire(wanted);
                const auto* won = std::get_if<grant>(&*got);
                if (won == nullptr || won->token <= last) ++wrong;
                if (won == nullptr) return;
                last = won->token;
                auto let_go = mine.release(key, won->token);
                while (let_go.has_error()) let_go = mine.release(key, won->token);
                ++rounds;
            }
        });
    for (int crashes = 0; crashes < 3; ++crashes) {
        const int before = rounds;
        until([&] { return rounds > before + 100; });
        own.crash();
        own.start();
    }
    const int before = rounds;
    until([&] { return rounds > before + 100; });
    enough = true;
    callers.clear();
    EXPECT_EQ(wrong, 0);
}

// Goal: waiting resumes. Method: a waiter across a restart is woken by a release after it, as the
// runtime waits: again and again until the key has changed.
TEST_F(MysqlStore, WaitingResumesAfterARestart) {
    mysql_server own;
    auto mine = open(at(own.port(), 10s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto waiter = open(at(own.port(), 10s));
    auto woke = waiter.start_waiting("key", token, 20s);
    own.restart();
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TEST_F(MysqlStore, WaitingForAServerThatIsGoneFailsWithinTheTimeout) {
    auto mine = open(at(testing_servers::free_port(), 100ms));
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 5s), wait_end::failed);
}

// ---- Quarantine

// Goal: a restart that may have lost commits is a loss of data, marker or not. Method: a server
// that syncs no commit; and one that syncs its own log but not the binary one, by which it decides
// after a crash what was committed.
TEST_F(MysqlStore, ARestartWithUnsyncedCommitsIsQuarantined) {
    mysql_server_options lazily, halfway;
    lazily.synced = false;
    halfway.more = {"log_bin=binlog", "sync_binlog=0", "server_id=3"};
    for (const auto& options : {lazily, halfway}) {
        mysql_server own{options};
        auto careful = at(own.port());
        // The server tells its age in whole seconds, and a busy machine takes some to start it.
        careful.common.quarantine = 12s;
        const auto granted = [](conformance::client& mine, const std::string& key) {
            return number(mine.granted_in_the_end(fresh_claim(key, 1s), 200ms, 60s));
        };
        auto before = open(careful);
        EXPECT_GT(granted(before, "key"), 0u);
        own.restart();
        auto mine = open(careful);
        EXPECT_EQ(mine.rejected(fresh_claim("other", 1s)).reason, busy_reason::quarantined);
        EXPECT_GT(granted(mine, "other"), 0u);
    }
}

TEST_F(MysqlStore, FencingIsStrictOnlyUnderQuarantine) {
    auto settings = here();
    EXPECT_FALSE(open(settings).traits().strict_fencing);
    settings.common.quarantine = 1s;
    EXPECT_TRUE(open(settings).traits().strict_fencing);
}

// Goal: where each commit is synced to both logs, a crash is no loss.
TEST_F(MysqlStore, ACrashWithASyncedBinaryLogIsNotQuarantined) {
    mysql_server_options options;
    options.more = {"log_bin=binlog", "sync_binlog=1", "server_id=3"};
    mysql_server own{options};
    auto careful = at(own.port());
    careful.common.quarantine = 1s;
    fence_token held{};
    {
        auto before = open(careful);
        before.granted_in_the_end(fresh_claim("other", 1s));
        held = before.granted(fresh_claim("key", 1s));
    }
    own.crash();
    own.start();
    auto after = open(careful);
    EXPECT_EQ(after.show("key").last_token, held);
    EXPECT_GT(number(after.granted(fresh_claim("next", 1s))), 0u);
}

// Goal: a promoted replica may lack the newest grants. Method: the same data under another
// server_id, which is what a replica is once it is promoted.
TEST_F(MysqlStore, APromotedReplicaIsQuarantined) {
    mysql_server own;
    auto careful = at(own.port());
    careful.common.quarantine = 1500ms;
    EXPECT_GT(number(open(careful).granted_in_the_end(fresh_claim("key", 1s))), 0u);
    EXPECT_GT(number(open(careful).granted(fresh_claim("next", 1s))), 0u);
    own.ask("SET GLOBAL server_id = 77");
    auto mine = open(careful);
    EXPECT_EQ(mine.rejected(fresh_claim("other", 1s)).reason, busy_reason::quarantined);
    EXPECT_GT(number(mine.granted_in_the_end(fresh_claim("other", 1s))), 0u);
}

// ---- Health

std::string text_of(const examination& seen, const std::string& check) {
    std::string all;
    for (const auto& one : seen.findings) {
        EXPECT_EQ(one.text.find('\n'), std::string::npos);
        if (one.check == check)
            all += std::string{one.level == severity::ok     ? "ok"
                               : one.level == severity::warn ? "warn"
                                                             : "fail"} +
                   ": " + one.text;
    }
    return all;
}

examination examine(const mysql_settings& settings) {
    net::loop where;
    const auto store = make_mysql_store(where, settings);
    return where.wait_for(store->examine()).value();
}

TEST_F(MysqlStore, AnExaminationTellsWhatMatters) {
    const auto seen = examine(here());
    EXPECT_TRUE(std::regex_match(seen.version, std::regex{"MariaDB [0-9.]+"})) << seen.version;
    ASSERT_TRUE(seen.clock);
    EXPECT_NEAR(static_cast<double>(*seen.clock),
                static_cast<double>(time::wall_now().time_since_epoch().count()), 10e6);
    EXPECT_EQ(text_of(seen, "persistence").substr(0, 3), "ok:");
    EXPECT_EQ(text_of(seen, "replication"), "ok: no binary log, so no replica to fail over to");
    EXPECT_EQ(text_of(seen, "privileges").substr(0, 3), "ok:");
    EXPECT_EQ(text_of(seen, "schema"), "ok: layout 1, the one of this pawl");
    EXPECT_EQ(text_of(seen, "tls").substr(0, 3), "ok:");
    EXPECT_EQ(text_of(seen, "limits").substr(0, 3), "ok:");
    EXPECT_EQ(text_of(seen, "quarantine").substr(0, 5), "warn:");
}

TEST_F(MysqlStore, AnExaminationWarnsOfWhatCanBeLost) {
    mysql_server_options options;
    options.synced = false;
    options.more = {"log_bin=binlog", "server_id=3", "wait_timeout=3"};
    options.tls = std::make_shared<const testing_servers::certificates>();
    mysql_server own{options};
    own.ask("GRANT ALL ON *.* TO locker");
    auto settings = at(own.port());
    settings.tls = net::tls_settings{options.tls->ca(), {}, {}, {}};
    const auto seen = examine(settings);
    EXPECT_NE(text_of(seen, "persistence").find("innodb_flush_log_at_trx_commit=0"),
              std::string::npos);
    EXPECT_EQ(text_of(seen, "replication").substr(0, 18), "warn: asynchronous");
    EXPECT_EQ(text_of(seen, "privileges").substr(0, 5), "warn:");
    EXPECT_NE(text_of(seen, "limits").find("raise wait_timeout"), std::string::npos);
    // The certificates of the tests are valid for 30 days.
    EXPECT_NE(text_of(seen, "tls").find("valid for another"), std::string::npos)
        << text_of(seen, "tls");
}

// ---- The end of a loop

TEST_F(MysqlStore, ALoopMayEndUnderWhatStillRuns) {
    mysql_server own;
    auto where = std::make_unique<net::loop>();
    auto store = make_mysql_store(*where, at(own.port()));
    EXPECT_TRUE(where->wait_for(store->inspect("warm")).has_value());
    own.freeze();
    conformance::end_under_requests(std::move(where), std::move(store));
    own.thaw();
}

}  // namespace
}  // namespace pawl::mysql
