// Where the API server of a cluster is, and by what it knows us: from a kubeconfig, or from what a
// pod finds in its own files.
#pragma once

#include "net/tls_settings.hpp"

#include <pawl/errors.hpp>

#include <cstdint>
#include <string>

namespace pawl::kubernetes {

struct cluster_access {
    bool secure = true;
    std::string host;
    std::uint16_t port = 443;
    std::string path;  // before every target, as behind a gateway: empty, or begins with '/'
    net::tls_settings tls{};
    std::string proxy{};       // empty: what the environment says
    std::string token{};       // empty: none, or the file's
    std::string token_file{};  // is read again, as a pod's token is replaced every hour
    std::string name_space{};  // of Kubernetes; empty: none is named
};

// What the environment of a process says about clusters.
struct cluster_environment {
    std::string kubeconfig;  // KUBECONFIG
    std::string home;
    std::string service_host;    // KUBERNETES_SERVICE_HOST: this is a pod
    std::string service_port;    // KUBERNETES_SERVICE_PORT
    std::string account_folder;  // where a pod finds its token

    static cluster_environment of_process();
};

// Which kubeconfig is meant, and what of it.
struct cluster_choice {
    std::string kubeconfig;  // a file; empty: the environment says
    std::string context;     // of it; empty: its current one
};

// As kubectl does: the file that is named, KUBECONFIG, the pod's own account, ~/.kube/config.
// Failures are `rejected`, and name the file.
result<cluster_access> find_cluster(const cluster_choice& wanted, const cluster_environment& here);

// Of a pod.
result<cluster_access> service_account(const cluster_environment& here);

// `file` is where the text stands: for messages, and for paths that are relative to it. A program
// that makes credentials (exec, auth-provider) is not run, but rejected, and so is a server whose
// certificate is not to be verified.
result<cluster_access> parse_kubeconfig(const std::string& text, const std::string& file,
                                        const std::string& context);

}  // namespace pawl::kubernetes
