// Faults of the server and of the way to it: what the caller is told, and that work goes on.
#include "engines/postgresql/store/postgresql_fixture.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace pawl::postgresql {
namespace {

using testing_faults::direction;
using testing_faults::tcp_proxy;

// ---- Answers that are lost

// Goal: what waited for a lock in vain leaves no session behind, as each of them is one of the
// server's. Method: claims whose clients give up; the lock stays.
TEST(PostgresqlFault, AClaimOnALockedRowLeavesNoSessionBehind) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 20s));
    mine.release("key", mine.granted(fresh_claim("key")));
    const auto others = server.hold("BEGIN; SELECT FROM pawl.lease WHERE key = 'key' FOR UPDATE");
    auto hasty = open(on_port(server.port(), 300ms));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(hasty.acquire(fresh_claim("key")).has_error());
    until([&] {
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") ==
               "0";
    });
    // A caller that waits for long enough hears why.
    const auto told = mine.acquire(fresh_claim("key"));
    ASSERT_TRUE(told.has_error());
    EXPECT_EQ(told.error().code, errc::unreachable) << told.error().detail;
    EXPECT_TRUE(told.error().answered);
}

// How long claims of free keys took at most, beside three of keys that another session keeps
// locked, be they known to be locked or not: in one pipeline the last would be answered after twice
// the timeout.
lease_clock::duration longest_beside_locked_keys(millis timeout) {
    lease_clock::duration longest{};
    postgresql_server server;
    auto mine = open(on_port(server.port(), timeout));
    const std::vector<std::string> locked{"a", "b", "c"};
    for (const auto& key : locked)
        EXPECT_TRUE(yes(mine.release(key, mine.granted(fresh_claim(key)))));
    const auto others = lock_rows(server);
    for (int round = 0; round < 2; ++round) {
        std::vector<std::future<bool>> waiting;
        for (const auto& key : locked)
            waiting.push_back(std::async(std::launch::async, [&, key] {
                return mine.acquire(fresh_claim(key)).has_error();
            }));
        until([&] {
            return server.ask(
                       "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = "
                       "'Lock' AND clock_timestamp() - query_start > interval '0.4 s'") == "t";
        });
        const auto asked = lease_clock::now();
        const auto token = mine.granted(fresh_claim("free " + std::to_string(round)));
        EXPECT_GT(number(token), 0u);
        longest = std::max(longest, lease_clock::now() - asked);
        for (auto& each : waiting) EXPECT_TRUE(each.get());
    }
    EXPECT_LE(sessions(server), 5);
    return longest;
}

// Goal: claims of keys that another session keeps locked hold up no claim of another key. Method:
// three of them at once, twice. What a machine makes late by standing still is not late each time.
TEST(PostgresqlFault, ClaimsOfLockedKeysStarveNoOtherKey) {
    constexpr millis timeout = 3s;
    auto longest = longest_beside_locked_keys(timeout);
    for (int turn = 0; turn < 2 && longest >= timeout / 2; ++turn)
        longest = longest_beside_locked_keys(timeout);
    EXPECT_LT(longest, timeout / 2);
}

// Goal: after an unknown outcome the same claim is answered with the same grant. Method: the answer
// is held back until the connection is cut.
TEST(PostgresqlFault, ALostAnswerIsAnUnknownOutcomeThatTheSameClaimResolves) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    mine.granted(fresh_claim("warm"));
    proxy.stall(direction::to_client);
    const auto wanted = fresh_claim("key", 60s);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    until([&] { return server.ask("SELECT count(*) FROM pawl.lease") == "2"; });
    proxy.cut();
    expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
    proxy.resume(direction::to_client);
    const auto held = open(on_port(server.port())).show("key").holder;
    EXPECT_GT(number(held), 0u);
    EXPECT_EQ(mine.granted(wanted), held);
    EXPECT_TRUE(yes(mine.withdraw({"key", wanted.id})));
    EXPECT_EQ(number(mine.show("key").holder), 0u);
}

// Goal: who gives a wait up is told of no trouble. Method: the server has greeted none by then.
TEST(PostgresqlFault, AWaitMayBeCancelledBeforeItsConnectionIsThere) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    proxy.stall(direction::to_client);
    auto mine = open(on_port(proxy.port()));
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 50ms), wait_end::timed_out);
}

// Goal: a withdrawn claim that arrives late grants nothing. Method: it is held back on its way
// until its claimer has withdrawn it over another connection.
TEST(PostgresqlFault, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 1s));
    auto direct = open(on_port(server.port()));
    direct.granted(fresh_claim("other"));
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_FALSE(yes(direct.withdraw({"key", wanted.id})));
    proxy.resume(direction::to_server);
    // The session ends once it has read what was held back.
    until([&] { return sessions(server) == 1; });
    EXPECT_FALSE(direct.inspect("key")->has_value());
    direct.rejected(wanted);
    EXPECT_GT(number(direct.granted(fresh_claim("key"))), 0u);
}

// Goal: a claim that was sent twice leaves nothing behind, though its first copy arrives last.
// Method: that copy is held back until the second was granted, released and withdrawn.
TEST(PostgresqlFault, AFirstCopyOfAClaimThatArrivesAfterTheReleaseIsRejected) {
    postgresql_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 1s));
    auto direct = open(on_port(server.port()));
    const auto wanted = conformance::held_back(proxy, mine);
    EXPECT_TRUE(yes(direct.release("key", direct.granted(wanted))));
    EXPECT_FALSE(yes(direct.withdraw({"key", wanted.id})));
    proxy.resume(direction::to_server);
    until([&] { return sessions(server) == 1; });
    EXPECT_EQ(number(direct.show("key").holder), 0u);
    direct.rejected(wanted);
}

TEST(PostgresqlFault, TheLast32WithdrawnClaimsAreRemembered) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    conformance::expect_withdrawals_remembered(mine, 32);
}

TEST(PostgresqlFault, AWithdrawnClaimThatComesLateFindsItsTraceInAnOldRecord) {
    postgresql_server server;
    auto settings = on_port(server.port());
    settings.common.retention = 1ms;
    auto mine = open(settings);
    conformance::expect_the_trace_to_outlive_an_old_record(
        mine, [&] { server.ask("UPDATE pawl.lease SET until = until - interval '1 hour'"); });
}

TEST(PostgresqlFault, AFrozenServerIsUnknownWithinTheTimeoutAndBackWhenItThaws) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 1s));
    const auto wanted = conformance::unanswered_claim(server, mine, "1s", 5s);
    until([&] { return mine.acquire(wanted).has_value(); });
    EXPECT_GT(number(mine.granted(wanted)), 0u);
}

// ---- Sessions that are ended

TEST(PostgresqlFault, AnIdleSessionThatIsEndedIsReplaced) {
    postgresql_server server;
    auto mine = open(on_port(server.port()));
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    for (int i = 0; i < 3; ++i) {
        server.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'pawl'");
        until([&] { return sessions(server) == 0; });
        // The news may come when the claim has just left; then it is sent again.
        auto got = mine.acquire(wanted);
        if (got.has_error()) {
            EXPECT_EQ(name_of(got.error().code), name_of(errc::outcome_unknown));
            got = mine.acquire(wanted);
        }
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_EQ(std::get<grant>(*got).token, token);
    }
}

// Goal: a session that is ended in the middle of a claim leaves an unknown outcome, never a failure
// that says nothing happened. Method: the claim waits for a row that another transaction holds.
TEST(PostgresqlFault, ASessionEndedInMidFlightIsAnUnknownOutcome) {
    postgresql_server server;
    server.ask("ALTER ROLE postgres SET lock_timeout = '1min'");
    auto mine = open(on_port(server.port(), 10s));
    yes(mine.release("key", mine.granted(fresh_claim("key"))));
    auto others = lock_rows(server);
    const auto wanted = fresh_claim("key", 60s);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    until([&] {
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") ==
               "1";
    });
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock'");
    expect_failure(answer.get(), errc::outcome_unknown, "terminating connection");
    others.reset();
    EXPECT_GT(number(mine.granted(wanted)), 0u);
}

// Goal: a session of the server that crashes takes nothing with it that was promised: the server
// then begins anew without a word, and no quarantine could see it. Method: commits that wait for
// nothing, and a log that is written as late as can be; one session is killed right after.
TEST(PostgresqlFault, ACrashedSessionTakesNoGrantWithItWhereCommitsNeedNotWait) {
    postgresql_options lazily;
    lazily.more = {"synchronous_commit=off", "wal_writer_delay=10s"};
    postgresql_server server{lazily};
    auto mine = open(on_port(server.port(), 10s));
    // So that it is granted without a function.
    yes(mine.release("known", mine.granted(fresh_claim("known"))));
    const auto force_released = mine.granted(fresh_claim("force-released", 60s));
    const auto renewed = mine.granted(fresh_claim("renewed", 30s));
    const auto job = mine.granted(fresh_claim("job", 60s));
    const auto periodic = mine.granted(fresh_claim("periodic", 1s));
    // Wakes the process that writes the log, which then sleeps for its ten seconds.
    server.ask("CREATE TABLE public.anything ()");
    const auto due = conformance::occurrence_in(-1min);
    EXPECT_TRUE(yes(mine.force_release("force-released", force_released, 0ms)));
    EXPECT_EQ(mine.renew(conformance::lease_of("renewed", renewed, 60s)), renewal::renewed);
    EXPECT_TRUE(yes(mine.release("periodic", periodic, release_options{1h, {}})));
    EXPECT_TRUE(yes(mine.release("job", job, release_options{0ms, due})));
    EXPECT_TRUE(mine.fence("resource", renewed, fence_rule::reject_older)->accepted);
    const auto token = mine.granted(fresh_claim("key", 60s));
    const auto known = mine.granted(fresh_claim("known", 60s));
    const auto session =
        server.ask("SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'pawl'");
    const std::string checkpointer =
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'";
    const auto before = server.ask(checkpointer);
    ::kill(std::stoi(session), SIGKILL);
    // Every process of the server is begun anew once it has noticed.
    until([&] {
        try {
            const auto now = server.ask(checkpointer);
            return !now.empty() && now != before;
        } catch (const std::exception&) {
            return false;
        }
    });
    until([&] { return mine.inspect("key").has_value(); });
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.show("known").holder, known);
    EXPECT_GT(mine.show("renewed").remaining, 40s);
    EXPECT_EQ(number(mine.show("force-released").holder), 0u);
    EXPECT_GT(mine.show("force-released").last_token, force_released);
    EXPECT_EQ(mine.show("job").last_done, due);
    EXPECT_GT(mine.show("periodic").remaining, 30min);
    EXPECT_FALSE(mine.fence("resource", fence_token{number(renewed) - 1}, fence_rule::reject_older)
                     ->accepted);
}

// Goal: a grant that its standby may not have is none yet. Method: the only synchronous standby
// does not exist, and an administrator cancels the wait for it.
TEST(PostgresqlFault, ACommitThatNoStandbyMayHaveIsAnUnknownOutcome) {
    for (const bool wraps : {false, true}) {
        postgresql_server server;
        if (wraps)
            server.ask("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
        auto mine = open(on_port(server.port(), 10s));
        yes(mine.release("key", mine.granted(fresh_claim("key"))));
        server.ask("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'");
        server.restart();
        until([&] { return mine.inspect("key").has_value(); });
        const auto wanted = fresh_claim("key", 60s);
        auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        const std::string waits =
            " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'pawl'";
        until([&] { return server.ask("SELECT count(*)" + waits) == "1"; });
        server.ask("SELECT pg_cancel_backend(pid)" + waits);
        expect_failure(answer.get(), errc::outcome_unknown, "synchronous standby");
        // No later answer is taken for it.
        const auto token = mine.show("key").holder;
        EXPECT_GT(number(token), 0u);
        // The same claim waits again, now for nothing that does not exist.
        server.ask("ALTER SYSTEM RESET synchronous_standby_names");
        server.ask("SELECT pg_reload_conf()");
        EXPECT_EQ(mine.granted(wanted), token);
    }
}

// ---- Servers that go and come back

// What callers see while a server is away.
struct load {
    std::atomic<int> done{0};
    std::atomic<int> failed{0};
    std::atomic<int> surprises{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> inside{0};
    std::atomic<std::uint64_t> newest{0};
    std::atomic<bool> enough{false};

    void note(const failure& why) {
        ++failed;
        if (why.code == errc::unreachable || why.code == errc::outcome_unknown) return;
        ++surprises;
        ADD_FAILURE() << name_of(why.code) << ": " << why.detail;
    }

    // Claims one key, again and again; a claim whose outcome is unknown is withdrawn until it is
    // known to be gone.
    void work(client& through) {
        while (!enough) {
            const auto wanted = fresh_claim("key", 60s);
            const auto got = through.acquire(wanted);
            if (got.has_error()) {
                note(got.error());
                give_up(through, wanted);
                continue;
            }
            const auto* won = std::get_if<grant>(&*got);
            if (won == nullptr) continue;
            if (inside.fetch_add(1) != 0) ++overlaps;
            if (newest.exchange(number(won->token)) >= number(won->token)) ++overlaps;
            inside.fetch_sub(1);
            give_up(through, wanted);
            ++done;
        }
    }

    void give_up(client& through, const claim& wanted) {
        const auto until_when = lease_clock::now() + 20s;
        while (lease_clock::now() < until_when) {
            const auto gone = through.withdraw({wanted.key, wanted.id});
            if (gone.has_value()) return;
            note(gone.error());
        }
    }
};

// Goal: no two holders, no token that falls, and work that goes on, whatever happens to the server.
// Method: four callers of two clients while the server is restarted, ended in a hurry, and killed.
TEST(PostgresqlFault, ARestartUnderLoadIsSurvived) {
    postgresql_server server;
    auto first = open(on_port(server.port(), 1s));
    auto second = open(on_port(server.port(), 1s));
    load seen;
    std::vector<std::jthread> callers;
    // Before the callers are waited for, however this ends.
    const struct ending {
        load& seen;
        ~ending() { seen.enough = true; }
    } at_the_end{seen};
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] { seen.work(i % 2 == 0 ? first : second); });
    const auto progress = [&] {
        const int before = seen.done;
        until([&] { return seen.done >= before + 50; });
    };
    progress();
    server.restart();
    progress();
    server.immediate();
    server.start();
    progress();
    server.crash();
    server.start();
    progress();
    seen.enough = true;
    callers.clear();
    EXPECT_EQ(seen.overlaps, 0);
    EXPECT_EQ(seen.surprises, 0);
    EXPECT_GT(seen.failed, 0);
    EXPECT_LE(server.ask("SELECT count(*) FROM pawl.lease"), "1");
}

TEST(PostgresqlFault, WaitingResumesAfterACrash) {
    postgresql_server server;
    auto mine = open(on_port(server.port(), 5s));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = mine.start_waiting("key", token, 10s);
    until([&] { return server.ask("SELECT waited FROM pawl.lease") == "t"; });
    server.crash();
    EXPECT_EQ(woke.get(), wait_end::changed);
    server.start();
    woke = mine.start_waiting("key", token, 10s);
    until([&] {
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") ==
               "1";
    });
    EXPECT_TRUE(yes(mine.release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

// Goal: clients follow a failover by themselves, and under quarantine what the standby may have
// missed is waited for. Method: two servers in one URL, the first is killed, the second promoted.
TEST(PostgresqlFault, APromotedStandbyIsFollowedAndQuarantined) {
    postgresql_server primary;
    postgresql_options following;
    following.primary = primary.port();
    auto settings = on_port(primary.port(), 20s);
    // Long beside what a busy machine takes to ask the standby twice.
    settings.common.quarantine = 8s;
    fence_token before{};
    {
        auto first = open(settings);
        before = first.granted_in_the_end(fresh_claim("key", 500ms), 200ms, 30s);
    }
    postgresql_server standby{following};
    settings.servers.servers.push_back({"127.0.0.1", "", std::to_string(standby.port())});
    auto mine = open(settings);
    EXPECT_GT(mine.granted_in_the_end(fresh_claim("key", 300ms)), before);
    primary.crash();
    standby.promote();
    auto told = mine.acquire(fresh_claim("other", 500ms));
    if (told.has_error()) told = mine.acquire(fresh_claim("other", 500ms));
    ASSERT_TRUE(told.has_value()) << told.error().detail;
    const auto* busy_now = std::get_if<busy>(&*told);
    ASSERT_NE(busy_now, nullptr);
    EXPECT_EQ(busy_now->reason, busy_reason::quarantined);
    EXPECT_GT(mine.granted_in_the_end(fresh_claim("key", 500ms), 200ms, 30s), before);
}

}  // namespace
}  // namespace pawl::postgresql
