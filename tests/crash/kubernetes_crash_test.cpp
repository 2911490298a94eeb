// Holders on one API server of Kubernetes that die or freeze, whose server stops, or whose network
// is cut.
#include "base/duration.hpp"
#include "base/percent.hpp"
#include "test_support/servers/kube_server.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

testing_servers::kube_options open_to_all() {
    testing_servers::kube_options options;
    // From a network of its own a node does not reach our loopback address.
    options.open_to_all = true;
    return options;
}

class kubernetes_engine : public testing_servers::kube_server {
public:
    kubernetes_engine() : kube_server{open_to_all()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        const auto file = testing_servers::kubeconfig_for(host, port).string();
        return "kubernetes://jobs?kubeconfig=" + base::percent_encode(file) +
               "&skew=0&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(kubernetes, ServerLaws, kubernetes_engine);

}  // namespace
}  // namespace pawl::crash
