#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/redis/journal/make_redis_journal.hpp"
#include "engines/redis/store/make_redis_store.hpp"
#include "net/provider.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace pawl::assembly {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr std::uint32_t replicas_max = 100;

// Valkey is asked as Redis is; its URLs have its own name before what follows.
struct url_form {
    std::string engine;     // redis or valkey
    std::string_view kind;  // of the scheme: empty, s, +unix, +sentinel or +cluster
};

url_form form_of(const base::store_url& url) {
    for (const std::string_view engine : {"redis", "valkey"})
        if (url.scheme.starts_with(engine))
            return {std::string{engine}, std::string_view{url.scheme}.substr(engine.size())};
    return {url.scheme, {}};
}

std::vector<redis::server_address> addresses_of(const base::store_url& url,
                                                std::uint16_t otherwise) {
    std::vector<redis::server_address> all;
    all.reserve(url.endpoints.size());
    for (const auto& one : url.endpoints)
        all.push_back({one.host, one.port != 0 ? one.port : otherwise});
    return all;
}

void take_socket(parameters& query, const base::store_url& url, redis::redis_settings& settings) {
    if (!url.endpoints.empty() || url.path.empty())
        throw option_error{url.scheme + ": takes the path of a socket, such as " + url.scheme +
                           ":/run/redis/redis.sock"};
    settings.unix_path = url.path;
    const auto number = query.text("db").value_or("");
    settings.database = database_number(form_of(url).engine, number);
}

// MASTER or MASTER/DB
void take_sentinels(parameters& query, const base::store_url& url,
                    redis::redis_settings& settings) {
    settings.shape = redis::topology::sentinel;
    settings.seeds = addresses_of(url, sentinel_port);
    const auto slash = url.path.find('/');
    settings.master_name = url.path.substr(0, slash);
    if (settings.seeds.empty() || settings.master_name.empty())
        throw option_error{url.scheme + ": takes sentinels and the name of a master, such as " +
                           url.scheme + "://a,b,c/orders"};
    if (slash != std::string::npos)
        settings.database = database_number(form_of(url).engine, url.path.substr(slash + 1));
    settings.sentinel_user = query.text("sentinel_user").value_or("");
    if (auto secret = query.first_line_of("sentinel_password_file"))
        settings.sentinel_password = std::move(*secret);
}

void take_cluster(const base::store_url& url, redis::redis_settings& settings) {
    settings.shape = redis::topology::cluster;
    settings.seeds = addresses_of(url, redis_port);
    if (settings.seeds.empty())
        throw option_error{url.scheme + ": takes nodes of the cluster, such as " + url.scheme +
                           "://a,b,c"};
    if (!url.path.empty())
        throw option_error{url.scheme + ": a cluster has no databases: leave out '/" +
                           base::printable(url.path) + "'"};
}

std::string one_host_wanted(const base::store_url& url) {
    const auto engine = form_of(url).engine;
    return url.scheme + ": takes one host; for several there are " + engine + "+sentinel, " +
           engine + "+cluster and redlock";
}

// None where the application is to give the connections: then the path, as in redis:/2, begins
// with its '/'.
void take_host(const base::store_url& url, redis::redis_settings& settings) {
    if (url.endpoints.size() > 1) throw option_error{one_host_wanted(url)};
    const bool has_host = !url.endpoints.empty();
    if (has_host) settings.host = url.endpoints.front().host;
    if (has_host && url.endpoints.front().port != 0) settings.port = url.endpoints.front().port;
    const bool bare = !has_host && url.path.starts_with('/');
    settings.database = database_number(form_of(url).engine, bare ? url.path.substr(1) : url.path);
}

std::uint32_t take_wait(parameters& query) {
    const auto text = query.text("wait").value_or("0");
    const auto replicas = base::parse_number_within<std::uint32_t>(text, 0, replicas_max);
    if (!replicas)
        throw option_error{"the store URL's parameter wait=" + base::printable(text) +
                           ": expected a number of replicas, 0 to 100"};
    return *replicas;
}

// What of it says where or how to connect.
std::string connects_by(const base::store_url& url, const redis::redis_settings& settings) {
    if (!form_of(url).kind.empty()) return url.scheme + ":";
    if (!url.endpoints.empty()) return "a host";
    if (!settings.user.empty()) return "a user";
    return settings.password.empty() ? "" : "a password";
}

redis::redis_settings lent(redis::redis_settings settings, const engine_context& where) {
    if (const auto& make = where.connections.redis)
        settings.lent_by =
            redis::socket_provider::of([make] { return base::descriptor{make()}; }, *where.loop);
    return settings;
}

}  // namespace

engine_plan plan_redis(const base::store_url& url) {
    parameters query{url};
    engine_plan plan;
    plan.settings = take_settings(query);
    redis::redis_settings settings;
    settings.common = plan.settings;
    settings.user = url.user.value_or("");
    settings.password = query.password().value_or("");
    settings.replicas = take_wait(query);
    const auto kind = form_of(url).kind;
    const bool many = kind == "+sentinel" || kind == "+cluster";
    if (kind == "+unix")
        take_socket(query, url, settings);
    else if (kind == "+sentinel")
        take_sentinels(query, url, settings);
    else if (kind == "+cluster")
        take_cluster(url, settings);
    else
        take_host(url, settings);
    if (kind == "s" || (many && query.choice("tls", {"off", "on"}) == 1U))
        settings.tls = take_tls(query);
    query.finish();
    plan.connects_by = connects_by(url, settings);
    const bool of_one_host = kind.empty() || kind == "s";
    if (of_one_host && url.endpoints.empty()) plan.lacks = one_host_wanted(url);
    plan.make = [settings](const engine_context& where) {
        return redis::make_redis_store(*where.loop, lent(settings, where));
    };
    plan.make_journal = [settings](const engine_context& where) {
        return redis::make_redis_journal(*where.loop, lent(settings, where));
    };
    return plan;
}

}  // namespace pawl::assembly
