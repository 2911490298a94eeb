// PostgreSQL over connections of the application's, against a real server.
#include "assembly/connections_fixture.hpp"
#include "test_support/servers/postgresql_server.hpp"

#include <libpq-fe.h>

#include <cstdlib>

namespace pawl {
namespace {

using testing_servers::postgresql_options;
using testing_servers::postgresql_server;

std::string asked(PGconn* on, const char* sql) {
    auto* got = PQexec(on, sql);
    std::string cell{PQntuples(got) == 1 ? PQgetvalue(got, 0, 0) : PQerrorMessage(on)};
    PQclear(got);
    return cell;
}

class application_pool final : public lending_pool<PGconn> {
public:
    explicit application_pool(const postgresql_server& server)
        : address_{
              "host=127.0.0.1 user=postgres dbname=postgres application_name=app "
              "connect_timeout=2 port=" +
              std::to_string(server.port())} {}
    ~application_pool() override { disconnect_all(); }
    application_pool(const application_pool&) = delete;
    application_pool& operator=(const application_pool&) = delete;

private:
    PGconn* connect() override { return PQconnectdb(address_.c_str()); }
    void disconnect(PGconn* one) override { PQfinish(one); }
    void prepare(PGconn* one) override {
        for (const auto& sql : prologue) PQclear(PQexec(one, sql.c_str()));
    }
    bool stands(PGconn* back) override { return PQstatus(back) == CONNECTION_OK; }
    void look_at(PGconn* back) override {
        if (!prologue.empty()) return;
        if (PQtransactionStatus(back) != PQTRANS_IDLE) dirt += "in a transaction;";
        if (PQpipelineStatus(back) != PQ_PIPELINE_OFF) dirt += "in pipeline mode;";
        if (PQisnonblocking(back) != 0) dirt += "does not block;";
        if (auto* note = PQnotifies(back)) {
            dirt += "notified;";
            PQfreemem(note);
        }
        if (asked(back, "SELECT count(*) FROM pg_prepared_statements") != "0") dirt += "prepared;";
        if (asked(back, "SELECT count(*) FROM pg_listening_channels()") != "0") dirt += "listens;";
        if (asked(back, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") != "0")
            dirt += "locked;";
    }

    const std::string address_;
};

constexpr const char* url = "postgresql:?timeout=10s";

open_options over(application_pool& pool) {
    return lending<std::shared_ptr<PGconn>>(&connection_factories::postgresql, pool.giver());
}

std::string sessions_of(const postgresql_server& server, const std::string& name) {
    return server.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name +
                      "'");
}

// Goal: everything goes over them, waiting by push included, and they come back as they went.
// Method: a second store takes the very same connections over from the first.
TEST(PostgresqlConnections, CarryEveryVerbAndComeBackInOrder) {
    postgresql_server server;
    application_pool pool{server};
    for (int round = 0; round < 2; ++round) {
        {
            auto mine = locks::open(url, over(pool));
            auto other = locks::open(url, over(pool));
            EXPECT_TRUE(mine.traits().notifies);
            ASSERT_NO_FATAL_FAILURE(expect_all_verbs(mine, other));
            EXPECT_EQ(sessions_of(server, "pawl"), "0");
            until_idle([&] {
                return std::stoi(server.ask(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'app' AND "
                    "state = 'active'"));
            });
            EXPECT_EQ(server.ask("SELECT count(*) > 0 FROM pg_stat_activity WHERE "
                                 "application_name = 'app' AND query LIKE 'LISTEN%'"),
                      "t");
        }
        expect_all_in_order(pool);
    }
    EXPECT_LT(pool.made, pool.given);
}

// Goal: what was prepared before a call failed is undone as well. Method: each first call finds the
// wrong isolation level.
TEST(PostgresqlConnections, ComeBackInOrderAfterACallThatFailed) {
    postgresql_server server;
    server.ask("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    application_pool pool{server};
    {
        auto mine = locks::open(url, over(pool));
        EXPECT_TRUE(takes(mine, "key"));
    }
    expect_all_in_order(pool);
}

TEST(PostgresqlConnections, AreBounded) {
    postgresql_server server;
    application_pool pool{server};
    expect_two_at_most("postgresql:?connections=2&timeout=20s", pool, over(pool));
}

TEST(PostgresqlConnections, OneThatDiesIsReplaced) {
    postgresql_server server;
    application_pool pool{server};
    auto mine = locks::open(url, over(pool));
    auto held = mine.try_acquire("key", minute);
    ASSERT_TRUE(held);
    const auto before = pool.given;
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'app'");
    until([&] { return sessions_of(server, "app") == "0"; });
    // The news of the end may come when the claim has just left.
    const auto other =
        mine.acquire("other", {.ttl = 1min, .on_store_down = store_down::retry}, 20s);
    EXPECT_TRUE(other);
    EXPECT_GT(pool.given, before);
    EXPECT_GE(pool.broken, 1);
    EXPECT_EQ(held->release(), release_outcome::released);
}

TEST(PostgresqlConnections, NoneIsUnreachableInOneLine) {
    expect_none_is_told<std::shared_ptr<PGconn>>("postgresql", &connection_factories::postgresql,
                                                 nullptr);
}

TEST(PostgresqlConnections, OneThatComesTooLateIsReleasedUnused) {
    postgresql_server server;
    application_pool pool{server};
    expect_late_ones_are_unused("postgresql", pool, &connection_factories::postgresql);
    auto mine = locks::open(url, over(pool));
    EXPECT_TRUE(takes(mine, "key"));
}

// Goal: what it was doing is neither committed nor rolled back by us.
TEST(PostgresqlConnections, OneInATransactionIsRejectedAndLeftAlone) {
    postgresql_server server;
    application_pool pool{server};
    pool.prologue = {"BEGIN", "CREATE TABLE mine(n int)"};
    {
        auto mine = locks::open(url, over(pool));
        const auto said = store_fault(mine);
        expect_words(said, "rejected 127.0.0.1:");
        expect_words(said, "is in a transaction: commit or roll back before it is given");
    }
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_EQ(pool.broken, 0);
    pool.prologue.clear();
    const auto back = pool.give();
    EXPECT_EQ(PQtransactionStatus(back.get()), PQTRANS_INTRANS);
    EXPECT_EQ(asked(back.get(), "SELECT count(*) FROM mine"), "0");
}

TEST(PostgresqlConnections, OneThatIsNotIdleIsRejected) {
    postgresql_server server;
    const auto rejected = [&](const std::function<void(PGconn*)>& spoil) {
        application_pool pool{server};
        auto mine = locks::open(url, {.connections = {.postgresql = [&] {
                                          auto one = pool.give();
                                          spoil(one.get());
                                          return one;
                                      }}});
        auto said = store_fault(mine);
        return said;
    };
    expect_words(rejected([](PGconn* one) { PQenterPipelineMode(one); }), "is in pipeline mode");
    expect_words(rejected([](PGconn* one) { PQclear(PQexec(one, "LISTEN news")); }),
                 "listens to channels: UNLISTEN *");
    expect_words(rejected([](PGconn* one) { PQsendQuery(one, "SELECT 1"); }),
                 "has a command under way");
    expect_words(rejected([](PGconn* one) {
                     PQclear(PQexec(one, "SELECT pg_terminate_backend(pg_backend_pid())"));
                 }),
                 "is not open");
}

TEST(PostgresqlConnections, AStandbyIsRejected) {
    postgresql_server primary;
    postgresql_options options;
    options.primary = primary.port();
    postgresql_server standby{options};
    application_pool pool{standby};
    auto mine = locks::open(url, over(pool));
    expect_words(store_fault(mine), "point the URL at the primary");
}

// Goal: the end waits for no server that is frozen, and what was under way is not taken for idle.
TEST(PostgresqlConnections, TheEndSpoilsWhatIsUnderWay) {
    postgresql_server server;
    application_pool pool{server};
    {
        auto mine = locks::open("postgresql:?timeout=3s", over(pool));
        ASSERT_TRUE(takes(mine, "warm"));
        mine.drain(5s);
        server.freeze();
        expect_words(store_fault(mine), "outcome_unknown");
    }
    server.thaw();
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_GE(pool.broken, 1);
    EXPECT_EQ(pool.dirt, "");
}

TEST(PostgresqlConnections, AChildOfAForkTouchesNone) {
    postgresql_server server;
    application_pool pool{server};
    expect_dead_after_fork(std::make_unique<locks>(locks::open(url, over(pool))));
    expect_all_in_order(pool);
}

// The program of the documentation.
TEST(PostgresqlConnections, TheExampleRuns) {
    postgresql_server server;
    const auto command =
        std::string{PAWL_EXAMPLE} +
        " 'host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(server.port()) +
        "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
}

// What would be ignored is rejected when the store is opened.
TEST(PostgresqlConnections, TheUrlSaysNothingOfHowToConnect) {
    const open_options own{.connections = {.postgresql = [] { return std::shared_ptr<PGconn>{}; }}};
    for (const auto* const said : {"postgresql://db1/app", "postgresql:?sslmode=require",
                                   "postgresql://locker@/", "postgresql:?tls_server_name=db1"})
        expect_words(option_fault(said, own), "and so does connections.postgresql: leave it out");
    expect_words(option_fault("postgresql:?sslmode=require", own), "(sslmode=)");
    expect_words(option_fault("memory:", own),
                 "connections.postgresql: neither the store nor its journal is at postgresql");
    const auto elsewhere = [&](const char* journal) {
        return open_options{.journal = journal, .connections = own.connections};
    };
    EXPECT_EQ(option_fault("memory:?namespace=own", elsewhere("postgresql:")), "no fault");
    expect_words(option_fault("memory:?namespace=own", elsewhere("postgresql://db1")), "(a host)");
    expect_words(option_fault("memory:?namespace=own", elsewhere("none")), "neither the store");
}

}  // namespace
}  // namespace pawl
