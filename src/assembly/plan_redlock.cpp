#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "engines/redlock/store/redlock_store.hpp"

namespace pawl::assembly {
namespace {

// Two names of one server would be two votes of it; the same text is the mistake that can be seen.
void reject_twins(const std::vector<redis::redis_settings>& nodes) {
    for (auto one = nodes.begin(); one != nodes.end(); ++one)
        for (auto other = nodes.begin(); other != one; ++other)
            if (one->host == other->host && one->port == other->port)
                throw option_error{"redlock: " + redis::place_of(*one) +
                                   " is named twice: every node has one vote"};
}

}  // namespace

store_plan plan_redlock(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query, quarantine_unless_told::on);
    redlock::redlock_settings settings;
    settings.common = plan.settings;
    if (url.endpoints.size() < redlock::nodes_min || url.endpoints.size() > redlock::nodes_max)
        throw option_error{
            "redlock: takes the hosts of 2 to 15 independent Redis masters, such as "
            "redlock://a,b,c; for one there is redis"};
    redis::redis_settings common;
    common.common = plan.settings;
    common.user = url.user.value_or("");
    common.password = query.password().value_or("");
    common.database = database_number("redlock", url.path);
    const bool secure = query.choice("tls", {"off", "on"}) == 1U;
    if (secure) common.tls = take_tls(query);
    for (const auto& endpoint : url.endpoints) {
        auto one = common;
        one.host = endpoint.host;
        if (endpoint.port != 0) one.port = endpoint.port;
        settings.nodes.push_back(std::move(one));
    }
    reject_twins(settings.nodes);
    query.finish();
    plan.make = [settings](net::loop& where) {
        return redlock::make_redlock_store(where, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
