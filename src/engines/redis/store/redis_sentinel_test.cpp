// One master behind three sentinels: what is found out, what is refused, and what a failover does.
#include "engines/redis/store/redis_failover_fixture.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/servers/redis_sentinels.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace pawl::redis {
namespace {

using testing_servers::redis_sentinels;

redis_settings watched_by(const std::vector<std::uint16_t>& sentinels) {
    redis_settings settings;
    settings.shape = topology::sentinel;
    for (const auto port : sentinels) settings.seeds.push_back({"127.0.0.1", port});
    settings.master_name = redis_sentinels::master_name;
    return settings;
}

void expect_refusal(const redis_settings& settings, errc code, const std::string& words) {
    auto mine = open_client(settings);
    const auto got = mine.acquire(fresh_claim("key"));
    conformance::expect_failure(got, code, words);
    conformance::expect_failure(got, code, redis_sentinels::master_name);
}

long long milliseconds(instant from, instant to) {
    return std::chrono::duration_cast<millis>(to - from).count();
}

// ---- Refusals, and the calm

// One fixture: starting it costs two seconds.
class SentinelsAtRest : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        testing_servers::redis_sentinels_options options;
        options.down_after = 10s;
        options.sentinel_password = "guards";
        options.password = "s3cret";
        servers_ = std::make_unique<redis_sentinels>(options);
    }
    static void TearDownTestSuite() { servers_.reset(); }

    static redis_sentinels& servers() { return *servers_; }
    static redis_settings settings() {
        auto to = watched_by(servers_->ports());
        to.password = "s3cret";
        to.sentinel_password = "guards";
        to.common.timeout = 1s;
        return to;
    }

private:
    static inline std::unique_ptr<redis_sentinels> servers_;
};

TEST_F(SentinelsAtRest, TheMasterIsFoundAndUsed) {
    auto mine = open_client(settings());
    auto other = open_client(settings());
    const auto token = mine.granted(fresh_claim("key", 30s));
    EXPECT_EQ(other.refused(fresh_claim("key")).holder, token);
    auto woke = other.start_waiting("key", token, 10s);
    other.until_waiters("key", 1);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TEST_F(SentinelsAtRest, ANameThatTheSentinelsDoNotKnowIsUnsupported) {
    auto to = settings();
    to.master_name = "orders-of-nobody";
    expect_refusal(to, errc::unsupported, "knows no master named 'orders-of-nobody'");
}

TEST_F(SentinelsAtRest, AWrongPasswordOfEitherKindIsDenied) {
    auto to = settings();
    to.sentinel_password = "wrong";
    expect_refusal(to, errc::denied, "WRONGPASS");
    to.sentinel_password.clear();
    expect_refusal(to, errc::denied, "NOAUTH");
    to = settings();
    to.password = "wrong";
    expect_refusal(to, errc::denied, "WRONGPASS");
}

TEST_F(SentinelsAtRest, AServerInPlaceOfASentinelIsUnsupported) {
    auto to = settings();
    to.seeds = {{"127.0.0.1", servers().node(0).port()}};
    to.sentinel_password = "s3cret";
    expect_refusal(to, errc::unsupported, "is no sentinel");
}

TEST_F(SentinelsAtRest, NoServerIsUnreachable) {
    auto to = settings();
    to.seeds = {{"127.0.0.1", testing_servers::free_port()}};
    to.common.timeout = 200ms;
    expect_refusal(to, errc::unreachable, "refused");
    testing_faults::canned_server silent{{}};
    to.seeds = {{"127.0.0.1", silent.port()}};
    const auto asked = lease_clock::now();
    expect_refusal(to, errc::unreachable, "127.0.0.1:" + std::to_string(silent.port()));
    EXPECT_LT(lease_clock::now() - asked, 5s);
}

TEST_F(SentinelsAtRest, AnotherProtocolIsToldSo) {
    testing_faults::canned_server web{{"HTTP/1.1 400 Bad Request\r\n\r\n"}};
    auto to = settings();
    to.seeds = {{"127.0.0.1", web.port()}};
    expect_refusal(to, errc::protocol, "does not speak RESP");
}

// Goal: one dead, one frozen: the third is asked in time.
TEST_F(SentinelsAtRest, OneSentinelThatAnswersIsEnough) {
    auto to = settings();
    to.seeds.insert(to.seeds.begin(), {"127.0.0.1", testing_servers::free_port()});
    servers().freeze_sentinel(0);
    auto mine = open_client(to);
    EXPECT_GT(number(mine.granted(fresh_claim("other"))), 0u);
    servers().thaw_sentinel(0);
}

// Goal: a sentinel whose word is old leads to no replica. Method: a canned one names the replica.
TEST_F(SentinelsAtRest, AReplicaThatASentinelNamesIsNotTaken) {
    const auto port = std::to_string(servers().node(1).port());
    testing_faults::canned_server liar{
        {"*1\r\n+OK\r\n",
         "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n"}};
    auto to = settings();
    to.sentinel_password.clear();
    to.seeds = {{"127.0.0.1", liar.port()}};
    to.common.timeout = 2s;
    expect_refusal(to, errc::unreachable, "its ROLE is slave");
}

TEST_F(SentinelsAtRest, TheDoctorSeesMasterReplicasAndQuorum) {
    net::loop loop;
    auto to = settings();
    to.replicas = 1;
    auto store = make_redis_store(loop, to);
    const auto seen = loop.wait_for(store->examine());
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_TRUE(seen->version.starts_with("Redis 7"));
    EXPECT_TRUE(seen->clock);
    int quorum = 0;
    bool replicates = false;
    for (const auto& one : seen->findings) {
        if (one.check == "quorum" && one.level == severity::ok) ++quorum;
        if (one.check == "replication")
            replicates = one.text.find("1 replica,") != std::string::npos;
        EXPECT_EQ(one.text.find('\n'), std::string::npos);
    }
    EXPECT_EQ(quorum, 3);
    EXPECT_TRUE(replicates);
}

// ---- wait=N

// Goal: a grant that only the master has is none, and the key is free again. Method: its only
// replica is frozen.
TEST_F(SentinelsAtRest, AGrantThatTooFewReplicasHaveIsGivenBack) {
    auto to = settings();
    to.replicas = 1;
    auto mine = open_client(to);
    const auto token = mine.granted(fresh_claim("kept", 30s));
    EXPECT_TRUE(mine.fence("resource", token, fence_rule::reject_older)->accepted);
    servers().node(1).freeze();
    const auto got = mine.acquire(fresh_claim("unconfirmed", 30s));
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), "rejected");
    EXPECT_NE(got.error().detail.find("0 of 1 replicas have it"), std::string::npos)
        << got.error().detail;
    const auto renewed = mine.renew(std::vector<held>{lease_of("kept", token)});
    ASSERT_TRUE(renewed.has_error());
    EXPECT_EQ(name_of(renewed.error().code), "outcome_unknown");
    const auto fenced = mine.fence("resource", token, fence_rule::reject_older);
    ASSERT_TRUE(fenced.has_error());
    EXPECT_EQ(name_of(fenced.error().code), "outcome_unknown");
    EXPECT_TRUE(*mine.release("kept", token));
    auto careless = open_client(settings());
    EXPECT_GT(number(careless.granted(fresh_claim("unconfirmed", 30s))), 0u);
    servers().node(1).thaw();
    servers().wait_until_followed(0);
    EXPECT_GT(number(mine.granted(fresh_claim("confirmed", 30s))), 0u);
    EXPECT_EQ(mine.renew(lease_of("kept", token)), renewal::lost);
}

// Goal: an occurrence is given back for good, or its withdrawal is tried again: one that only the
// master has would be forgotten with it, and the occurrence lost. Method: the only replica is
// frozen.
TEST_F(SentinelsAtRest, AnOccurrenceIsGivenBackWhenTheReplicasHaveIt) {
    auto to = settings();
    to.replicas = 1;
    auto mine = open_client(to);
    auto wanted = fresh_claim("due", 30s);
    wanted.occurrence = occurrence{1'700'000'000'000};
    servers().node(1).freeze();
    const auto got = mine.acquire(wanted);
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), "outcome_unknown");
    // Whoever asks again under its id is granted it, once a replica is there.
    servers().node(1).thaw();
    servers().wait_until_followed(0);
    EXPECT_GT(number(mine.granted(wanted)), 0u);
    servers().node(1).freeze();
    const withdrawal given_up{wanted.key, wanted.id, wanted.occurrence};
    for (int time = 0; time < 2; ++time) {
        // Also where the master has it, and a connection of its own asks.
        const auto returned = open_client(to).withdraw(given_up);
        ASSERT_TRUE(returned.has_error());
        EXPECT_EQ(name_of(returned.error().code), "outcome_unknown");
    }
    servers().node(1).thaw();
    servers().wait_until_followed(0);
    EXPECT_TRUE(mine.withdraw(given_up).has_value());
    auto another = fresh_claim("due", 30s);
    another.occurrence = wanted.occurrence;
    EXPECT_GT(number(mine.granted(another)), 0u);
}

// ---- Failover

redis_settings careful(const redis_sentinels& servers) {
    auto settings = watched_by(servers.ports());
    settings.common.quarantine = 800ms;
    settings.common.timeout = 2s;
    settings.replicas = 1;
    return settings;
}

// Goal: a master that dies under load is replaced without two trusted holders, and whoever waited
// goes on. Method: SIGKILL while four clients fight for two keys, and one waits for a third.
TEST(SentinelFailover, ADeadMasterIsReplacedUnderLoad) {
    redis_sentinels servers{{.replicas = 2}};
    auto waiter = open_client(careful(servers));
    failover_load load{careful(servers), {"a", "b"}, 300ms, 4};
    until([&] { return load.grants() > 20; });
    const auto held = waiter.granted_in_the_end(fresh_claim("waited-for", 800ms));
    auto woke = waiter.start_waiting("waited-for", held, 20s);
    until([&] {
        return servers.node(0).ask({"GETRANGE", "pawl:lock:waited-for", "70", "70"}) == "w";
    });
    const auto killed = lease_clock::now();
    servers.node(0).crash();
    EXPECT_EQ(woke.get(), wait_end::changed);
    servers.wait_until_moved_from(0);
    const auto moved = lease_clock::now();
    const auto granted = load.first_after(moved);
    // And waiting works at the new master.
    const auto again = waiter.granted_in_the_end(fresh_claim("waited-for", 800ms));
    woke = waiter.start_waiting("waited-for", again, 20s);
    waiter.until_waiters("waited-for", 1);
    EXPECT_TRUE(*open_client(careful(servers)).release("waited-for", again));
    EXPECT_EQ(woke.get(), wait_end::changed);
    load.stop();
    load.judge();
    std::cout << "master killed: named anew after " << milliseconds(killed, moved)
              << " ms, granting after " << milliseconds(killed, granted)
              << " ms (quarantine 800 ms); " << load.grants()
              << " grants; failures: " << load.failures() << "\n";
}

// Goal: a master that hangs is left as soon as the sentinels name another, and nobody goes back to
// it when it wakes up, though it stays writable for seconds.
TEST(SentinelFailover, AFrozenMasterIsLeftAndNotTakenAgain) {
    redis_sentinels servers{{.replicas = 2}};
    failover_load load{careful(servers), {"a", "b"}, 300ms, 4};
    until([&] { return load.grants() > 20; });
    const auto frozen = lease_clock::now();
    servers.node(0).freeze();
    const auto next = servers.wait_until_moved_from(0);
    const auto moved = lease_clock::now();
    const auto granted = load.first_after(moved);
    servers.node(0).thaw();
    EXPECT_TRUE(servers.node(0).ask({"ROLE"}).starts_with("master"));
    const auto calls = [&] {
        const auto stats = servers.node(0).ask({"INFO", "commandstats"});
        const auto at = stats.find("cmdstat_evalsha:calls=");
        return at == std::string::npos ? 0L : std::stol(stats.substr(at + 22));
    };
    // What was in its pipe when it froze runs now; then nobody asks it any more.
    const auto left_over = calls();
    const auto before = load.grants();
    until([&] { return load.grants() > before + 100; });
    EXPECT_EQ(calls(), left_over);
    load.stop();
    load.judge();
    std::cout << "master frozen: named anew after " << milliseconds(frozen, moved) << " ms (node "
              << next << "), granting after " << milliseconds(frozen, granted)
              << " ms (quarantine 800 ms); " << load.grants()
              << " grants; failures: " << load.failures() << "\n";
}

}  // namespace
}  // namespace pawl::redis
