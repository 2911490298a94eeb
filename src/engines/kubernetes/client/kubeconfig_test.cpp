#include "base/base64.hpp"
#include "engines/kubernetes/client/cluster_access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pawl::kubernetes {
namespace {

using testing::HasSubstr;

// A kubeconfig with one cluster and one user, as kubectl writes them.
std::string config_with(const std::string& cluster, const std::string& user) {
    return "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
           "contexts:\n- context:\n    cluster: near\n    namespace: jobs\n    user: me\n"
           "  name: dev\n- context: {cluster: near, user: ''}\n  name: anonymous\n"
           "clusters:\n- cluster:\n" +
           cluster + "  name: near\nusers:\n- name: me\n  user:\n" + user;
}

const std::string plain_cluster = "    server: https://10.0.0.7:6443\n";
const std::string plain_user = "    token: abc\n";

cluster_access accepted(const std::string& text, const std::string& context = {}) {
    auto read = parse_kubeconfig(text, "/etc/kube/config", context);
    if (read.has_error()) {
        ADD_FAILURE() << read.error().detail;
        return {};
    }
    return *std::move(read);
}

std::string rejected(const std::string& text, const std::string& context = {}) {
    const auto read = parse_kubeconfig(text, "/etc/kube/config", context);
    if (read.has_value()) {
        ADD_FAILURE() << "accepted";
        return {};
    }
    EXPECT_EQ(read.error().code, errc::rejected);
    EXPECT_THAT(read.error().detail, HasSubstr("'/etc/kube/config'"));
    EXPECT_EQ(read.error().detail.find('\n'), std::string::npos);
    return read.error().detail;
}

TEST(Kubeconfig, TheCurrentContextSaysWhichClusterWhichUserAndWhichNamespace) {
    const auto access = accepted(config_with(plain_cluster, plain_user));
    EXPECT_TRUE(access.secure);
    EXPECT_EQ(access.host, "10.0.0.7");
    EXPECT_EQ(access.port, 6443);
    EXPECT_EQ(access.token, "abc");
    EXPECT_EQ(access.name_space, "jobs");
}

TEST(Kubeconfig, AnotherContextCanBeChosen) {
    const auto access = accepted(config_with(plain_cluster, plain_user), "anonymous");
    EXPECT_EQ(access.token, "");
    EXPECT_EQ(access.name_space, "");
    EXPECT_THAT(rejected(config_with(plain_cluster, plain_user), "prod"),
                HasSubstr("there is no context 'prod'"));
}

TEST(Kubeconfig, JsonIsYamlToo) {
    const auto access = accepted(
        R"({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k"}}],
            "clusters": [{"name": "k", "cluster": {"server": "https://k.example"}}]})");
    EXPECT_EQ(access.host, "k.example");
    EXPECT_EQ(access.port, 443);
}

// Goal: an address in every form that servers have. Method: one of each.
TEST(Kubeconfig, TheServerIsAUrl) {
    struct expected {
        std::string host;
        std::uint16_t port;
        std::string path;
        bool secure;
    };
    const std::vector<std::pair<std::string, expected>> cases{
        {"https://k.example", {"k.example", 443, "", true}},
        {"https://k.example/", {"k.example", 443, "", true}},
        {"https://[fd00::1]:6443", {"fd00::1", 6443, "", true}},
        {"https://[fd00::1]", {"fd00::1", 443, "", true}},
        {"https://rancher.example/k8s/clusters/c-1/",
         {"rancher.example", 443, "/k8s/clusters/c-1", true}},
        {"http://127.0.0.1:8001", {"127.0.0.1", 8001, "", false}}};
    for (const auto& [server, want] : cases) {
        const auto access = accepted(config_with("    server: " + server + "\n", plain_user));
        EXPECT_EQ(access.host, want.host) << server;
        EXPECT_EQ(access.port, want.port) << server;
        EXPECT_EQ(access.path, want.path) << server;
        EXPECT_EQ(access.secure, want.secure) << server;
    }
    for (const std::string bad :
         {"k.example", "https://", "https://k:0", "https://k:x", "https://me@k"})
        EXPECT_THAT(rejected(config_with("    server: " + bad + "\n", plain_user)),
                    HasSubstr("invalid server '" + bad + "'; expected https://host[:port]"));
}

// Goal: no token can be read on the way. Method: a plain server, near and far, and behind a proxy,
// which is on the way also to this machine.
TEST(Kubeconfig, ATokenIsNotSentInTheClear) {
    const auto server = [](const std::string& url) { return "    server: " + url + "\n"; };
    const std::string file_user = "    tokenFile: token\n";
    for (const std::string far : {"http://10.0.0.7:8080", "http://127.0.0.1.far.example"})
        for (const auto& user : {plain_user, file_user})
            EXPECT_THAT(rejected(config_with(server(far), user)),
                        HasSubstr("a token is not sent in the clear to http://"));
    const auto by_proxy = server("http://localhost:8001") + "    proxy-url: http://proxy:3128\n";
    EXPECT_THAT(rejected(config_with(by_proxy, plain_user)), HasSubstr("in the clear"));
    EXPECT_EQ(accepted(config_with(server("http://localhost:8001"), plain_user)).token, "abc");
    EXPECT_FALSE(
        accepted(config_with(server("http://10.0.0.7:8080"), plain_user), "anonymous").secure);
}

TEST(Kubeconfig, FilesAreRelativeToTheKubeconfig) {
    const auto access = accepted(config_with(
        plain_cluster + "    certificate-authority: pki/ca.crt\n    tls-server-name: kube\n"
                        "    proxy-url: http://proxy:3128\n",
        "    client-certificate: /abs/me.crt\n    client-key: me.key\n    tokenFile: token\n"));
    EXPECT_EQ(access.tls.ca, "/etc/kube/pki/ca.crt");
    EXPECT_EQ(access.tls.server_name, "kube");
    EXPECT_EQ(access.proxy, "http://proxy:3128");
    EXPECT_EQ(access.tls.certificate, "/abs/me.crt");
    EXPECT_EQ(access.tls.key, "/etc/kube/me.key");
    EXPECT_EQ(access.token_file, "/etc/kube/token");
}

TEST(Kubeconfig, InlineDataIsPemInBase64AndWinsOverTheFile) {
    const std::string pem = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
    const auto data = base::to_base64("Bag Attributes\n" + pem);
    const auto access = accepted(config_with(
        plain_cluster +
            "    certificate-authority: ca.crt\n    certificate-authority-data: " + data + "\n",
        "    client-certificate-data: |\n      " + data.substr(0, 20) + "\n      " +
            data.substr(20) + "\n    client-key-data: " + data + "\n"));
    EXPECT_EQ(access.tls.ca, pem);
    EXPECT_EQ(access.tls.certificate, pem);
    EXPECT_EQ(access.tls.key, pem);
    EXPECT_THAT(rejected(config_with(plain_cluster + "    certificate-authority-data: c2VjcmV0\n",
                                     plain_user)),
                HasSubstr("'certificate-authority-data' is not PEM text in base64"));
}

// Goal: what pawl does not do is said in one line that says what would do, without the secret.
TEST(Kubeconfig, WhatIsNotSupportedIsSaid) {
    EXPECT_THAT(rejected(config_with(plain_cluster, "    exec:\n      command: aws\n")),
                HasSubstr("user 'me' gets its credentials from a program (exec)"));
    EXPECT_THAT(rejected(config_with(plain_cluster, "    auth-provider: {name: gcp}\n")),
                HasSubstr("(auth-provider)"));
    const auto basic =
        rejected(config_with(plain_cluster, "    username: a\n    password: s3cret\n"));
    EXPECT_THAT(basic, HasSubstr("has a password"));
    EXPECT_EQ(basic.find("s3cret"), std::string::npos);
    EXPECT_THAT(rejected(config_with(plain_cluster, "    as: root\n")), HasSubstr("impersonates"));
    EXPECT_THAT(
        rejected(config_with(plain_cluster + "    insecure-skip-tls-verify: true\n", plain_user)),
        HasSubstr("'insecure-skip-tls-verify' is not supported"));
    EXPECT_THAT(rejected(config_with(plain_cluster, "    client-certificate: a\n")),
                HasSubstr("needs client-certificate and client-key together"));
}

TEST(Kubeconfig, WhatIsNoKubeconfigIsSaidWithItsLine) {
    EXPECT_THAT(rejected("a: [b\nc: d"), HasSubstr("invalid YAML: "));
    EXPECT_THAT(rejected("just words"), HasSubstr("it holds no mapping"));
    EXPECT_THAT(rejected("kind: Config"), HasSubstr("it has no current-context"));
    EXPECT_THAT(rejected("current-context: c"), HasSubstr("there is no context 'c'"));
    EXPECT_THAT(rejected(config_with("    server: [a]\n", plain_user)),
                HasSubstr("'server' is not a string, in line "));
}

}  // namespace
}  // namespace pawl::kubernetes
