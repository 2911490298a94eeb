#include "engines/kubernetes/client/cluster_access.hpp"

#include "test_support/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace pawl::kubernetes {
namespace {

using testing::HasSubstr;

class ClusterAccess : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text) const {
        const auto path = folder_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream{path} << text;
        return path.string();
    }
    std::string config(const std::string& name, const std::string& host) const {
        return file(name,
                    "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                    "clusters: [{name: k, cluster: {server: 'https://" +
                        host + "'}}]\n");
    }
    // A pod as its kubelet makes it.
    cluster_environment pod() const {
        file("account/token", "abc\n");
        file("account/ca.crt", "");
        file("account/namespace", "jobs\n");
        cluster_environment here;
        here.service_host = "10.0.0.1";
        here.service_port = "443";
        here.account_folder = (folder_.path() / "account").string();
        return here;
    }

    testing_files::test_folder folder_;
};

std::string host_of(const result<cluster_access>& found) {
    return found.has_value() ? found->host : found.error().detail;
}

TEST_F(ClusterAccess, APodFindsItsClusterByItsAccount) {
    const auto here = pod();
    const auto found = find_cluster({}, here);
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->host, "10.0.0.1");
    EXPECT_EQ(found->port, 443);
    EXPECT_EQ(found->token_file, here.account_folder + "/token");
    EXPECT_EQ(found->tls.ca, here.account_folder + "/ca.crt");
    EXPECT_EQ(found->name_space, "jobs");
}

// As kubectl looks for it.
TEST_F(ClusterAccess, TheFileThatIsNamedWinsOverTheEnvironmentAndThatOverThePod) {
    auto here = pod();
    here.home = (folder_.path() / "home").string();
    config("home/.kube/config", "home");
    EXPECT_EQ(host_of(find_cluster({}, here)), "10.0.0.1");
    here.kubeconfig = config("env", "env");
    EXPECT_EQ(host_of(find_cluster({}, here)), "env");
    EXPECT_EQ(host_of(find_cluster({config("own", "own"), ""}, here)), "own");
    here.kubeconfig.clear();
    EXPECT_EQ(host_of(find_cluster({"", "c"}, here)), "home") << "a context is of a file";
    here.service_host.clear();
    EXPECT_EQ(host_of(find_cluster({}, here)), "home");
}

TEST_F(ClusterAccess, WhatIsMissingIsSaid) {
    const cluster_environment nowhere;
    EXPECT_THAT(host_of(find_cluster({}, nowhere)), HasSubstr("no cluster: "));
    EXPECT_THAT(host_of(find_cluster({"/no/such/file", ""}, nowhere)),
                HasSubstr("cannot read the kubeconfig '/no/such/file'"));
    cluster_environment several;
    several.kubeconfig = "/a:/b";
    EXPECT_THAT(host_of(find_cluster({}, several)), HasSubstr("KUBECONFIG names several files"));
    auto no_token = pod();
    no_token.account_folder += "/none";
    EXPECT_THAT(host_of(find_cluster({}, no_token)), HasSubstr("this pod has no token"));
    auto no_port = pod();
    no_port.service_port = "https";
    EXPECT_THAT(host_of(find_cluster({}, no_port)),
                HasSubstr("invalid KUBERNETES_SERVICE_PORT 'https'"));
}

}  // namespace
}  // namespace pawl::kubernetes
