#include "engines/kubernetes/store/kubernetes_store.hpp"

#include "engines/kubernetes/store/object_names.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"
#include "test_support/servers/kube_server.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace pawl::conformance {
namespace {

class kubernetes_running : public running<testing_servers::kube_server> {
public:
    static std::string_view name() { return "kubernetes"; }
    // Each is several requests, and an API server answers some hundred a second.
    static constexpr std::uint64_t contested_grants = 40;
    // The API server listens on one port for ever, so the file stays right.
    std::string address() const {
        return testing_servers::kubeconfig_for("127.0.0.1", server_.port()).string();
    }
    static kubernetes::kubernetes_settings settings_at(const std::string& kubeconfig,
                                                       store_settings common) {
        kubernetes::kubernetes_settings to;
        to.common = std::move(common);
        const auto found = kubernetes::find_cluster({kubeconfig, ""}, {});
        if (found.has_error()) throw std::runtime_error{found.error().detail};
        to.access = *found;
        // There is one API server, and so one clock. It takes its time beside other tests.
        to.skew = millis{0};
        to.common.timeout = std::max<millis>(to.common.timeout, std::chrono::seconds{10});
        return to;
    }
    // Another program overwrites the text in the annotation.
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        const auto path = "/apis/coordination.k8s.io/v1/namespaces/jobs/leases/" +
                          kubernetes::object_name(name_space, {cas::record_kind::lease, key});
        const auto write = [this, path](const boost::json::value& text) {
            const boost::json::value wanted{
                {"metadata", {{"annotations", {{"pawl.dev/record", text}}}}}};
            server_.ask("PATCH", path, boost::json::serialize(wanted));
        };
        const auto text = boost::json::parse(server_.ask("GET", path))
                              .at_pointer("/metadata/annotations/pawl.dev~1record");
        write("by hand");
        return {nullptr, [write, text](void*) { write(text); }};
    }
};
using kubernetes_engine = engine_on<kubernetes_running, kubernetes::make_kubernetes_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(kubernetes, StoreLaws, kubernetes_engine);

}  // namespace
}  // namespace pawl::conformance
