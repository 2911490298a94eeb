// The ways in which an etcd, or what was taken for one, turns a store away: one clear line each.
#include "engines/etcd/store/make_etcd_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/tls_laws.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/servers/etcd_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::etcd {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using testing_faults::canned_server;
using testing_servers::etcd_options;
using testing_servers::etcd_server;

etcd_settings on_port(std::uint16_t port) {
    etcd_settings settings;
    settings.endpoints = {{"127.0.0.1", port}};
    settings.common.timeout = 20s;
    return settings;
}

client open(const etcd_settings& settings) {
    return client{[&](net::loop& where) { return make_etcd_store(where, settings); }};
}

void expect_rejection(const etcd_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    const auto got = mine.acquire(fresh_claim("key"));
    conformance::expect_failure(got, code, words);
    const auto told = conformance::failure_of(got);
    EXPECT_TRUE(told.detail.starts_with(place_of(settings.endpoints.front()))) << told.detail;
    if (!settings.password.empty()) {
        EXPECT_EQ(told.detail.find(settings.password), std::string::npos);
    }
}

// ---- Logins

// The role of docs/stores/etcd.md.
etcd_options with_logins() {
    etcd_options options;
    options.root_password = "r00t-pw";
    options.users_and_roles = {
        {"role", "add", "locker"},
        {"role", "grant-permission", "locker", "readwrite", "--prefix=true", "pawl/"},
        {"user", "add", "alice:s3cret"},
        {"user", "grant-role", "alice", "locker"},
        {"role", "add", "reader"},
        {"role", "grant-permission", "reader", "read", "--prefix=true", "pawl/"},
        {"user", "add", "bob:s3cret"},
        {"user", "grant-role", "bob", "reader"}};
    return options;
}

class EtcdWithLogins : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<etcd_server>(with_logins()); }
    static void TearDownTestSuite() { server_.reset(); }

    static etcd_server& server() { return *server_; }
    static etcd_settings as(const std::string& user, const std::string& password) {
        auto settings = on_port(server_->port());
        settings.user = user;
        settings.password = password;
        return settings;
    }

private:
    static inline std::unique_ptr<etcd_server> server_;
};

TEST_F(EtcdWithLogins, AWrongOrMissingPasswordIsDeniedAtOnce) {
    expect_rejection(on_port(server().port()), errc::denied, "user name is empty");
    auto wrong = as("alice", "wrong-password");
    wrong.common.timeout = 30s;
    const auto asked = lease_clock::now();
    expect_rejection(wrong, errc::denied, "authentication failed");
    EXPECT_LT(lease_clock::now() - asked, 10s);
    expect_rejection(as("nobody", "s3cret"), errc::denied, "authentication failed");
}

// Goal: the documentation names enough privileges. Method: every verb, as that user.
TEST_F(EtcdWithLogins, TheDocumentedRoleMayDoEverything) {
    auto mine = open(as("alice", "s3cret"));
    const auto token = mine.granted(fresh_claim("key", 30s));
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token, 30s)), renewal::renewed);
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token, 60s)), renewal::renewed);
    auto woke = mine.start_waiting("key", token, 10s);
    EXPECT_TRUE(*mine.force_release("key", token, 0ms));
    EXPECT_EQ(woke.get(), conformance::wait_end::changed);
    auto once = fresh_claim("key", 30s);
    once.occurrence = conformance::occurrence_in(0s);
    const auto next = mine.granted(once);
    release_options cooldown;
    cooldown.min_hold = 1ms;
    cooldown.done = once.occurrence;
    EXPECT_TRUE(*mine.release("key", next, cooldown));
    EXPECT_FALSE(*mine.withdraw({"key", "some-id"}));
    EXPECT_EQ(mine.all("", 10).size(), 1u);
    EXPECT_TRUE(mine.fence("resource", next, fence_rule::reject_older)->accepted);
}

TEST_F(EtcdWithLogins, AMissingPrivilegeIsDeniedAndNamed) {
    expect_rejection(as("bob", "s3cret"), errc::denied, "permission denied");
    auto elsewhere = as("alice", "s3cret");
    elsewhere.common.name_space = "other";
    expect_rejection(elsewhere, errc::denied, "permission denied");
    auto reader = open(as("bob", "s3cret"));
    EXPECT_TRUE(reader.inspect("key").has_value());
    auto stranger = open(elsewhere);
    EXPECT_EQ(stranger.wait_change("key", fence_token{1}, 5s), conformance::wait_end::failed);
}

// Goal: a login that the servers have forgotten is made again without a word. Method: simple tokens
// live in a member's memory; restart it.
TEST_F(EtcdWithLogins, ALoginThatRanOutIsMadeAgain) {
    auto mine = open(as("alice", "s3cret"));
    const auto token = mine.granted(fresh_claim("again", 60s));
    server().restart();
    EXPECT_EQ(mine.show("again").holder, token);
    EXPECT_EQ(mine.renew(conformance::lease_of("again", token, 60s)), renewal::renewed);
    EXPECT_TRUE(*mine.release("again", token));
}

// Goal: while one request logs in again no other is sent without a login. Method: tokens that end
// after three seconds, and many who ask over one connection for longer than two of these last.
TEST(EtcdLogins, ATokenThatEndsDeniesNothing) {
    const testing_servers::temporary_folder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
    const auto key = folder.path() / "key";
    std::ofstream{key} << "a key of a test, for tokens by HMAC\n";
    auto options = with_logins();
    options.more = {"--auth-token=jwt,sign-method=HS256,ttl=3s,priv-key=" + key.string()};
    etcd_server server{options};
    auto settings = on_port(server.port());
    settings.user = "alice";
    settings.password = "s3cret";
    auto mine = open(settings);
    mine.granted(fresh_claim("first", 60s));
    const auto end = lease_clock::now() + 8s;
    const auto ask = [&](int who) {
        int answers = 0;
        for (const auto key_of_mine = "key/" + std::to_string(who); lease_clock::now() < end;) {
            const auto token = mine.granted(fresh_claim(key_of_mine, 60s));
            EXPECT_TRUE(*mine.release(key_of_mine, token));
            ++answers;
        }
        return answers;
    };
    std::vector<std::future<int>> all;
    for (int who = 0; who < 16; ++who) all.push_back(std::async(std::launch::async, ask, who));
    for (auto& one : all) EXPECT_GT(one.get(), 0);
}

TEST(EtcdRejection, ALoginIsNotNeededWhereTheServerDoesNotAskForIt) {
    etcd_server server;
    auto settings = on_port(server.port());
    settings.user = "alice";
    settings.password = "s3cret";
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
}

// ---- Wrong peers and wrong data

TEST(EtcdRejection, AnHttpServerThatIsNoEtcdIsNotTakenForOne) {
    canned_server server{{"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"}};
    auto settings = on_port(server.port());
    settings.common.timeout = 5s;
    expect_rejection(settings, errc::protocol, "does not speak etcd's protocol");
    canned_server other{{"-ERR unknown command\r\n"}};
    settings.endpoints = {{"127.0.0.1", other.port()}};
    expect_rejection(settings, errc::protocol, "does not speak etcd's protocol");
}

TEST(EtcdRejection, AnUnresponsiveServerIsUnreachableAfterTheTimeout) {
    canned_server server{{}};
    auto settings = on_port(server.port());
    settings.common.timeout = 200ms;
    const auto asked = lease_clock::now();
    expect_rejection(settings, errc::unreachable, "no answer within 200ms");
    EXPECT_LT(lease_clock::now() - asked, 10s);
}

TEST(EtcdRejection, AClosedPortIsUnreachableAfterTheTimeout) {
    auto settings = on_port(testing_servers::free_port());
    settings.common.timeout = 100ms;
    EXPECT_TRUE(conformance::takes_less(2s, [&] {
        const auto asked = lease_clock::now();
        expect_rejection(settings, errc::unreachable, "Connection refused");
        EXPECT_GE(lease_clock::now() - asked, 100ms);
    }));
}

TEST(EtcdRejection, AnEtcdThatIsTooOldIsUnsupported) {
    canned_server server{
        {"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 18:42:14 GMT\r\n"
         "Content-Length: 45\r\n\r\n"
         "{\"etcdserver\":\"3.3.27\",\"etcdcluster\":\"3.3.0\"}"}};
    auto settings = on_port(server.port());
    settings.common.timeout = 10s;
    expect_rejection(settings, errc::unsupported, "too old");
}

TEST(EtcdRejection, DataOfANewerPawlOrOfAnotherProgramIsLeftAlone) {
    etcd_server server;
    server.ask({"put", "pawl/marker", "3 something new"});
    expect_rejection(on_port(server.port()), errc::unsupported, "newer pawl");
    server.ask({"put", "pawl/marker", "hello"});
    expect_rejection(on_port(server.port()), errc::rejected, "another program");
    EXPECT_EQ(server.ask({"get", "pawl/marker", "--print-value-only"}), "hello\n");
}

// Goal: a full etcd rejects, no half-made lease stays behind, and doctors see it.
TEST(EtcdRejection, AFullEtcdRejectsAndLeavesNoLease) {
    etcd_options options;
    options.more = {"--quota-backend-bytes", "120000"};
    etcd_server server{options};
    auto mine = open(on_port(server.port()));
    mine.granted(fresh_claim("before"));
    for (bool room = true; room;) try {
            server.ask({"put", "filler", std::string(60'000, 'x')});
        } catch (const std::runtime_error&) {
            room = false;
        }
    expect_rejection(on_port(server.port()), errc::rejected, "space exceeded");
    EXPECT_FALSE(mine.inspect("key")->has_value());
}

// ---- TLS

struct over_tls {
    using server = etcd_server;
    using options = etcd_options;
    using settings = etcd_settings;

    static settings on_port(std::uint16_t port) { return etcd::on_port(port); }
    static std::uint16_t tls_port(const server& one) { return one.port(); }
    static std::string& host_of(settings& to) { return to.endpoints.front().host; }
    static client open(const settings& to) { return etcd::open(to); }
    static void expect_rejection(const settings& to, errc code, const std::string& words) {
        etcd::expect_rejection(to, code, words);
    }
};

}  // namespace
}  // namespace pawl::etcd

namespace pawl::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(etcd, TlsLaws, etcd::over_tls);

}  // namespace
}  // namespace pawl::conformance

namespace pawl::etcd {
namespace {

class EtcdOverTls : public conformance::TlsLaws<over_tls> {};

TEST_F(EtcdOverTls, ACertificateForAnotherNameIsDeniedUnlessTheNameIsGiven) {
    auto to = settings();
    to.tls->server_name = "etcd.example.com";
    expect_rejection(to, errc::denied, "ostname mismatch");
    to.tls->server_name = "localhost";
    EXPECT_GT(number(open(to).granted(fresh_claim("named"))), 0u);
}

TEST_F(EtcdOverTls, APlainPortDoesNotSpeakTlsAndATlsPortIsHinted) {
    etcd_server plain;
    auto to = settings(plain.port());
    to.common.timeout = 500ms;
    expect_rejection(to, errc::unreachable, "a plain port wants etcd://");
    auto without = on_port(server().port());
    without.common.timeout = 500ms;
    expect_rejection(without, errc::unreachable, "a TLS port wants etcds://");
    canned_server talkative{{"HTTP/1.1 400 Bad Request\r\n\r\n"}};
    expect_rejection(settings(talkative.port()), errc::protocol, "does not speak TLS");
}

// ---- What doctors are told

const finding* find(const examination& seen, const std::string& check, severity level) {
    for (const auto& each : seen.findings)
        if (each.check == check && each.level == level) return &each;
    return nullptr;
}

result<examination> examined(const etcd_settings& settings) {
    net::loop loop;
    const auto store = make_etcd_store(loop, settings);
    return loop.wait_for(store->examine());
}

TEST_F(EtcdOverTls, AnExaminationSeesTheVersionTheClockTheQuorumAndTheCertificate) {
    const auto seen = examined(settings());
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_TRUE(seen->version.starts_with("etcd 3.")) << seen->version;
    for (const auto* check : {"version", "clock", "quorum", "disk", "privileges", "schema"})
        EXPECT_NE(find(*seen, check, severity::ok), nullptr) << check;
    EXPECT_NE(find(*seen, "replication", severity::warn), nullptr);
    // Certificates of tests are young and do not live long.
    EXPECT_TRUE(std::any_of(seen->findings.begin(), seen->findings.end(),
                            [](const finding& each) { return each.check == "tls"; }));
    for (const auto& each : seen->findings) EXPECT_EQ(each.text.find('\n'), std::string::npos);
}

TEST_F(EtcdWithLogins, AnExaminationSeesWhatMayNotBeRead) {
    auto settings = as("alice", "s3cret");
    settings.common.name_space = "other";
    const auto seen = examined(settings);
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_NE(find(*seen, "privileges", severity::fail), nullptr);
}

TEST(EtcdExamination, SeesEndpointsThatAreDownAndForeignData) {
    etcd_server server;
    server.ask({"put", "pawl/marker", "3 something new"});
    auto settings = on_port(server.port());
    settings.endpoints.push_back({"127.0.0.1", testing_servers::free_port()});
    const auto seen = examined(settings);
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_NE(find(*seen, "quorum", severity::warn), nullptr);
    EXPECT_NE(find(*seen, "schema", severity::fail), nullptr);
    settings.endpoints.erase(settings.endpoints.begin());
    settings.common.timeout = 500ms;
    EXPECT_TRUE(examined(settings).has_error());
}

}  // namespace
}  // namespace pawl::etcd
