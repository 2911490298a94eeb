#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/ascii.hpp"
#include "engines/kubernetes/store/kubernetes_store.hpp"

#include <algorithm>

namespace pawl::assembly {
namespace {

constexpr std::size_t namespace_bytes_max = 63;

// As Kubernetes names namespaces (RFC 1123).
bool is_namespace(const std::string& name) {
    const auto fits = [](char letter) {
        return letter == '-' || base::is_digit(letter) || (letter >= 'a' && letter <= 'z');
    };
    return !name.empty() && name.size() <= namespace_bytes_max && name.front() != '-' &&
           name.back() != '-' && std::all_of(name.begin(), name.end(), fits);
}

std::string namespace_in(const base::store_url& url) {
    const bool plain =
        url.user || url.password || url.endpoints.size() > 1 ||
        (!url.endpoints.empty() && (url.endpoints[0].port != 0 || !url.path.empty()));
    const auto name = url.endpoints.empty() ? url.path : url.endpoints[0].host;
    if (plain || (!name.empty() && !is_namespace(name)))
        throw option_error{"kubernetes: invalid namespace of Kubernetes '" + name +
                           "'; expected kubernetes://NAMESPACE, the address is in the kubeconfig"};
    return name;
}

}  // namespace

store_plan plan_kubernetes(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    const auto name_space = namespace_in(url);
    kubernetes::kubernetes_settings settings;
    settings.common = plan.settings;
    settings.skew = query.duration("skew");
    settings.renew_time_skew = query.duration("renew_time_skew");
    kubernetes::cluster_choice wanted;
    wanted.kubeconfig = query.text("kubeconfig").value_or("");
    wanted.context = query.text("context").value_or("");
    query.finish();
    const auto found =
        kubernetes::find_cluster(wanted, kubernetes::cluster_environment::of_process());
    if (found.has_error()) throw option_error{"kubernetes: " + found.error().detail};
    settings.access = *found;
    if (!name_space.empty()) settings.access.name_space = name_space;
    if (settings.access.name_space.empty()) settings.access.name_space = "default";
    plan.make = [settings](net::loop& where) {
        return kubernetes::make_kubernetes_store(where, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
