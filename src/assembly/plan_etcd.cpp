#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "engines/etcd/store/etcd_store.hpp"

namespace pawl::assembly {

store_plan plan_etcd(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    etcd::etcd_settings settings;
    settings.common = plan.settings;
    settings.user = url.user.value_or("");
    settings.password = query.password().value_or("");
    settings.endpoints = url.endpoints;
    if (settings.endpoints.empty())
        throw option_error{url.scheme + ": takes the addresses of one or more members, such as " +
                           url.scheme + "://10.0.0.1,10.0.0.2,10.0.0.3"};
    if (!url.path.empty())
        throw option_error{url.scheme + ": takes no path; the namespace is given as namespace="};
    if (settings.user.empty() && !settings.password.empty())
        throw option_error{url.scheme + ": a password needs a user before it"};
    if (url.scheme == "etcds") settings.tls = take_tls(query);
    query.finish();
    plan.make = [settings](net::loop& where) { return etcd::make_etcd_store(where, settings); };
    return plan;
}

}  // namespace pawl::assembly
