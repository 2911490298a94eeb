// The ways in which a PostgreSQL, or what was taken for one, turns a store away: one clear line
// each.
#include "engines/postgresql/client/wire.hpp"
#include "engines/postgresql/store/postgresql_fixture.hpp"
#include "engines/postgresql/store/store_layout.hpp"
#include "test_support/faults/canned_server.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace pawl::postgresql {
namespace {

using testing_faults::canned_server;
using testing_servers::certificates;

void expect_rejection(const postgresql_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    expect_failure(mine.acquire(fresh_claim("key")), code, words);
}

void expect_grant(const postgresql_settings& settings) {
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_GT(number(token), 0u);
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
}

// ---- Credentials and privileges

// Goal: what only an administrator can change is told at once, and never with the secret. Method: a
// user with a password, then one without the rights, given one by one.
TEST(PostgresqlRejection, CredentialsAndPrivilegesAreDeniedInClearWords) {
    postgresql_options options;
    options.who = {"host all all 127.0.0.1/32 scram-sha-256"};
    postgresql_server server{options};
    server.ask("CREATE ROLE locker LOGIN PASSWORD 's3cret'");
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "user", "locker");
    expect_rejection(settings, errc::denied, "no password supplied");
    set_keyword(settings.servers, "password", "wrong-password");
    settings.common.timeout = 30s;
    const auto asked = lease_clock::now();
    auto mine = open(settings);
    const auto told = mine.acquire(fresh_claim("key"));
    expect_failure(told, errc::denied, "password authentication failed for user \"locker\"");
    EXPECT_EQ(told.error().detail.find("wrong-password"), std::string::npos);
    EXPECT_LT(lease_clock::now() - asked, 10s);

    set_keyword(settings.servers, "password", "s3cret");
    expect_rejection(settings, errc::denied, "an administrator runs postgresql.sql once");
    server.ask(layout_script("pawl"));
    expect_rejection(settings, errc::denied, "permission denied for schema pawl");
    server.ask("GRANT USAGE ON SCHEMA pawl TO locker");
    expect_rejection(settings, errc::denied, "permission denied for function");
    server.ask("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO locker");
    expect_grant(settings);
    // And the tables stay out of its reach.
    EXPECT_EQ(server.ask("SELECT has_table_privilege('locker', 'pawl.lease', 'UPDATE')"), "f");
    EXPECT_EQ(server.ask("SELECT has_function_privilege('public', 'pawl.layout()', 'EXECUTE')"),
              "f");
}

TEST(PostgresqlRejection, AMissingDatabaseIsNamed) {
    postgresql_server server;
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "dbname", "nowhere");
    expect_rejection(settings, errc::unsupported, "database \"nowhere\" does not exist");
}

TEST(PostgresqlRejection, ALayoutThatIsNewerIsLeftAlone) {
    postgresql_server server;
    expect_grant(on_port(server.port()));
    server.ask("UPDATE pawl.marker SET layout = 2");
    expect_rejection(on_port(server.port()), errc::unsupported, "use a newer pawl");
    EXPECT_EQ(server.ask("SELECT layout FROM pawl.marker"), "2");
}

TEST(PostgresqlRejection, ASchemaOfAnotherProgramIsLeftAlone) {
    postgresql_server server;
    server.ask("CREATE SCHEMA pawl; CREATE TABLE pawl.lease (id integer)");
    expect_rejection(on_port(server.port()), errc::rejected, "");
    EXPECT_EQ(server.ask("SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = "
                         "p.pronamespace WHERE n.nspname = 'pawl'"),
              "0");
    auto settings = on_port(server.port());
    settings.schema = "pawl_locks";
    expect_grant(settings);
}

// ---- TLS

// One server for all: each start costs a quarter of a second.
TEST(PostgresqlRejection, CertificatesAreChecked) {
    postgresql_options options;
    options.tls = std::make_shared<certificates>();
    options.who = {"hostssl all all 127.0.0.1/32 trust"};
    postgresql_server server{options};
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "sslmode", "verify-full");
    set_keyword(settings.servers, "sslrootcert", options.tls->ca());
    expect_grant(settings);
    settings.servers.server_name = "localhost";
    expect_grant(settings);
    settings.servers.server_name = "elsewhere.example";
    {
        auto mine = open(settings);
        const auto told = mine.acquire(fresh_claim("key"));
        ASSERT_TRUE(told.has_error());
        EXPECT_EQ(name_of(told.error().code), name_of(errc::denied)) << told.error().detail;
        EXPECT_NE(told.error().detail.find("elsewhere.example"), std::string::npos);
    }
    settings.servers.server_name.clear();
    set_keyword(settings.servers, "sslrootcert", options.tls->other_ca());
    expect_rejection(settings, errc::denied, "certificate verify failed");
    set_keyword(settings.servers, "sslrootcert", "/nonexistent/ca.crt");
    expect_rejection(settings, errc::denied, "/nonexistent/ca.crt");
    set_keyword(settings.servers, "sslmode", "disable");
    expect_rejection(settings, errc::denied, "no encryption");
}

TEST(PostgresqlRejection, AnExpiredCertificateIsDenied) {
    postgresql_options options;
    options.tls = std::make_shared<certificates>();
    options.tls_expired = true;
    postgresql_server server{options};
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "sslmode", "verify-full");
    set_keyword(settings.servers, "sslrootcert", options.tls->ca());
    expect_rejection(settings, errc::denied, "certificate verify failed");
}

TEST(PostgresqlRejection, AServerThatWantsOurCertificateSaysSo) {
    postgresql_options options;
    options.tls = std::make_shared<certificates>();
    options.who = {"hostssl all all 127.0.0.1/32 trust clientcert=verify-ca"};
    postgresql_server server{options};
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "sslmode", "verify-full");
    set_keyword(settings.servers, "sslrootcert", options.tls->ca());
    expect_rejection(settings, errc::denied, "certificate");
    set_keyword(settings.servers, "sslcert", options.tls->client());
    set_keyword(settings.servers, "sslkey", options.tls->client_key());
    // libpq uses no key that others may read.
    std::filesystem::permissions(options.tls->client_key(), std::filesystem::perms::owner_read);
    expect_grant(settings);
}

TEST(PostgresqlRejection, AServerWithoutTlsIsNotTheOneThatWasAskedFor) {
    postgresql_server server;
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "sslmode", "require");
    expect_rejection(settings, errc::protocol, "server does not support SSL");
}

// ---- Other servers on the port

TEST(PostgresqlRejection, AnotherProtocolIsRecognised) {
    canned_server web{{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"}};
    auto settings = on_port(web.port(), 1s);
    expect_rejection(settings, errc::protocol, "no PostgreSQL listens there");
    set_keyword(settings.servers, "sslmode", "disable");
    expect_rejection(settings, errc::protocol, "no PostgreSQL listens there");
}

// Goal: no KDC is asked on the loop's thread. Method: what libpq was told, as it says itself.
TEST(PostgresqlRejection, KerberosIsAskedForOnlyIfTheUrlSaysSo) {
    postgresql_server server;
    const auto told = [&](connection_target target) {
        net::loop where;
        const auto on = std::make_shared<wire>(where);
        const auto to = std::make_shared<const connection_target>(std::move(target));
        EXPECT_TRUE(where.wait_for(wire::connect(on, to, lease_clock::now() + 10s)).has_value());
        std::string mode;
        auto* const all = PQconninfo(on->handle());
        for (auto* one = all; one->keyword != nullptr; ++one)
            if (std::string_view{one->keyword} == "gssencmode") mode = one->val;
        PQconninfoFree(all);
        return mode;
    };
    auto target = on_port(server.port()).servers;
    EXPECT_EQ(told(target), "disable");
    target.keywords.push_back({"gssencmode", "prefer"});
    EXPECT_EQ(told(target), "prefer");
}

TEST(PostgresqlRejection, AnUnresponsiveServerIsUnreachableWithinTheTimeout) {
    canned_server silent{{}};
    const auto asked = lease_clock::now();
    expect_rejection(on_port(silent.port(), 300ms), errc::unreachable, "within 300ms");
    EXPECT_GE(lease_clock::now() - asked, 300ms);
    EXPECT_LT(lease_clock::now() - asked, 10s);
}

TEST(PostgresqlRejection, AClosedPortIsUnreachableAfterTheTimeout) {
    EXPECT_TRUE(conformance::takes_less(2s, [] {
        const auto asked = lease_clock::now();
        expect_rejection(on_port(testing_servers::free_port(), 200ms), errc::unreachable,
                         "Connection refused");
        EXPECT_GE(lease_clock::now() - asked, 200ms);
    }));
}

// Goal: a silent server does not use up the time of the one behind it. Method: three before a good
// one: silent, gone, and without a name.
TEST(PostgresqlRejection, TheNextServerIsTriedInTime) {
    postgresql_server server;
    canned_server silent{{}};
    auto settings = on_port(silent.port(), 8s);
    settings.servers.servers.push_back(
        {"127.0.0.1", "", std::to_string(testing_servers::free_port())});
    settings.servers.servers.push_back({"no-such-host.invalid", "", ""});
    settings.servers.servers.push_back({"localhost", "", std::to_string(server.port())});
    expect_grant(settings);
}

TEST(PostgresqlRejection, ANameThatIsUnknownIsUnreachable) {
    auto settings = on_port(1, 500ms);
    settings.servers.servers = {{"no-such-host.invalid", "", "5432"}};
    auto mine = open(settings);
    const auto told = mine.acquire(fresh_claim("key"));
    ASSERT_TRUE(told.has_error());
    EXPECT_EQ(name_of(told.error().code), name_of(errc::unreachable));
    EXPECT_NE(told.error().detail.find("no-such-host.invalid"), std::string::npos);
}

// ---- Servers that will not serve now

TEST(PostgresqlRejection, AStandbyIsNeverTakenForThePrimary) {
    postgresql_server primary;
    expect_grant(on_port(primary.port()));
    postgresql_options following;
    following.primary = primary.port();
    postgresql_server standby{following};
    auto settings = on_port(standby.port(), 5s);
    expect_rejection(settings, errc::unreachable, "point the URL at the primary");
    // Nor where the user lets libpq take it.
    settings.common.timeout = 10s;
    set_keyword(settings.servers, "target_session_attrs", "any");
    expect_rejection(settings, errc::unreachable, "point the URL at the primary");
    // Nor under a quarantine, which asks first for what only a primary knows.
    auto careful = settings;
    careful.common.quarantine = 60s;
    expect_rejection(careful, errc::unreachable, "point the URL at the primary");
    // Named first, it is passed by.
    auto both = on_port(standby.port());
    both.servers.servers.push_back({"127.0.0.1", "", std::to_string(primary.port())});
    auto mine = open(both);
    EXPECT_TRUE(mine.inspect("key").has_value());
}

TEST(PostgresqlRejection, AFullServerIsUnreachableUntilThereIsRoom) {
    postgresql_options options;
    options.more = {"max_connections=5", "superuser_reserved_connections=2"};
    postgresql_server server{options};
    server.ask("CREATE ROLE locker LOGIN; CREATE ROLE other LOGIN");
    server.ask(layout_script("pawl"));
    server.ask(
        "GRANT USAGE ON SCHEMA pawl TO locker, other; GRANT EXECUTE ON ALL FUNCTIONS IN "
        "SCHEMA pawl TO locker, other");
    auto settings = on_port(server.port(), 5s);
    set_keyword(settings.servers, "user", "other");
    {
        std::vector<conformance::client> crowd;
        for (int i = 0; i < 3; ++i) {
            crowd.push_back(open(settings));
            EXPECT_TRUE(crowd.back().inspect("key").has_value());
        }
        set_keyword(settings.servers, "user", "locker");
        settings.common.timeout = 2s;
        expect_rejection(settings, errc::unreachable, "raise max_connections");
    }
    settings.common.timeout = 5s;
    expect_grant(settings);
}

// Goal: leases that are held stay so on a server that takes no connection more. Method: others take
// what there is before the first renewal, which has a connection of its own where there is room.
TEST(PostgresqlRejection, AFullServerStillRenews) {
    postgresql_options options;
    options.more = {"max_connections=5", "superuser_reserved_connections=2"};
    postgresql_server server{options};
    server.ask("CREATE ROLE locker LOGIN");
    server.ask(layout_script("pawl"));
    server.ask(
        "GRANT USAGE ON SCHEMA pawl TO locker; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO "
        "locker");
    auto settings = on_port(server.port(), 5s);
    set_keyword(settings.servers, "user", "locker");
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key", 1min));
    std::vector<conformance::client> crowd;
    for (int i = 0; i < 2; ++i) {
        crowd.push_back(open(settings));
        EXPECT_TRUE(crowd.back().inspect("key").has_value());
    }
    EXPECT_EQ(mine.renew({"key", token, 1min}), renewal::renewed);
    crowd.clear();
    EXPECT_EQ(mine.renew({"key", token, 1min}), renewal::renewed);
}

// Goal: what the user's own limits end had no effect. Method: another transaction holds the row.
TEST(PostgresqlRejection, AStatementTimeoutHadNoEffect) {
    postgresql_server server;
    auto settings = on_port(server.port(), 20s);
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key"));
    server.ask("ALTER ROLE postgres SET statement_timeout = '1s'");
    auto limited = open(settings);
    EXPECT_TRUE(limited.inspect("key").has_value());
    // Released when the session that holds it is ended.
    server.ask("ALTER ROLE postgres RESET statement_timeout");
    const PGconn* none = nullptr;
    auto* holder = PQconnectdb(
        ("host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(server.port()))
            .c_str());
    ASSERT_NE(holder, none);
    PQclear(PQexec(holder, "BEGIN; SELECT * FROM pawl.lease FOR UPDATE"));
    expect_failure(limited.release("key", token), errc::unreachable, "statement timeout");
    PQfinish(holder);
    EXPECT_TRUE(*limited.release("key", token));
}

}  // namespace
}  // namespace pawl::postgresql
