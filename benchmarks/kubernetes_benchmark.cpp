// Acquire and release as Lease objects of an API server, beside its requests alone.
#include "benchmarks/cas_pairs.hpp"
#include "benchmarks/measure.hpp"
#include "engines/kubernetes/store/kubernetes_store.hpp"
#include "engines/kubernetes/store/lease_medium.hpp"
#include "test_support/servers/cloud_urls.hpp"
#include "test_support/servers/kube_server.hpp"

#include <memory>
#include <string>

namespace pawl::benchmarks {
namespace {

using testing_servers::context_of;
using testing_servers::kube_user;

void benchmark_kubernetes() {
    const testing_servers::kube_server server;
    const auto file = testing_servers::kubeconfig_for("127.0.0.1", server.port()).string();
    const auto context = context_of(kube_user::pawl);
    kubernetes::kubernetes_settings settings;
    settings.access = kubernetes::find_cluster({file, context}, {}).value();
    const auto make_medium = [](net::loop& where, const kubernetes::kubernetes_settings& to) {
        kubernetes::medium_settings of_medium;
        of_medium.name_space = to.common.name_space;
        return std::make_shared<kubernetes::lease_medium>(
            where, kubernetes::api::make(where, to.access), of_medium);
    };
    compare_on("Kubernetes (API server and etcd)", settings, make_medium, url_of(server));
}

const benchmark kubernetes_registered{95, "kubernetes", benchmark_kubernetes, asked::by_name};

}  // namespace
}  // namespace pawl::benchmarks
