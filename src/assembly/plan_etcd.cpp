#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "engines/etcd/store/make_etcd_store.hpp"
#include "net/provider.hpp"

namespace pawl::assembly {
namespace {

// What of it says where or how to connect. A login is one more request over any connection.
std::string connects_by(const base::store_url& url) {
    if (url.scheme != "etcd") return url.scheme + ":";
    return url.endpoints.empty() ? "" : "a host";
}

etcd::etcd_settings lent(etcd::etcd_settings settings, const engine_context& where) {
    settings.lent_by = etcd::channel_provider::of(where.connections.etcd, *where.loop);
    if (settings.lent_by && settings.common.quarantine)
        throw option_error{
            "a quarantine, which safety=correctness has as well, goes by the clock of a node, and "
            "connections.etcd shows none: leave one of them out"};
    return settings;
}

}  // namespace

engine_plan plan_etcd(const base::store_url& url) {
    parameters query{url};
    engine_plan plan;
    plan.settings = take_settings(query);
    etcd::etcd_settings settings;
    settings.common = plan.settings;
    // A URL without a host has no other place for it.
    settings.user = query.text("user").value_or(url.user.value_or(""));
    settings.password = query.password().value_or("");
    settings.endpoints = url.endpoints;
    plan.connects_by = connects_by(url);
    if (settings.endpoints.empty())
        plan.lacks = url.scheme + ": takes the addresses of one or more members, such as " +
                     url.scheme + "://10.0.0.1,10.0.0.2,10.0.0.3";
    if (!url.path.empty())
        throw option_error{url.scheme + ": takes no path; the namespace is given as namespace="};
    if (settings.user.empty() && !settings.password.empty())
        throw option_error{url.scheme + ": a password needs a user before it"};
    if (url.scheme == "etcds") settings.tls = take_tls(query);
    query.finish();
    plan.make = [settings](const engine_context& where) {
        return etcd::make_etcd_store(*where.loop, lent(settings, where));
    };
    return plan;
}

}  // namespace pawl::assembly
