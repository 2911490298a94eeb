// What `pawl doctor` says of a cluster: its version, what we may do there, its certificate.
#include "engines/kubernetes/store/lease_medium.hpp"

#include <boost/json.hpp>
#include "base/comma_list.hpp"

#include <array>

namespace pawl::kubernetes {
namespace {

namespace json = boost::json;

std::string version_in(const std::string& body) {
    boost::system::error_code error;
    const auto document = json::parse(body, error);
    const auto* told = error ? nullptr : document.if_object();
    const auto* version = told == nullptr ? nullptr : told->if_contains("gitVersion");
    return version != nullptr && version->is_string()
               ? "Kubernetes " + std::string{version->get_string()}
               : "Kubernetes";
}

std::string review_of(const std::string& name_space, verb what) {
    return json::serialize(json::object{{"apiVersion", "authorization.k8s.io/v1"},
                                        {"kind", "SelfSubjectAccessReview"},
                                        {"spec",
                                         {{"resourceAttributes",
                                           {{"namespace", name_space},
                                            {"group", "coordination.k8s.io"},
                                            {"resource", "leases"},
                                            {"verb", name_of(what)}}}}}});
}

bool is_allowed(const std::string& body) {
    boost::system::error_code error;
    const auto document = json::parse(body, error);
    const auto* allowed = error ? nullptr : document.find_pointer("/status/allowed", error);
    return allowed != nullptr && allowed->is_bool() && allowed->get_bool();
}

}  // namespace

// Such as "create, delete"; empty: none is missing.
async<std::string> lease_medium::missing_permissions(instant until) {
    constexpr std::array needed{verb::get,    verb::list,  verb::watch,
                                verb::create, verb::patch, verb::erase};
    std::string missing;
    for (const auto what : needed) {
        api_request wanted{verb::review, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           review_of(server_->name_space(), what)};
        auto asking = server_->ask(std::move(wanted), until);
        const auto told = co_await std::move(asking);
        if (told.has_error()) co_return told.error();
        if (told->status != 201) co_return server_->rejection(verb::review, *told);
        if (is_allowed(told->body)) continue;
        base::add_to_list(missing, name_of(what));
    }
    co_return missing;
}

async<examination> lease_medium::examine(instant until) {
    const auto self = shared_from_this();
    examination found;
    api_request wanted{verb::get, "/version"};
    auto asking = server_->ask(std::move(wanted), until);
    const auto told = co_await std::move(asking);
    if (told.has_error()) co_return told.error();
    const auto clock = hear(*told);
    found.version = told->status == 200 ? version_in(told->body) : "Kubernetes";
    if (clock) found.clock = clock->at.count();
    found.fence_statement =
        "PATCH of the Lease pawl-fence-… with its metadata.resourceVersion "
        "(409 Conflict if another was quicker)";
    if (auto tls = server_->examine_tls()) found.findings.push_back(*std::move(tls));
    auto reviewing = missing_permissions(until);
    const auto missing = co_await std::move(reviewing);
    const auto of = "leases in the namespace '" + server_->name_space() + "'";
    if (missing.has_error())
        found.findings.push_back(
            {severity::warn, "privileges", "cannot be checked: " + missing.error().detail});
    else if (!missing->empty())
        found.findings.push_back({severity::fail, "privileges",
                                  "no permission to " + *missing + " " + of +
                                      ": apply the Role of deploy/kubernetes/lease-store.yaml"});
    else
        found.findings.push_back(
            {severity::ok, "privileges", "everything that is needed on " + of});
    co_return found;
}

}  // namespace pawl::kubernetes
