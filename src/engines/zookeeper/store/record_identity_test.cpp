// A record that was deleted and made again is another one, though its versions come again; and what
// a holder has is checked against the record at each renewal.
#include "engines/zookeeper/store/znode_names.hpp"
#include "engines/zookeeper/store/zookeeper_fixture.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <functional>
#include <future>

namespace pawl::zookeeper {
namespace {

using conformance::fresh_claim;
using conformance::lease_of;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::zookeeper_server;

class ZookeeperRecord : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<zookeeper_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    ZookeeperRecord() {
        static int tests = 0;
        settings_ = on_port(server_->port());
        settings_.common.name_space = "record" + std::to_string(++tests);
        tree_ = std::make_unique<bare_tree>(server_->port());
    }
    std::string path_of(const std::string& key) const {
        return layout{settings_.chroot, settings_.common.name_space}.record_of(key);
    }
    int version_of(const std::string& key) {
        Stat stat{};
        tree_->get(path_of(key), &stat);
        return stat.version;
    }
    void remove_all(const std::string& path) {
        for (const auto& name : tree_->children(path)) remove_all(path + "/" + name);
        tree_->remove(path);
    }
    // As a session's end does.
    void end_lease(const std::string& key) {
        for (const auto& name : tree_->children(path_of(key)))
            if (name.starts_with("lease-")) tree_->remove(path_of(key) + "/" + name);
    }
    // What a purge and two nodes make of the key: another record, held, of that version.
    fence_token held_anew(conformance::client& by, const claim& wanted, int version) {
        remove_all(path_of(wanted.key));
        auto passing = open(settings_);
        passing.granted(fresh_claim(wanted.key));
        end_lease(wanted.key);
        const auto token = by.granted(wanted);
        EXPECT_EQ(version_of(wanted.key), version);
        return token;
    }
    static bool is_grant(const result<acquire_result<grant>>& told) {
        EXPECT_TRUE(told.has_value()) << told.error().detail;
        return told.has_value() && std::holds_alternative<grant>(*told);
    }

    static inline std::unique_ptr<zookeeper_server> server_;
    zookeeper_settings settings_;
    std::unique_ptr<bare_tree> tree_;
};

// Goal: two never hold a key, and an occurrence runs once. Method: a process remembers the record
// that it let go; a purge and others make another of the same version, which is held.
TEST_F(ZookeeperRecord, WhatIsRememberedOfADeletedOneGrantsNothing) {
    auto idle = open(settings_), holder = open(settings_);
    EXPECT_TRUE(*idle.release("key", idle.granted(fresh_claim("key"))));
    auto wanted = fresh_claim("key");
    wanted.occurrence = conformance::occurrence_in(0s);
    const auto token = held_anew(holder, wanted, version_of("key"));
    auto again = fresh_claim("key");
    again.occurrence = wanted.occurrence;
    EXPECT_FALSE(is_grant(idle.acquire(again)));
    EXPECT_EQ(open(settings_).show("key").holder, token);
    EXPECT_EQ(holder.renew(lease_of("key", token)), renewal::renewed);
}

// Goal: the same for what was read just now. Method: a claim is held back on its way between its
// look and its write.
TEST_F(ZookeeperRecord, WhatWasReadOfADeletedOneGrantsNothing) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    far.common.timeout = 10s;
    auto slow = open(far), holder = open(settings_);
    slow.granted(fresh_claim("warm", 30s));
    EXPECT_TRUE(*holder.release("key", holder.granted(fresh_claim("key"))));
    const auto version = version_of("key");
    const auto answers = proxy.held_bytes(direction::to_client);
    proxy.stall(direction::to_client);
    auto answer =
        std::async(std::launch::async, [&] { return slow.acquire(fresh_claim("key", 30s)); });
    ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_client, answers + 1));
    const auto requests = proxy.held_bytes(direction::to_server);
    proxy.stall(direction::to_server);
    proxy.resume(direction::to_client);
    ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_server, requests + 1));
    auto other = open(settings_);
    const auto token = held_anew(other, fresh_claim("key", 30s), version);
    proxy.resume(direction::to_server);
    EXPECT_FALSE(is_grant(answer.get()));
    EXPECT_EQ(other.renew(lease_of("key", token, 30s)), renewal::renewed);
}

// Goal: a record that an older pawl made is told from a later one, too, once it was written here.
TEST_F(ZookeeperRecord, OneOfAnOlderPawlGetsItsOriginWithTheFirstGrant) {
    auto idle = open(settings_), holder = open(settings_);
    EXPECT_TRUE(*idle.release("other", idle.granted(fresh_claim("other"))));
    tree_->create(parent_of(path_of("key")), "");
    tree_->create(path_of("key"), "2 - 5 5 0 5 - - me");
    EXPECT_TRUE(*idle.release("key", idle.granted(fresh_claim("key"))));
    held_anew(holder, fresh_claim("key"), version_of("key"));
    EXPECT_FALSE(is_grant(idle.acquire(fresh_claim("key"))));
}

// Goal: however a key came to be granted twice, the first holder hears of it with its next beat,
// and its other leases are renewed. Method: a grant that is made by hand.
TEST_F(ZookeeperRecord, ARenewalSeesThatTheRecordIsOfAnotherGrant) {
    auto mine = open(settings_);
    const auto lost = mine.granted(fresh_claim("lost", 30s));
    const auto kept = mine.granted(fresh_claim("kept", 30s));
    tree_->set(path_of("lost"), "2 lease-other = = 0 " + std::to_string(number(lost)) + " - x me");
    tree_->create(path_of("lost") + "/lease-other", "30000", ZOO_EPHEMERAL);
    for (int beat = 0; beat < 2; ++beat) {
        const auto answers = mine.renew({lease_of("lost", lost, 30s), lease_of("kept", kept, 30s)});
        ASSERT_TRUE(answers.has_value()) << answers.error().detail;
        EXPECT_EQ(*answers, (std::vector{renewal::lost, renewal::renewed}));
    }
}

// Goal: a record that was only written is no reason to lose its lease. Method: another's withdrawn
// claim leaves its trace.
TEST_F(ZookeeperRecord, AWithdrawalOfAnotherClaimCostsTheHolderNothing) {
    auto mine = open(settings_), other = open(settings_);
    const auto token = mine.granted(fresh_claim("key", 30s));
    EXPECT_FALSE(*other.withdraw({"key", "another-id"}));
    for (int beat = 0; beat < 2; ++beat)
        EXPECT_EQ(mine.renew(lease_of("key", token, 30s)), renewal::renewed);
    EXPECT_TRUE(*mine.release("key", token));
}

// Goal: a withdrawn claim that comes late finds the trace of that, whatever the retention; and the
// trace goes in the end. Method: claims of another key set the sweep off.
TEST_F(ZookeeperRecord, ATombstoneOutlivesAShortRetention) {
    settings_.common.retention = 20ms;
    auto mine = open(settings_);
    const auto before = lease_clock::now();
    EXPECT_FALSE(*mine.withdraw({"key", "given-up"}));
    const auto after = lease_clock::now();
    const auto come_and_go = [&] {
        EXPECT_TRUE(*mine.release("other", mine.granted(fresh_claim("other"))));
    };
    while (lease_clock::now() < after + 1500ms) come_and_go();
    const bool there = tree_->has(path_of("key"));
    EXPECT_TRUE(there || lease_clock::now() > before + 4s);
    until([&] {
        come_and_go();
        return !tree_->has(path_of("key"));
    });
}

}  // namespace
}  // namespace pawl::zookeeper
