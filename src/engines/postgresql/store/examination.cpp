#include "engines/postgresql/store/examination.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "engines/postgresql/client/layout.hpp"
#include "examine_sql.hpp"
#include "net/tls.hpp"

#include <algorithm>

namespace pawl::postgresql {
namespace {

// The columns of examine.sql.
enum column : int {
    version,
    clock,
    synchronous_commit,
    fsync,
    full_page_writes,
    is_standby,
    standbys,
    synchronous_standbys,
    process,
    connections,
    connections_max,
    forbidden,
    layout,
    age,
    isolation,
    read_only,
    dead,
    live,
    columns_count
};

std::string text_at(const rows& facts, column which) {
    return base::printable(facts.bytes(0, which));
}

finding persistence_of(const rows& facts) {
    if (text_at(facts, fsync) != "on")
        return {severity::fail, "persistence",
                "fsync is off: a crash may lose or corrupt everything; set fsync=on"};
    if (text_at(facts, full_page_writes) != "on")
        return {severity::warn, "persistence",
                "full_page_writes is off: a crash may corrupt pages; set full_page_writes=on"};
    const auto commit = text_at(facts, synchronous_commit);
    if (commit == "off")
        return {severity::ok, "persistence",
                "fsync and full_page_writes are on, synchronous_commit is off, and grants switch "
                "it on for themselves"};
    return {severity::ok, "persistence",
            "fsync and full_page_writes are on, synchronous_commit is " + commit};
}

finding replication_of(const rows& facts) {
    if (facts.flag(0, is_standby))
        return {severity::fail, "replication",
                "this is a standby, which grants nothing: point the URL at the primary"};
    const auto count = facts.integer(0, standbys);
    if (count == 0) return {severity::ok, "replication", "no standby is connected"};
    const auto seen = std::to_string(count) + (count == 1 ? " standby" : " standbys");
    const auto commit = text_at(facts, synchronous_commit);
    if (text_at(facts, synchronous_standbys).empty() || commit == "local")
        return {severity::warn, "replication",
                seen +
                    " replicate asynchronously: a failover may forget grants; set "
                    "synchronous_standby_names, or quarantine="};
    return {severity::ok, "replication", seen + ", and commits wait for a synchronous one"};
}

finding quarantine_of(const postgresql_settings& settings) {
    if (!settings.common.quarantine)
        return {severity::warn, "quarantine",
                "off: after a loss of data or a failover two may hold one key for a TTL; set "
                "quarantine= to the longest TTL"};
    return {severity::ok, "quarantine",
            "after a loss of data nothing is granted for " +
                base::format_duration(*settings.common.quarantine)};
}

finding pooler_of(const rows& facts, const postgresql_settings& settings, const pool& through,
                  const listener& hearing) {
    const bool pooled = !through.is_own_backend(facts.integer(0, process));
    if (pooled && settings.listens && !settings.notified_by)
        return {
            severity::warn, "pooler",
            "a pooler is in between, which may swallow notifications: give notify= the server's "
            "own address, or off"};
    if (hearing.is_deaf() && settings.listens)
        return {severity::warn, "pooler",
                "notifications do not arrive, so waiters poll: correct notify="};
    if (pooled && settings.prepare == preparation::automatic && !through.prepares())
        return {severity::warn, "pooler",
                "the pooler does not keep prepared statements, which costs about half the speed: "
                "connect directly, or set prepare=off"};
    return {severity::ok, "pooler",
            pooled ? "a pooler is in between, and pawl knows how to live with it"
                   : "connected to the server itself"};
}

finding privileges_of(const rows& facts) {
    const auto missing = facts.integer(0, forbidden);
    if (missing > 0)
        return {severity::fail, "privileges",
                std::to_string(missing) +
                    " of the functions may not be executed: GRANT EXECUTE ON "
                    "ALL FUNCTIONS IN SCHEMA to this user"};
    return {severity::ok, "privileges", "every function may be executed"};
}

finding schema_of(const rows& facts, const postgresql_settings& settings) {
    return {severity::ok, "schema",
            "schema " + settings.schema + ", layout " + std::to_string(facts.integer(0, layout))};
}

finding limits_of(const rows& facts, const pool& through) {
    constexpr std::int64_t age_warned = 1'000'000'000;
    const auto used = facts.integer(0, connections), most = facts.integer(0, connections_max);
    const auto text =
        std::to_string(used) + " of " + std::to_string(most) + " connections are used";
    if (used * 10 >= most * 9)
        return {severity::warn, "limits", text + ": raise max_connections, or pool"};
    if (facts.integer(0, age) > age_warned)
        return {severity::warn, "limits",
                "the database has not been frozen for a billion transactions: let autovacuum run"};
    if (facts.integer(0, dead) > std::max<std::int64_t>(100'000, 10 * facts.integer(0, live)))
        return {
            severity::warn, "limits",
            "the lease table is mostly dead rows: let autovacuum run, and end old transactions"};
    if (through.wraps())
        return {
            severity::warn, "limits",
            "transactions begin as " + text_at(facts, isolation) +
                (text_at(facts, read_only) == "on" ? ", read-only" : "") +
                ", so each costs a BEGIN and a COMMIT more: set the defaults of the user of pawl "
                "to read committed, read write"};
    return {severity::ok, "limits", text};
}

finding tls_of(const wire& on) {
    auto* session = static_cast<SSL*>(PQsslStruct(on.handle(), "OpenSSL"));
    if (session != nullptr) return net::examine_peer(session);
    const std::string host = PQhost(on.handle()) == nullptr ? "" : PQhost(on.handle());
    const bool here = host.starts_with('/') || host.starts_with('@') || host.starts_with("127.") ||
                      host == "::1" || host == "localhost";
    if (here) return {severity::ok, "tls", "none, on this machine"};
    return {severity::warn, "tls",
            "the connection is not encrypted: set sslmode=verify-full and sslrootcert="};
}

std::shared_ptr<const statement_text> text_for(const postgresql_settings& settings) {
    return std::make_shared<const statement_text>(
        with_schema(embedded::examine_sql, settings.schema));
}

}  // namespace

async<examination> examine(std::shared_ptr<const postgresql_settings> settings,
                           std::shared_ptr<pool> through, std::shared_ptr<listener> hearing) {
    statement asked{text_for(*settings)};
    auto asking = through->ask(std::move(asked));
    const auto facts = co_await std::move(asking);
    if (facts.has_error()) co_return facts.error();
    if (facts->count() != 1 || facts->columns() != columns_count)
        co_return failure{errc::protocol, place_of(settings->servers) + ": an unexpected answer"};
    examination seen;
    // Debian adds where the package comes from.
    auto number = text_at(*facts, version);
    seen.version = "PostgreSQL " + number.substr(0, number.find(' '));
    seen.clock = facts->integer(0, clock);
    seen.fence_statement = "SELECT " + settings->schema +
                           ".fence_v2(…), on the resource's row of " + settings->schema + ".fence";
    seen.findings.push_back({severity::ok, "version", seen.version});
    seen.findings.push_back(persistence_of(*facts));
    seen.findings.push_back(replication_of(*facts));
    seen.findings.push_back(quarantine_of(*settings));
    seen.findings.push_back(pooler_of(*facts, *settings, *through, *hearing));
    seen.findings.push_back(privileges_of(*facts));
    seen.findings.push_back(schema_of(*facts, *settings));
    seen.findings.push_back(limits_of(*facts, *through));
    if (const auto on = through->any_wire()) seen.findings.push_back(tls_of(*on));
    co_return seen;
}

}  // namespace pawl::postgresql
