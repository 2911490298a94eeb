// What `pawl doctor` is told of a PostgreSQL, by servers that are well and others that are not.
#include "engines/postgresql/store/postgresql_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::postgresql {
namespace {

using conformance::fresh_claim;
using testing_servers::certificates;
using testing_servers::pgbouncer;
using testing_servers::postgresql_options;
using testing_servers::postgresql_server;

examination examine(const postgresql_settings& settings) {
    net::loop where;
    auto store = make_postgresql_store(where, settings);
    auto asking = store->examine();
    const auto seen = where.wait_for(std::move(asking));
    if (seen.has_error()) ADD_FAILURE() << seen.error().detail;
    return seen.has_value() ? *seen : examination{};
}

finding found(const examination& seen, const std::string& check) {
    const auto one = std::find_if(seen.findings.begin(), seen.findings.end(),
                                  [&](const finding& each) { return each.check == check; });
    if (one == seen.findings.end()) {
        ADD_FAILURE() << "nothing is said of " << check;
        return {};
    }
    EXPECT_EQ(one->text.find('\n'), std::string::npos) << one->text;
    return *one;
}

void expect_finding(const examination& seen, const std::string& check, severity level,
                    const std::string& words) {
    const auto one = found(seen, check);
    EXPECT_EQ(one.level, level) << one.text;
    EXPECT_NE(one.text.find(words), std::string::npos) << one.text;
}

TEST(PostgresqlExamination, AServerThatIsWellIsOkThroughout) {
    postgresql_options options;
    options.tls = std::make_shared<certificates>();
    postgresql_server server{options};
    auto settings = on_port(server.port());
    settings.common.quarantine = 60s;
    set_keyword(settings.servers, "sslmode", "verify-full");
    set_keyword(settings.servers, "sslrootcert", options.tls->ca());
    const auto seen = examine(settings);
    EXPECT_TRUE(seen.version.starts_with("PostgreSQL 1")) << seen.version;
    ASSERT_TRUE(seen.clock.has_value());
    EXPECT_GT(*seen.clock, 1'700'000'000'000'000);
    // What a transaction of the user's own calls.
    EXPECT_TRUE(seen.fence_statement.starts_with("SELECT pawl.fence_v2(")) << seen.fence_statement;
    for (const auto* check : {"version", "persistence", "replication", "quarantine", "pooler",
                              "privileges", "schema", "limits"})
        EXPECT_EQ(found(seen, check).level, severity::ok) << found(seen, check).text;
    EXPECT_NE(found(seen, "tls").text.find("valid for another"), std::string::npos);
}

TEST(PostgresqlExamination, WhatMayBeLostIsSaid) {
    postgresql_options options;
    options.more = {"fsync=off"};
    postgresql_server server{options};
    auto seen = examine(on_port(server.port()));
    expect_finding(seen, "persistence", severity::fail, "set fsync=on");
    expect_finding(seen, "quarantine", severity::warn, "quarantine=");
    expect_finding(seen, "tls", severity::ok, "on this machine");
}

TEST(PostgresqlExamination, StandbysThatLagAndCommitsThatDoNotWaitAreWarnings) {
    postgresql_server primary;
    postgresql_options following;
    following.primary = primary.port();
    postgresql_server standby{following};
    until([&] { return primary.ask("SELECT count(*) FROM pg_stat_replication") == "1"; });
    expect_finding(examine(on_port(primary.port())), "replication", severity::warn,
                   "1 standby replicate asynchronously");
    primary.ask("ALTER ROLE postgres SET synchronous_commit = off");
    expect_finding(examine(on_port(primary.port())), "persistence", severity::ok,
                   "grants switch it on for themselves");
    expect_finding(examine(on_port(primary.port())), "replication", severity::warn,
                   "1 standby replicate asynchronously");
    auto there = on_port(standby.port());
    set_keyword(there.servers, "target_session_attrs", "any");
    until([&] { return standby.ask("SELECT to_regclass('pawl.lease') IS NOT NULL") == "t"; });
    expect_finding(examine(there), "replication", severity::fail, "this is a standby");
}

TEST(PostgresqlExamination, APoolerIsNoticed) {
    postgresql_server server;
    pgbouncer pooler{server.port()};
    auto settings = on_port(pooler.port());
    expect_finding(examine(settings), "pooler", severity::warn, "give notify=");
    settings.listens = false;
    settings.prepare = preparation::off;
    expect_finding(examine(settings), "pooler", severity::ok, "a pooler is in between");
}

TEST(PostgresqlExamination, MissingPrivilegesAreCounted) {
    postgresql_server server;
    conformance::client first = open(on_port(server.port()));
    first.granted(fresh_claim("key"));
    server.ask(
        "CREATE ROLE locker LOGIN; GRANT USAGE ON SCHEMA pawl TO locker; "
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pawl TO locker; "
        "REVOKE EXECUTE ON FUNCTION pawl.evict_v1 FROM locker");
    auto settings = on_port(server.port());
    set_keyword(settings.servers, "user", "locker");
    expect_finding(examine(settings), "privileges", severity::fail, "1 of the functions");
}

}  // namespace
}  // namespace pawl::postgresql
