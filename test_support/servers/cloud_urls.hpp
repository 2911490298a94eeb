// The URLs at which pawl finds the tests' servers of the clouds, and the credentials that it looks
// for in the environment.
#pragma once

#include "test_support/servers/azurite_server.hpp"
#include "test_support/servers/dynamodb_server.hpp"
#include "test_support/servers/kube_server.hpp"
#include "test_support/servers/mongodb_server.hpp"
#include "test_support/servers/s3_server.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace pawl::testing_servers {

inline void export_keys(const char* id, const char* secret) {
    setenv("AWS_ACCESS_KEY_ID", id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    unsetenv("AWS_SESSION_TOKEN");
}

inline std::string endpoint(std::uint16_t port, const std::string& path = "") {
    return "endpoint=http://127.0.0.1:" + std::to_string(port) + path;
}

inline std::string url_of(const dynamodb_server& server) {
    export_keys("test", "secret");
    return "dynamodb://local/pawl-test?" + endpoint(server.port());
}

inline std::string url_of(const azurite_server& server) {
    setenv("AZURE_STORAGE_KEY", azurite_server::key, 1);
    const std::string account = azurite_server::account;
    return "azblob://" + account + "/pawl-test?" + endpoint(server.port(), "/" + account);
}

inline std::string url_of(const s3_server& server) {
    export_keys(s3_server::key_id, s3_server::key_secret);
    return std::string{"s3://"} + s3_server::bucket + "/leases?region=us-east-1&" +
           endpoint(server.port());
}

inline std::string url_of(const mongodb_server& server) {
    return "mongodb://127.0.0.1:" + std::to_string(server.port()) + "/pawl";
}

inline std::string url_of(const kube_server& server) {
    return "kubernetes://jobs?kubeconfig=" + kubeconfig_for("127.0.0.1", server.port()).string() +
           "&context=" + context_of(kube_user::pawl);
}

}  // namespace pawl::testing_servers
