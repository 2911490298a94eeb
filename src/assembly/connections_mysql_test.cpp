// MariaDB over connections of the application's, against a real server.
#include "assembly/connections_fixture.hpp"
#include "test_support/servers/mysql_server.hpp"

#include <mysql.h>

#include <fcntl.h>

#include <map>

namespace pawl {
namespace {

using testing_servers::certificates;
using testing_servers::mysql_server;
using testing_servers::mysql_server_options;

// The first cell, or what is wrong.
std::string asked(MYSQL* on, const std::string& sql) {
    if (mysql_real_query(on, sql.data(), sql.size()) != 0) return mysql_error(on);
    auto* rows = mysql_store_result(on);
    if (rows == nullptr) return {};
    const auto* row = mysql_fetch_row(rows);
    std::string cell{row == nullptr || row[0] == nullptr ? "" : row[0]};
    mysql_free_result(rows);
    return cell;
}

// What pawl changes while it has a session.
std::string settings_of(MYSQL* on) {
    return asked(on,
                 "SELECT CONCAT_WS('|', @@autocommit, @@sql_mode, @@time_zone, @@completion_type, "
                 "@@sql_safe_updates, @@sql_select_limit, @@innodb_lock_wait_timeout, "
                 "@@lock_wait_timeout, @@tx_isolation, @@tx_read_only, @@character_set_client)");
}

class application_pool final : public lending_pool<MYSQL> {
public:
    explicit application_pool(const mysql_server& server, unsigned long flags = 0)
        : server_{server}, flags_{flags} {}
    ~application_pool() override { disconnect_all(); }
    application_pool(const application_pool&) = delete;
    application_pool& operator=(const application_pool&) = delete;

    std::string authority;  // a file; empty: no TLS

private:
    MYSQL* connected() const {
        auto* one = mysql_init(nullptr);
        const unsigned seconds = 2;
        mysql_options(one, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
        const my_bool yes = 1;
        mysql_options(one, MYSQL_OPT_RECONNECT, &yes);
        if (!authority.empty()) {
            mysql_options(one, MYSQL_OPT_SSL_CA, authority.c_str());
            mysql_options(one, MYSQL_OPT_SSL_ENFORCE, &yes);
        }
        mysql_real_connect(one, "127.0.0.1", mysql_server::user, mysql_server::password,
                           mysql_server::database, server_.port(), nullptr, flags_);
        return one;
    }
    MYSQL* connect() override { return connected(); }
    void disconnect(MYSQL* one) override { mysql_close(one); }
    void prepare(MYSQL* one) override {
        for (const auto& sql : prologue) asked(one, sql);
        before_[one] = settings_of(one);
    }
    bool stands(MYSQL* back) override {
        reconnected_ = back->options.reconnect != 0;
        // The library would connect anew.
        const my_bool no = 0;
        mysql_options(back, MYSQL_OPT_RECONNECT, &no);
        return mysql_ping(back) == 0;
    }
    void look_at(MYSQL* back) override {
        if (!reconnected_) dirt += "does not reconnect;";
        if (settings_of(back) != before_[back]) dirt += settings_of(back) + ";";
        if ((::fcntl(static_cast<int>(mysql_get_socket(back)), F_GETFL) & O_NONBLOCK) != was_)
            dirt += "blocks as it did not;";
        const auto left = asked(back,
                                "SELECT GROUP_CONCAT(variable_name) FROM "
                                "information_schema.user_variables WHERE variable_name LIKE "
                                "'pawl%' AND variable_value IS NOT NULL");
        if (!left.empty()) dirt += left + ";";
        if (asked(back, "SELECT IS_USED_LOCK(CONCAT('pawl.', MD5(DATABASE())))") != "")
            dirt += "locked;";
        if ((flags_ & CLIENT_MULTI_STATEMENTS) == 0 && asked(back, "SET @a = 1; SET @a = 2") == "")
            dirt += "several statements;";
        const my_bool yes = 1;
        mysql_options(back, MYSQL_OPT_RECONNECT, &yes);
    }

    const mysql_server& server_;
    const unsigned long flags_;
    const int was_ = [this] {
        auto* one = connected();
        const int flags = ::fcntl(static_cast<int>(mysql_get_socket(one)), F_GETFL);
        mysql_close(one);
        return flags & O_NONBLOCK;
    }();
    bool reconnected_ = false;  // of the one that is looked at
    std::map<MYSQL*, std::string> before_;
};

// Of one connection: a second one that is on its way at the end would be broken.
constexpr const char* url = "mysql:?timeout=10s&connections=1";

open_options over(application_pool& pool) {
    return lending<std::shared_ptr<MYSQL>>(&connection_factories::mysql, pool.giver());
}

std::int64_t prepared_at(const mysql_server& server) {
    return server.count(
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
        "'Prepared_stmt_count'");
}

void until_all_sleep(const mysql_server& server) {
    until_idle([&] {
        return server.count(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'locker' AND "
            "command <> 'Sleep'");
    });
}

// Goal: everything goes over them, and they come back as they went. Method: a second store takes
// the very same connections over from the first; their sessions are odd ones.
TEST(MysqlConnections, CarryEveryVerbAndComeBackInOrder) {
    mysql_server server;
    application_pool pool{server};
    pool.prologue = {
        "SET SESSION autocommit = 0, sql_mode = 'ANSI_QUOTES', time_zone = '+05:30', "
        "completion_type = 'CHAIN', sql_safe_updates = 1, sql_select_limit = 77, "
        "innodb_lock_wait_timeout = 7, lock_wait_timeout = 8",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY"};
    for (int round = 0; round < 2; ++round) {
        {
            auto mine = locks::open(url, over(pool));
            auto other = locks::open(url, over(pool));
            ASSERT_NO_FATAL_FAILURE(expect_all_verbs(mine, other));
            EXPECT_GT(prepared_at(server), 0);
            until_all_sleep(server);
        }
        expect_all_in_order(pool);
        EXPECT_EQ(prepared_at(server), 0);
    }
    EXPECT_LT(pool.made, pool.given);
}

TEST(MysqlConnections, SeveralStatementsStayAllowedWhereTheyWere) {
    mysql_server server;
    application_pool pool{server, CLIENT_MULTI_STATEMENTS};
    {
        auto mine = locks::open(url, over(pool));
        EXPECT_TRUE(takes(mine, "key"));
    }
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_EQ(pool.dirt, "");
    const auto back = pool.give();
    EXPECT_EQ(asked(back.get(), "SELECT 1; SELECT 2"), "1");
    EXPECT_EQ(mysql_next_result(back.get()), 0);
    mysql_free_result(mysql_store_result(back.get()));
}

TEST(MysqlConnections, TlsIsTheApplications) {
    mysql_server_options options;
    options.tls = std::make_shared<const certificates>();
    mysql_server server{options};
    application_pool pool{server};
    pool.authority = options.tls->ca();
    {
        auto mine = locks::open(url, over(pool));
        auto other = locks::open(url, over(pool));
        ASSERT_NO_FATAL_FAILURE(expect_all_verbs(mine, other));
        until_all_sleep(server);
    }
    expect_all_in_order(pool);
}

TEST(MysqlConnections, AreBounded) {
    mysql_server server;
    application_pool pool{server};
    expect_two_at_most("mysql:?connections=2&timeout=20s", pool, over(pool));
}

TEST(MysqlConnections, OneThatDiesIsReplaced) {
    mysql_server server;
    application_pool pool{server};
    auto mine = locks::open(url, over(pool));
    auto held = mine.try_acquire("key", minute);
    ASSERT_TRUE(held);
    const auto before = pool.given;
    server.ask("KILL CONNECTION USER locker");
    // The news of the end may come when the claim has just left.
    const auto other =
        mine.acquire("other", {.ttl = 1min, .on_store_down = store_down::retry}, 20s);
    EXPECT_TRUE(other);
    EXPECT_GT(pool.given, before);
    EXPECT_EQ(held->release(), release_outcome::released);
    until([&] { return pool.broken >= 1; });
    EXPECT_EQ(pool.dirt, "");
}

TEST(MysqlConnections, NoneIsUnreachableInOneLine) {
    expect_none_is_told<std::shared_ptr<MYSQL>>("mysql", &connection_factories::mysql, nullptr);
}

TEST(MysqlConnections, OneThatComesTooLateIsReleasedUnused) {
    mysql_server server;
    application_pool pool{server};
    expect_late_ones_are_unused("mysql", pool, &connection_factories::mysql);
}

// Goal: what it was doing is neither committed nor rolled back by us.
TEST(MysqlConnections, OneInATransactionIsRejectedAndLeftAlone) {
    mysql_server server;
    server.ask("CREATE TABLE pawl.mine (n int)");
    application_pool pool{server};
    pool.prologue = {"START TRANSACTION", "INSERT INTO mine VALUES (1)"};
    {
        auto mine = locks::open(url, over(pool));
        expect_words(store_fault(mine),
                     "rejected mysql: the application's connection is in a transaction: commit or "
                     "roll back before it is given");
    }
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_EQ(pool.broken, 0);
    pool.prologue.clear();
    const auto back = pool.give();
    EXPECT_NE(back->server_status & SERVER_STATUS_IN_TRANS, 0U);
    EXPECT_EQ(asked(back.get(), "SELECT COUNT(*) FROM mine"), "1");
    EXPECT_EQ(server.ask("SELECT COUNT(*) FROM pawl.mine"), "0");
}

TEST(MysqlConnections, OneThatDoesNotFitIsRejected) {
    mysql_server server;
    const auto rejected = [&](unsigned long flags, const std::function<void(MYSQL*)>& spoil) {
        application_pool pool{server, flags};
        auto mine = locks::open(url, {.connections = {.mysql = [&] {
                                          auto one = pool.give();
                                          spoil(one.get());
                                          return one;
                                      }}});
        auto said = store_fault(mine);
        return said;
    };
    expect_words(rejected(0, [](MYSQL* one) { mysql_query(one, "SELECT 1"); }),
                 "has a result that was not read");
    expect_words(rejected(CLIENT_MULTI_STATEMENTS,
                          [](MYSQL* one) {
                              mysql_query(one, "SELECT 1; SELECT 2");
                              mysql_free_result(mysql_store_result(one));
                          }),
                 "has a result that was not read");
    expect_words(rejected(CLIENT_FOUND_ROWS, [](MYSQL*) {}),
                 "counts the rows that were found: make it without CLIENT_FOUND_ROWS");
    expect_words(rejected(0,
                          [&](MYSQL* one) {
                              server.ask("KILL CONNECTION " + std::to_string(mysql_thread_id(one)));
                          }),
                 "unreachable mysql: ");
    server.ask("SET GLOBAL read_only = 1");
    expect_words(rejected(0, [](MYSQL*) {}), "the server is read-only");
}

// Goal: the end waits for no server that is frozen, and what was under way is not taken for idle.
TEST(MysqlConnections, TheEndSpoilsWhatIsUnderWay) {
    mysql_server server;
    application_pool pool{server};
    {
        auto mine = locks::open("mysql:?timeout=500ms", over(pool));
        until([&] {
            try {
                return takes(mine, "warm");
            } catch (const store_error&) {
                return false;
            }
        });
        mine.drain(5s);
        pool.broken = 0;
        server.freeze();
        expect_words(store_fault(mine), "outcome_unknown");
    }
    server.thaw();
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_GE(pool.broken, 1);
    EXPECT_EQ(pool.dirt, "");
}

TEST(MysqlConnections, AChildOfAForkTouchesNone) {
    mysql_server server;
    application_pool pool{server};
    expect_dead_after_fork(std::make_unique<locks>(locks::open(url, over(pool))));
    expect_all_in_order(pool);
}

// What would be ignored is rejected when the store is opened.
TEST(MysqlConnections, TheUrlSaysNothingOfHowToConnect) {
    const open_options own{.connections = {.mysql = [] { return std::shared_ptr<MYSQL>{}; }}};
    for (const auto* const said : {"mysql://db1/pawl", "mysql:pawl", "mysql:?password=s3cret",
                                   "mysql:?tls=on", "mysql:pawl?socket=/run/mysqld/mysqld.sock"})
        expect_words(option_fault(said, own), "and so does connections.mysql: leave it out");
    for (const auto* const said : {"mysql:", "mysql:?connections=2"})
        EXPECT_EQ(option_fault(said, own), "no fault") << said;
    expect_words(option_fault("memory:", own),
                 "connections.mysql: neither the store nor its journal is at mysql");
    expect_words(option_fault("mysql:", {}), "mysql: needs a host");
    expect_words(option_fault("mysql:pawl", {}), "mysql: needs a host");
}

}  // namespace
}  // namespace pawl
