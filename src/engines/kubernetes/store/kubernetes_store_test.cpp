// The store on a real API server: what others see of it, other programs that want the same Lease,
// and the ways in which a cluster turns it away.
#include "engines/kubernetes/store/kubernetes_store.hpp"

#include "engines/kubernetes/store/object_names.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/folder.hpp"
#include "test_support/servers/kube_server.hpp"
#include "test_support/servers/set_up_server.hpp"

#include <boost/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace pawl::kubernetes {
namespace {

using namespace std::chrono_literals;
using namespace conformance;
using testing_servers::context_of;
using testing_servers::kube_server;
using testing_servers::kube_user;
using testing_servers::kubeconfig_for;

class KubernetesStore : public testing::Test {
protected:
    KubernetesStore() {
        static std::atomic<int> tests{0};
        name_space_ = "test-" + std::to_string(++tests);
    }
    static void SetUpTestSuite() { server_ = std::make_unique<kube_server>(); }
    static void TearDownTestSuite() { server_.reset(); }
    static kube_server& server() { return *server_; }

    kubernetes_settings settings_of(kube_user who) const {
        kubernetes_settings to;
        to.common.name_space = name_space_;
        // It takes its time beside other tests.
        to.common.timeout = 20s;
        const auto file = kubeconfig_for("127.0.0.1", server_->port()).string();
        const auto found = find_cluster({file, context_of(who)}, {});
        if (found.has_error()) throw std::runtime_error{found.error().detail};
        to.access = *found;
        to.skew = 0ms;
        return to;
    }
    static client open(const kubernetes_settings& settings) {
        return client{[&](net::loop& where) { return make_kubernetes_store(where, settings); }};
    }
    client open(kube_user who = kube_user::pawl) const { return open(settings_of(who)); }

    std::string object_of(const std::string& key) const {
        return object_name(name_space_, {cas::record_kind::lease, key});
    }
    std::string path_of(const std::string& key) const {
        return "/apis/coordination.k8s.io/v1/namespaces/jobs/leases/" + object_of(key);
    }
    boost::json::value seen(const std::string& key) const {
        return boost::json::parse(server_->ask("GET", path_of(key)));
    }

    std::string name_space_;

private:
    static inline std::unique_ptr<kube_server> server_;
};

// client-go's own elector on one Lease; it gives it back when it is stopped.
class elector {
public:
    elector(const kube_server& server, const std::string& lease, const std::string& identity,
            std::chrono::seconds duration)
        : user_{testing_servers::server_user({"etcd"})},
          kubeconfig_{folder_.path() / "kubeconfig"},
          log_{folder_.path() / "log"} {
        testing_servers::hand_over(folder_.path(), user_);
        // As an administrator: client-go replaces whole objects, which is another verb than pawl's.
        std::ifstream in{kubeconfig_for("127.0.0.1", server.port())};
        std::ostringstream text;
        text << in.rdbuf();
        const std::string ours = "current-context: pawl";
        auto config = text.str();
        config.replace(config.find(ours), ours.size(), "current-context: admin");
        std::ofstream{kubeconfig_} << config;
        testing_servers::hand_over(kubeconfig_, user_);
        process_ = testing_servers::process{
            {(testing_servers::set_up_server("kube_apiserver") / "elector").string(),
             kubeconfig_.string(), "jobs", lease, identity, std::to_string(duration.count())},
            user_,
            log_};
    }

    bool leads() const {
        std::ifstream in{log_};
        std::ostringstream text;
        text << in.rdbuf();
        return text.str().find("leading\n") != std::string::npos;
    }
    void wait_until_it_leads() const {
        testing_servers::wait_until_ready(process_, log_, [this] { return leads(); });
    }
    void stop() { process_.stop(); }
    void kill() { process_.kill(); }

private:
    testing_servers::temporary_folder folder_;
    std::string user_;
    std::filesystem::path kubeconfig_;
    std::filesystem::path log_;
    testing_servers::process process_;
};

// ---- What others see

TEST_F(KubernetesStore, KubectlSeesTheHolder) {
    auto mine = open();
    const auto token = mine.granted(fresh_claim("jobs/Nightly", 30s, "node-a:7"));
    auto lease = seen("jobs/Nightly");
    EXPECT_EQ(lease.at_pointer("/spec/holderIdentity"), "node-a:7");
    EXPECT_EQ(lease.at_pointer("/spec/leaseDurationSeconds"), 30);
    EXPECT_EQ(lease.at_pointer("/spec/leaseTransitions"), 0);
    EXPECT_EQ(lease.at_pointer("/metadata/annotations/pawl.dev~1key"), "jobs/Nightly");
    EXPECT_EQ(lease.at_pointer("/metadata/labels/pawl.dev~1namespace"),
              boost::json::string_view{name_space_});
    const auto renewed = lease.at_pointer("/spec/renewTime");
    EXPECT_EQ(mine.renew(lease_of("jobs/Nightly", token)), renewal::renewed);
    EXPECT_NE(seen("jobs/Nightly").at_pointer("/spec/renewTime"), renewed);
    EXPECT_TRUE(yes(mine.release("jobs/Nightly", token)));
    EXPECT_EQ(seen("jobs/Nightly").at_pointer("/spec/holderIdentity"), "");
    mine.granted(fresh_claim("jobs/Nightly", 30s, "node-b:9"));
    EXPECT_EQ(seen("jobs/Nightly").at_pointer("/spec/leaseTransitions"), 1);
}

// Goal: what others keep in an object stays there.
TEST_F(KubernetesStore, ForeignLabelsAndAnnotationsAreKept) {
    auto mine = open();
    const auto token = mine.granted(fresh_claim("key"));
    server().ask("PATCH", path_of("key"), R"({"metadata": {"annotations": {"team": "red"}}})");
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::renewed);
    EXPECT_EQ(seen("key").at_pointer("/metadata/annotations/team"), "red");
}

TEST_F(KubernetesStore, AnObjectThatWasDeletedByHandIsALostLease) {
    auto mine = open();
    const auto token = mine.granted(fresh_claim("key"));
    server().ask("DELETE", path_of("key"));
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::lost);
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), 0u);
}

// ---- Other programs that want the same Lease

TEST_F(KubernetesStore, AnElectorWaitsForPawlAndTakesOverWhatItReleased) {
    auto mine = open();
    // Much longer than a stall of this machine; a release leaves one second of it.
    const auto token = mine.granted(fresh_claim("leader", 15s, "node-a:7"));
    elector peer{server(), object_of("leader"), "peer", 15s};
    for (int i = 0; i < 10; ++i) {
        mine.pass(500ms);
        EXPECT_EQ(mine.renew(lease_of("leader", token, 15s)), renewal::renewed);
        EXPECT_FALSE(peer.leads());
    }
    EXPECT_TRUE(yes(mine.release("leader", token)));
    peer.wait_until_it_leads();
    const auto told = mine.rejected(fresh_claim("leader"));
    EXPECT_EQ(told.owner, "peer");
    EXPECT_EQ(told.reason, busy_reason::held);
    EXPECT_EQ(mine.renew(lease_of("leader", token, 15s)), renewal::lost);
    // It gives the Lease back, and what was pawl's is still there.
    peer.stop();
    EXPECT_GT(mine.granted(fresh_claim("leader")), token);
    EXPECT_EQ(seen("leader").at_pointer("/metadata/annotations/pawl.dev~1key"), "leader");
}

// Goal: an elector that dies is waited for as long as it asked to be, and no longer. Method: it
// holds the key for longer than a stall of this machine, or pawl would be granted it at once.
TEST_F(KubernetesStore, PawlWaitsForAnElectorAndOutlivesIt) {
    auto mine = open();
    constexpr auto duration = 10s;
    elector peer{server(), object_of("leader"), "peer", duration};
    peer.wait_until_it_leads();
    // From the first sight of it on, at the earliest, pawl counts.
    const auto looked = lease_clock::now();
    EXPECT_EQ(mine.rejected(fresh_claim("leader")).owner, "peer");
    peer.kill();
    const auto died = lease_clock::now();
    const auto wanted = fresh_claim("leader");
    for (;;) {
        const auto answer = mine.acquire(wanted);
        ASSERT_TRUE(answer.has_value()) << answer.error().detail;
        if (std::holds_alternative<grant>(*answer)) break;
        ASSERT_LT(lease_clock::now() - died, duration + 30s);
        mine.pass(200ms);
    }
    EXPECT_GT(lease_clock::now() - looked, duration);
}

// Goal: a claim that is given up makes no other program wait longer. Method: the Lease is another's
// when a claim on it is withdrawn, which moves its version and nothing that electors look at.
TEST_F(KubernetesStore, AWithdrawalLeavesTheSpecOfAnotherHolderAlone) {
    auto mine = open();
    mine.granted(fresh_claim("leader"));
    server().ask("PATCH", path_of("leader"),
                 R"({"spec": {"holderIdentity": "peer", "leaseDurationSeconds": 3600,
                     "renewTime": "2026-01-01T00:00:00.000000Z"}})");
    const auto before = seen("leader");
    const auto given_up = fresh_claim("leader");
    mine.rejected(given_up);
    EXPECT_FALSE(yes(mine.withdraw({"leader", given_up.id})));
    const auto after = seen("leader");
    EXPECT_EQ(after.at("spec"), before.at("spec"));
    EXPECT_NE(after.at_pointer("/metadata/resourceVersion"),
              before.at_pointer("/metadata/resourceVersion"));
    EXPECT_EQ(mine.rejected(fresh_claim("leader")).owner, "peer");
}

// A command that has seen nothing before goes by the time that the peer wrote, if it may.
TEST_F(KubernetesStore, AOneShotGoesByTheRenewTimeWhereThatIsReliable) {
    auto first = open();
    const auto token = first.granted(fresh_claim("leader"));
    server().ask("PATCH", path_of("leader"),
                 R"({"spec": {"holderIdentity": "peer", "leaseDurationSeconds": 3600,
                     "renewTime": "2026-01-01T00:00:00.000000Z"}})");
    EXPECT_EQ(open().rejected(fresh_claim("leader")).owner, "peer");
    auto trusting = settings_of(kube_user::pawl);
    trusting.renew_time_skew = 5s;
    EXPECT_GT(open(trusting).granted(fresh_claim("leader")), token);
}

// ---- What a cluster rejects

TEST_F(KubernetesStore, AMissingPermissionIsNamed) {
    auto owner = open();
    const auto token = owner.granted(fresh_claim("key"));
    auto viewer = open(kube_user::viewer);
    EXPECT_EQ(viewer.show("key").holder, token);
    EXPECT_EQ(viewer.all("", 10).size(), 1u);
    expect_failure(viewer.acquire(fresh_claim("other")), errc::denied,
                   "no permission to create leases (coordination.k8s.io) in the namespace 'jobs'");
    expect_failure(viewer.release("key", token), errc::denied, "no permission to patch leases");
    expect_failure(open(kube_user::stranger).inspect("key"), errc::denied,
                   "no permission to get leases");
}

TEST_F(KubernetesStore, WhoIsNotKnownIsDenied) {
    expect_failure(open(kube_user::unknown).inspect("key"), errc::denied, "is not accepted");
}

TEST_F(KubernetesStore, AClientCertificateThatStandsInTheKubeconfigIsTaken) {
    EXPECT_GT(number(open(kube_user::certificate).granted(fresh_claim("key"))), 0u);
}

TEST_F(KubernetesStore, AMissingNamespaceIsNamed) {
    auto settings = settings_of(kube_user::admin);
    settings.access.name_space = "nowhere";
    expect_failure(open(settings).acquire(fresh_claim("key")), errc::rejected,
                   "the namespace 'nowhere' does not exist; create it");
}

TEST_F(KubernetesStore, AnotherAuthorityIsDenied) {
    const testing_servers::certificates others;
    auto settings = settings_of(kube_user::pawl);
    settings.access.tls.ca = others.ca();
    expect_failure(open(settings).inspect("key"), errc::denied, "certificate");
}

TEST_F(KubernetesStore, AServerThatIsNoKubernetesIsSaid) {
    const std::vector<std::string> lines{
        "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nDate: Tue, 24 Nov 2026 23:00:00 GMT\r\n"
        "\r\nnot found"};
    const testing_faults::canned_server web{lines};
    auto settings = settings_of(kube_user::pawl);
    settings.access.secure = false;
    settings.access.port = web.port();
    expect_failure(open(settings).inspect("key"), errc::protocol, "there is no API of leases");
}

TEST_F(KubernetesStore, AForeignTextInTheRecordIsUnreadable) {
    auto mine = open();
    const std::vector<held_lease> both{lease_of("key", mine.granted(fresh_claim("key"))),
                                       lease_of("other", mine.granted(fresh_claim("other")))};
    server().ask("PATCH", path_of("key"),
                 R"({"metadata": {"annotations": {"pawl.dev/record": "by hand"}}})");
    const auto answers = mine.renew(both);
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    EXPECT_EQ(*answers, (std::vector{renewal::unknown, renewal::renewed}));
    expect_failure(mine.inspect("key"), errc::rejected, "another program has written it");
}

// ---- In a pod

// Goal: a pod's account is all that is needed, and a token that was replaced is found. Method: the
// files as the kubelet makes them; first with a token that the server does not know.
TEST_F(KubernetesStore, APodUsesItsAccountAndReadsItsTokenAgain) {
    const testing_files::test_folder account;
    const auto kubeconfig = settings_of(kube_user::pawl);
    std::filesystem::copy_file(kubeconfig.access.tls.ca, account.path() / "ca.crt");
    account.write("namespace", "jobs");
    account.write("token", server().token_of("jobs", "pawl-leases"));
    cluster_environment here;
    here.service_host = "127.0.0.1";
    here.service_port = std::to_string(server().port());
    here.account_folder = account.path().string();
    auto settings = kubeconfig;
    const auto found = find_cluster({}, here);
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    settings.access = *found;
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("key"));

    account.write("token", "replaced-by-one-that-is-unknown");
    auto later = open(settings);
    expect_failure(later.inspect("key"), errc::denied, "is not accepted");
    account.write("token", server().token_of("jobs", "pawl-leases"));
    EXPECT_EQ(later.show("key").holder, token) << "read again on 401, not after a minute";
}

// What deploy/ says to a cluster is what a cluster takes, to the letter.
TEST_F(KubernetesStore, TheExamplesAreApplied) {
    const std::filesystem::path examples{PAWL_DEPLOY_FOLDER "/kubernetes"};
    for (const auto* file : {"lease-store.yaml", "cronjob-leases.yaml", "singleton-leases.yaml",
                             "cronjob.yaml", "singleton.yaml"})
        EXPECT_NO_THROW(server().apply(examples / file, "jobs")) << file;
    const auto pod = boost::json::parse(
        server().ask("GET", "/apis/apps/v1/namespaces/jobs/deployments/publisher"));
    EXPECT_EQ(pod.at_pointer("/spec/template/spec/serviceAccountName"), "pawl-leases");
}

}  // namespace
}  // namespace pawl::kubernetes
