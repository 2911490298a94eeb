#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "stores/redis/redis_store.hpp"

#include <algorithm>

namespace pawl::assembly {
namespace {

unsigned database_number(const std::string& path) {
    if (path.empty()) return 0;
    if (path.size() <= 4 &&
        std::all_of(path.begin(), path.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return static_cast<unsigned>(std::stoul(path));
    throw option_error{"redis: the database after the '/' must be a number from 0 to 9999"};
}

}  // namespace

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
        settings.tls = take_tls(query);
    }
    query.finish();
    plan.make = [settings](net::loop& where) { return redis::make_redis_store(where, settings); };
    return plan;
}

}  // namespace pawl::assembly
