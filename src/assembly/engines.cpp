#include "assembly/engines.hpp"

#include "assembly/parameters.hpp"
#include "base/text.hpp"
#include "stores/memory/memory_store.hpp"
#ifdef PAWL_STORE_SQLITE
#include "stores/sqlite/sqlite_store.hpp"
#endif
#ifdef PAWL_STORE_REDIS
#include "stores/redis/redis_store.hpp"
#endif

#include <algorithm>

namespace pawl::assembly {
namespace {

using planner = store_plan (*)(const base::store_url&);

store_plan plan_memory(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    query.finish();
    if (!url.path.empty() || !url.endpoints.empty())
        throw option_error{"memory: takes neither a path nor a host"};
    plan.make = [settings = plan.settings](net::loop& where) {
        return memory::make_memory_store(where, settings);
    };
    return plan;
}

#ifdef PAWL_STORE_SQLITE
store_plan plan_sqlite(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    sqlite::sqlite_settings settings;
    if (query.choice("synchronous", {"full", "normal"}) == 1U)
        settings.durability = sqlite::synchronous::normal;
    query.finish();
    if (!url.endpoints.empty())
        throw option_error{
            "sqlite: takes a path on this machine, not a host: write sqlite:PATH or "
            "sqlite:///PATH"};
    if (url.path.empty())
        throw option_error{
            "sqlite: needs the path of a file, such as sqlite:/var/lib/pawl/pawl.db"};
    settings.common = plan.settings;
    plan.make = [settings, path = url.path](net::loop& where) {
        return sqlite::make_sqlite_store(where, path, settings).value();
    };
    return plan;
}
#endif

#ifdef PAWL_STORE_REDIS
unsigned database_number(const std::string& path) {
    if (path.empty()) return 0;
    if (path.size() <= 4 &&
        std::all_of(path.begin(), path.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return static_cast<unsigned>(std::stoul(path));
    throw option_error{"redis: the database after the '/' must be a number from 0 to 9999"};
}

store_plan plan_redis(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    redis::redis_settings settings;
    settings.common = plan.settings;
    settings.user = url.user.value_or("");
    settings.password = query.password().value_or("");
    if (url.scheme == "redis+unix") {
        if (!url.endpoints.empty() || url.path.empty())
            throw option_error{
                "redis+unix: takes the path of a socket, such as redis+unix:/run/redis/redis.sock"};
        settings.unix_path = url.path;
        const auto number = query.text("db").value_or("");
        settings.database = database_number(number);
    } else {
        if (url.endpoints.size() != 1)
            throw option_error{url.scheme +
                               ": takes one host; for several there are redis+sentinel, "
                               "redis+cluster and redlock"};
        settings.host = url.endpoints.front().host;
        if (url.endpoints.front().port != 0) settings.port = url.endpoints.front().port;
        settings.database = database_number(url.path);
    }
    if (url.scheme == "rediss") {
        net::tls_settings tls;
        tls.ca = query.text("ca").value_or("");
        tls.certificate = query.text("cert").value_or("");
        tls.key = query.text("key").value_or("");
        tls.server_name = query.text("tls_server_name").value_or("");
        if (tls.certificate.empty() != tls.key.empty())
            throw option_error{"cert= and key= go together: give both or neither"};
        settings.tls = tls;
    }
    query.finish();
    plan.make = [settings](net::loop& where) { return redis::make_redis_store(where, settings); };
    return plan;
}
#endif

struct known_engine {
    engine_info info;
    planner plan;
};

const std::vector<known_engine>& engines() {
    static const std::vector<known_engine> all{
        {{"memory", {"memory"}, "", true}, plan_memory},
#ifdef PAWL_STORE_SQLITE
        {{"sqlite", {"sqlite"}, "PAWL_STORE_SQLITE", true}, plan_sqlite},
#else
        {{"sqlite", {"sqlite"}, "PAWL_STORE_SQLITE", false}, nullptr},
#endif
#ifdef PAWL_STORE_REDIS
        {{"redis", {"redis", "rediss", "redis+unix"}, "PAWL_STORE_REDIS", true}, plan_redis},
#else
        {{"redis", {"redis", "rediss", "redis+unix"}, "PAWL_STORE_REDIS", false}, nullptr},
#endif
    };
    return all;
}

[[noreturn]] void refuse_scheme(const std::string& scheme) {
    std::vector<std::string_view> known;
    std::string list;
    for (const auto& [info, plan] : engines())
        for (const auto one : info.schemes) {
            known.push_back(one);
            list += (list.empty() ? "" : ", ") + std::string{one};
        }
    const auto meant = base::nearest(scheme, known);
    throw option_error{
        "no store engine '" + base::printable(scheme) + "': " +
        (meant ? "did you mean '" + std::string{*meant} + "'? There are " : "there are ") + list};
}

}  // namespace

const std::vector<engine_info>& known_engines() {
    static const std::vector<engine_info> infos = [] {
        std::vector<engine_info> all;
        for (const auto& one : engines()) all.push_back(one.info);
        return all;
    }();
    return infos;
}

store_plan plan_store(std::string_view text) {
    const auto parsed = base::parse_store_url(text);
    if (parsed.has_error())
        throw option_error{"the store URL is malformed at column " +
                           std::to_string(parsed.error().column + 1) + ": " + parsed.error().what};
    for (const auto& [info, plan] : engines()) {
        if (std::find(info.schemes.begin(), info.schemes.end(), parsed->scheme) ==
            info.schemes.end())
            continue;
        if (plan == nullptr)
            throw option_error{"this pawl was built without " + std::string{info.name} +
                               ": build it with -D" + std::string{info.option} + "=ON"};
        auto made = plan(*parsed);
        made.engine = info.name;
        made.shown = base::redact_url(text);
        return made;
    }
    refuse_scheme(parsed->scheme);
}

}  // namespace pawl::assembly
