// One master behind three sentinels: what is found out, what is rejected, and what a failover does.
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

void expect_rejection(const redis_settings& settings, errc code, const std::string& words) {
    auto mine = open_client(settings);
    const auto got = mine.acquire(fresh_claim("key"));
    conformance::expect_failure(got, code, words);
    conformance::expect_failure(got, code, redis_sentinels::master_name);
}

long long milliseconds(instant from, instant to) {
    return std::chrono::duration_cast<millis>(to - from).count();
}

// ---- Rejections, and the calm

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
    // For what has to be answered, however busy the machine is.
    static redis_settings patient() {
        auto to = settings();
        to.common.timeout = 10s;
        return to;
    }

private:
    static inline std::unique_ptr<redis_sentinels> servers_;
};

TEST_F(SentinelsAtRest, TheMasterIsFoundAndUsed) {
    auto mine = open_client(patient());
    auto other = open_client(patient());
    const auto token = mine.granted(fresh_claim("key", 30s));
    EXPECT_EQ(other.rejected(fresh_claim("key")).holder, token);
    auto woke = other.start_waiting("key", token, 10s);
    other.until_waiters("key", 1);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TEST_F(SentinelsAtRest, ANameThatTheSentinelsDoNotKnowIsUnsupported) {
    auto to = patient();
    to.master_name = "orders-of-none";
    expect_rejection(to, errc::unsupported, "knows no master named 'orders-of-none'");
}

TEST_F(SentinelsAtRest, AWrongPasswordOfEitherKindIsDenied) {
    auto to = patient();
    to.sentinel_password = "wrong";
    expect_rejection(to, errc::denied, "WRONGPASS");
    to.sentinel_password.clear();
    expect_rejection(to, errc::denied, "NOAUTH");
    to = patient();
    to.password = "wrong";
    expect_rejection(to, errc::denied, "WRONGPASS");
}

TEST_F(SentinelsAtRest, AServerInPlaceOfASentinelIsUnsupported) {
    auto to = patient();
    to.seeds = {{"127.0.0.1", servers().node(0).port()}};
    to.sentinel_password = "s3cret";
    expect_rejection(to, errc::unsupported, "is not a sentinel");
}

TEST_F(SentinelsAtRest, NoServerIsUnreachable) {
    auto to = settings();
    to.seeds = {{"127.0.0.1", testing_servers::free_port()}};
    to.common.timeout = 200ms;
    expect_rejection(to, errc::unreachable, "refused");
    testing_faults::canned_server silent{{}};
    to.seeds = {{"127.0.0.1", silent.port()}};
    EXPECT_TRUE(conformance::takes_less(5s, [&] {
        expect_rejection(to, errc::unreachable, "127.0.0.1:" + std::to_string(silent.port()));
    }));
}

TEST_F(SentinelsAtRest, AnotherProtocolIsToldSo) {
    testing_faults::canned_server web{{"HTTP/1.1 400 Bad Request\r\n\r\n"}};
    auto to = patient();
    to.seeds = {{"127.0.0.1", web.port()}};
    expect_rejection(to, errc::protocol, "does not speak RESP");
}

// Goal: one dead, one frozen: the third is asked in time.
TEST_F(SentinelsAtRest, OneSentinelThatAnswersIsEnough) {
    auto to = settings();
    to.common.timeout = 9s;
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
    expect_rejection(to, errc::unreachable, "its ROLE is slave");
}

TEST_F(SentinelsAtRest, TheDoctorSeesMasterReplicasAndQuorum) {
    net::loop loop;
    auto to = patient();
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
    // A quarter of it is waited for the replica, and the rest is there to give the grant back.
    to.common.timeout = 4s;
    auto mine = open_client(to);
    auto calm = patient();
    calm.replicas = 1;
    auto other = open_client(calm);
    const auto token = other.granted(fresh_claim("kept", 30s));
    EXPECT_TRUE(other.fence("resource", token, fence_rule::reject_older)->accepted);
    // It has its connection.
    until([&] { return mine.renew(std::vector<held_lease>{lease_of("kept", token)}).has_value(); });
    servers().node(1).freeze();
    const auto got = mine.acquire(fresh_claim("unconfirmed", 30s));
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), "rejected");
    EXPECT_NE(got.error().detail.find("0 of 1 replicas have it"), std::string::npos)
        << got.error().detail;
    const auto renewed = mine.renew(std::vector<held_lease>{lease_of("kept", token)});
    ASSERT_TRUE(renewed.has_error());
    EXPECT_EQ(name_of(renewed.error().code), "outcome_unknown");
    const auto fenced = mine.fence("resource", token, fence_rule::reject_older);
    ASSERT_TRUE(fenced.has_error());
    EXPECT_EQ(name_of(fenced.error().code), "outcome_unknown");
    EXPECT_TRUE(*mine.release("kept", token));
    auto careless = open_client(patient());
    EXPECT_GT(number(careless.granted(fresh_claim("unconfirmed", 30s))), 0u);
    servers().node(1).thaw();
    servers().wait_until_followed(0);
    EXPECT_GT(number(other.granted(fresh_claim("confirmed", 30s))), 0u);
    EXPECT_EQ(other.renew(lease_of("kept", token)), renewal::lost);
}

// Goal: an occurrence is given back for good, or its withdrawal is tried again: one that only the
// master has would be forgotten with it, and the occurrence lost. Method: the only replica is
// frozen.
TEST_F(SentinelsAtRest, AnOccurrenceIsGivenBackWhenTheReplicasHaveIt) {
    auto to = settings();
    to.replicas = 1;
    auto calm = patient();
    calm.replicas = 1;
    auto mine = open_client(calm);
    auto wanted = fresh_claim("due", 30s);
    wanted.occurrence = occurrence{1'700'000'000'000};
    auto hasty = open_client(to);
    // It has its connection.
    until([&] { return hasty.inspect(wanted.key).has_value(); });
    servers().node(1).freeze();
    const auto got = hasty.acquire(wanted);
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), "outcome_unknown");
    // A client that asks again under its id is granted it, once a replica is there.
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

// Longer than a busy machine lets a master stand still that is to be hurt only later.
constexpr millis not_given_up = 6s;

redis_settings careful(const redis_sentinels& servers, millis quarantine = 800ms) {
    auto settings = watched_by(servers.ports());
    settings.common.quarantine = quarantine;
    settings.common.timeout = 2s;
    settings.replicas = 1;
    return settings;
}

// Goal: a master that dies under load is replaced without two trusted holders, and a client that
// waited goes on. Method: SIGKILL while four clients fight for two keys, and one waits for a third.
TEST(SentinelFailover, ADeadMasterIsReplacedUnderLoad) {
    redis_sentinels servers{{.replicas = 2, .down_after = not_given_up}};
    // As long as a lease that is still there when it is looked at, under load.
    constexpr millis longer = 10s;
    auto waiter = open_client(careful(servers, longer));
    auto holder = open_client(careful(servers, longer));
    failover_load load{careful(servers), {"a", "b"}, 300ms, 4};
    until([&] { return load.grants() > 20; });
    const auto held = holder.granted_in_the_end(fresh_claim("waited-for", longer), 200ms, 60s);
    auto woke = waiter.start_waiting("waited-for", held, 60s);
    until([&] {
        return servers.node(0).ask({"GETRANGE", "pawl:lock:waited-for", "70", "70"}) == "w";
    });
    const auto killed = lease_clock::now();
    servers.node(0).crash();
    // Where its look was still on its way, that is what fails.
    EXPECT_NE(woke.get(), wait_end::timed_out);
    servers.wait_until_moved_from(0);
    const auto moved = lease_clock::now();
    const auto granted = load.first_after(moved);
    // And waiting works at the new master.
    // That the sentinels name another master it may hear only now, and that has no replica at
    // first: what was given back for that is asked for anew.
    fence_token again{};
    until(
        [&] {
            const auto got = holder.acquire(fresh_claim("waited-for", longer));
            if (got.has_error() || !std::holds_alternative<grant>(*got)) return false;
            again = std::get<grant>(*got).token;
            return true;
        },
        60s);
    woke = waiter.start_waiting("waited-for", again, 60s);
    waiter.until_waiters("waited-for", 1);
    until([&] { return holder.release("waited-for", again).has_value(); });
    EXPECT_EQ(woke.get(), wait_end::changed);
    load.stop();
    load.judge();
    std::cout << "master killed: named anew after " << milliseconds(killed, moved)
              << " ms, granting after " << milliseconds(killed, granted)
              << " ms (quarantine 800 ms); " << load.grants()
              << " grants; failures: " << load.failures() << "\n";
}

// Goal: a master that hangs is left as soon as the sentinels name another, and no client goes back
// to it when it wakes up, though it stays writable for seconds.
TEST(SentinelFailover, AFrozenMasterIsLeftAndNotTakenAgain) {
    redis_sentinels servers{{.replicas = 2, .down_after = not_given_up}};
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
    // What was in its pipes when it froze runs now, in the next turns of its loop; then no client
    // asks it any more.
    const auto until_granted = [&](std::size_t more) {
        const auto before = load.grants();
        until([&] { return load.grants() > before + more; }, 60s);
    };
    auto left_over = calls();
    until(
        [&] {
            until_granted(10);
            const auto now = calls();
            const bool is_stable = now == left_over;
            left_over = now;
            return is_stable;
        },
        60s);
    until_granted(100);
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
