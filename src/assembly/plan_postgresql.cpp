#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/ascii.hpp"
#include "base/number.hpp"
#include "engines/postgresql/journal/make_postgresql_journal.hpp"
#include "engines/postgresql/store/postgresql_store.hpp"
#include "net/provider.hpp"

#include <algorithm>

namespace pawl::assembly {
namespace {

using postgresql::connection_target;
using postgresql::known_keywords;

constexpr std::size_t connections_most = 64;
constexpr std::size_t schema_bytes_max = 63;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= list.size();) {
        const auto comma = std::min(list.find(',', from), list.size());
        parts.push_back(list.substr(from, comma - from));
        from = comma + 1;
    }
    return parts;
}

std::string part_of(const std::vector<std::string>& parts, std::size_t which) {
    // One port serves all hosts.
    if (parts.size() == 1) return parts.front();
    return which < parts.size() ? parts[which] : "";
}

// The hosts of the authority, or host=, hostaddr= and port= of the query, as libpq has them.
void take_servers(connection_target& target, const base::store_url& url, parameters& query) {
    const auto hosts = query.text("host"), addresses = query.text("hostaddr"),
               ports = query.text("port");
    if (!hosts && !addresses && !ports) {
        for (const auto& one : url.endpoints)
            target.servers.push_back({one.host, "", one.port == 0 ? "" : std::to_string(one.port)});
        return;
    }
    if (!url.endpoints.empty())
        throw option_error{url.scheme +
                           ": the servers stand either before the '/' or in host=, hostaddr= and "
                           "port=, not in both"};
    const auto names = split(hosts.value_or("")), numbers = split(addresses.value_or("")),
               doors = split(ports.value_or(""));
    if (hosts && addresses && names.size() != numbers.size())
        throw option_error{url.scheme + ": host= and hostaddr= name different numbers of servers"};
    const auto count = std::max(names.size(), numbers.size());
    if (doors.size() != 1 && doors.size() != count)
        throw option_error{url.scheme + ": port= names one port, or one for each server"};
    for (std::size_t i = 0; i < count; ++i)
        target.servers.push_back({part_of(names, i), part_of(numbers, i), part_of(doors, i)});
}

// What pawl calls by the same names for every engine.
void take_certificates(connection_target& target, parameters& query) {
    const auto tls = take_tls(query);
    const auto add = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        if (target.find(name) != nullptr)
            throw option_error{"the store URL gives " + std::string{name} +
                               "= twice, by pawl's name and by libpq's: keep one"};
        target.keywords.push_back({name, value});
    };
    add("sslrootcert", tls.ca);
    add("sslcert", tls.certificate);
    add("sslkey", tls.key);
    target.server_name = tls.server_name;
    const bool verifies = !tls.ca.empty() || !tls.server_name.empty();
    if (verifies && target.find("sslmode") == nullptr)
        target.keywords.push_back({"sslmode", "verify-full"});
}

connection_target take_target(const base::store_url& url, parameters& query) {
    connection_target target;
    take_servers(target, url, query);
    const auto add = [&](const char* name, const std::optional<std::string>& value) {
        if (value && !value->empty()) target.keywords.push_back({name, *value});
    };
    const auto path = url.path.starts_with('/') ? url.path.substr(1) : url.path;
    const auto user = query.text("user"), database = query.text("dbname");
    add("user", user ? user : url.user);
    add("password", query.password());
    add("dbname", database ? *database : path);
    for (const auto& name : known_keywords()) {
        if (name == "host" || name == "hostaddr" || name == "port" || name == "user" ||
            name == "password" || name == "dbname")
            continue;
        if (const auto value = query.text(name)) target.keywords.push_back({name, *value});
    }
    // As libpq takes it from JDBC's URIs.
    if (query.choice("ssl", {"true"}) && target.find("sslmode") == nullptr)
        target.keywords.push_back({"sslmode", "require"});
    take_certificates(target, query);
    return target;
}

std::string take_schema(parameters& query) {
    const auto name = query.text("schema").value_or("pawl");
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || base::is_digit(c) || c == '_';
    };
    if (name.empty() || name.size() > schema_bytes_max ||
        !std::all_of(name.begin(), name.end(), fits) || base::is_digit(name.front()) ||
        name.starts_with("pg_"))
        throw option_error{
            "postgresql: schema= must be 1 to 63 of a-z, 0-9 and '_', begin with no "
            "digit, and not with pg_"};
    return name;
}

std::size_t take_connections(parameters& query) {
    const auto text = query.text("connections");
    if (!text) return postgresql::postgresql_settings{}.connections;
    const auto count = base::parse_number_within<std::size_t>(*text, 1, connections_most);
    if (!count || text->size() > 2)
        throw option_error{"postgresql: connections= must be an integer from 1 to 64"};
    return *count;
}

// Where to LISTEN when not through the store's own address: what it does not say is said by that.
void take_notify(postgresql::postgresql_settings& settings, parameters& query) {
    const auto text = query.text("notify");
    if (!text) return;
    if (*text == "off") {
        settings.listens = false;
        return;
    }
    const auto parsed = base::parse_store_url(*text);
    if (parsed.has_error() || (parsed->scheme != "postgresql" && parsed->scheme != "postgres"))
        throw option_error{
            "postgresql: notify= must be off, or the percent-encoded postgresql:// URL "
            "of the server itself"};
    parameters inner{*parsed};
    auto target = take_target(*parsed, inner);
    inner.finish();
    for (const auto& one : settings.servers.keywords)
        if (target.find(one.name) == nullptr) target.keywords.push_back(one);
    if (target.server_name.empty()) target.server_name = settings.servers.server_name;
    settings.notified_by = std::move(target);
}

// The first that says where or how to connect.
std::string connects_by(const connection_target& target) {
    if (!target.servers.empty()) return "a host";
    if (!target.keywords.empty()) return target.keywords.front().name + "=";
    return target.server_name.empty() ? "" : "tls_server_name=";
}

postgresql::postgresql_settings lent(postgresql::postgresql_settings settings,
                                     const engine_context& where) {
    settings.servers.lent_by =
        postgresql::connection_provider::of(where.connections.postgresql, *where.loop);
    return settings;
}

}  // namespace

engine_plan plan_postgresql(const base::store_url& url) {
    parameters query{url};
    engine_plan plan;
    plan.settings = take_settings(query);
    postgresql::postgresql_settings settings;
    settings.common = plan.settings;
    settings.schema = take_schema(query);
    settings.connections = take_connections(query);
    if (query.choice("prepare", {"auto", "off"}) == 1U)
        settings.prepare = postgresql::preparation::off;
    settings.servers = take_target(url, query);
    take_notify(settings, query);
    query.finish();
    plan.connects_by = connects_by(settings.servers);
    plan.make = [settings](const engine_context& where) {
        return postgresql::make_postgresql_store(*where.loop, lent(settings, where));
    };
    plan.make_journal = [settings](const engine_context& where) {
        return postgresql::make_postgresql_journal(*where.loop, lent(settings, where));
    };
    return plan;
}

}  // namespace pawl::assembly
