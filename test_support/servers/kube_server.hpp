// A real API server of Kubernetes for tests, over a real etcd; no nodes, and so no pods.
//
// It is built from its Go modules once (kube_apiserver.recipe), by Go 1.24 or newer.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/etcd_server.hpp"
#include "test_support/servers/process.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace pawl::testing_servers {

struct kube_options {
    bool open_to_all = false;  // listens on all addresses of this machine
};

// Who a kubeconfig of the tests is for. All speak by tokens, but for the one with a certificate.
enum class kube_user {
    admin,
    pawl,         // the service account of deploy/kubernetes/lease-store.yaml in the namespace jobs
    viewer,       // may get, list and watch leases there
    stranger,     // known, and may do nothing
    unknown,      // a token that the server does not know
    certificate,  // an administrator by a client certificate, all of it inline
    exec          // has its credentials made by a program
};

// A kubeconfig for that address, whose contexts are named as the users are, in a folder of this
// process. All servers of a process have the same authority, and a certificate for localhost.
std::filesystem::path kubeconfig_for(const std::string& host, std::uint16_t port);
// The name of a user's context.
std::string context_of(kube_user who);

// Has the namespace `jobs`, in which deploy/kubernetes/lease-store.yaml is applied. Data and port
// stay the same for the life of the object.
class kube_server {
public:
    explicit kube_server(kube_options options = {});

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return server_.pid(); }

    // Each returns when the server answers again or is gone; the API server, not its etcd.
    void restart();
    void crash();
    void start();
    void freeze() const { server_.freeze(); }
    void thaw() const { server_.thaw(); }
    // Killed, wiped, started, and set up anew.
    void lose_data();

    // Asks as an administrator and gives back the body; throws unless the status is a success.
    // `body` is JSON or YAML. PATCH merges.
    std::string ask(const std::string& method, const std::string& path,
                    const std::string& body = {}) const;
    // As `kubectl apply --namespace`: every document of a YAML file, as the server applies it.
    void apply(const std::filesystem::path& file, const std::string& name_space) const;
    // A fresh token of a service account, as a pod gets one.
    std::string token_of(const std::string& name_space, const std::string& account) const;

private:
    void begin();
    void set_up() const;
    std::string run_curl(const std::string& method, const std::string& path,
                         const std::string& type, const std::string& body, int& status) const;

    kube_options options_;
    temporary_folder folder_;
    std::filesystem::path programs_;
    etcd_server data_;
    std::string user_;
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
