#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/number.hpp"
#include "engines/mysql/journal/make_mysql_journal.hpp"
#include "engines/mysql/store/mysql_store.hpp"
#include "net/provider.hpp"

#include <boost/asio/ip/address.hpp>

namespace pawl::assembly {
namespace {

constexpr std::size_t connections_most = 64;

bool is_this_machine(const std::string& host) {
    if (host == "localhost") return true;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return !error && address.is_loopback();
}

std::size_t take_connections(parameters& query, std::size_t usual) {
    const auto text = query.text("connections");
    if (!text) return usual;
    const auto count = base::parse_number_within<std::size_t>(*text, 1, connections_most);
    if (!count)
        throw option_error{"mysql: connections= must be an integer from 1 to " +
                           std::to_string(connections_most)};
    return *count;
}

void take_database(const base::store_url& url, mysql::mysql_settings& settings) {
    if (url.path.empty() || url.path.find('/') != std::string::npos)
        throw option_error{
            "mysql: needs the name of a database after the '/', such as "
            "mysql://user:password@host/database"};
    settings.database = url.path;
}

// Fills in what the plan lacks where it has no place: then the application is to connect.
void take_place(const base::store_url& url, parameters& query, mysql::mysql_settings& settings,
                engine_plan& plan) {
    const auto socket = query.text("socket");
    if (url.endpoints.size() > 1)
        throw option_error{
            "mysql: takes one host; give the address of the primary, or of a proxy "
            "that knows it"};
    if (!url.endpoints.empty()) {
        if (!url.endpoints.front().host.empty()) settings.host = url.endpoints.front().host;
        if (url.endpoints.front().port != 0) settings.port = url.endpoints.front().port;
    } else if (!socket) {
        plan.lacks = "mysql: needs a host, such as mysql://user:password@host/database";
        if (!url.path.empty()) plan.connects_by = "a database";
        return;
    }
    if (socket && !socket->starts_with('/'))
        throw option_error{"mysql: socket= needs the whole path of a Unix socket"};
    settings.unix_path = socket.value_or("");
    plan.connects_by = socket ? "socket=" : "a host";
    take_database(url, settings);
}

mysql::mysql_settings lent(mysql::mysql_settings settings, const engine_context& where) {
    settings.lent_by = mysql::connection_provider::of(where.connections.mysql, *where.loop);
    return settings;
}

}  // namespace

engine_plan plan_mysql(const base::store_url& url) {
    parameters query{url};
    engine_plan plan;
    plan.settings = take_settings(query);
    mysql::mysql_settings settings;
    settings.common = plan.settings;
    settings.user = url.user.value_or("");
    settings.password = query.password().value_or("");
    take_place(url, query, settings, plan);
    settings.connections_max = take_connections(query, settings.connections_max);
    // On one machine TLS protects nothing; beyond it nothing goes without.
    const auto asked = query.choice("tls", {"off", "on", "verify"});
    auto tls = take_tls(query);
    const bool has_files = !tls.ca.empty() || !tls.certificate.empty() || !tls.server_name.empty();
    const bool near = !settings.unix_path.empty() || is_this_machine(settings.host);
    if (asked == 0U && has_files)
        throw option_error{"mysql: tls=off and the files of TLS contradict each other"};
    if (asked ? *asked != 0U : has_files || !near) settings.tls = std::move(tls);
    if (plan.connects_by.empty() && !settings.password.empty()) plan.connects_by = "a password";
    if (plan.connects_by.empty() && (asked || has_files)) plan.connects_by = "TLS";
    query.finish();
    plan.make = [settings](const engine_context& where) {
        return mysql::make_mysql_store(*where.loop, lent(settings, where));
    };
    plan.make_journal = [settings](const engine_context& where) {
        return mysql::make_mysql_journal(*where.loop, lent(settings, where));
    };
    return plan;
}

}  // namespace pawl::assembly
