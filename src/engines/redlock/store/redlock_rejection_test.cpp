// The ways in which nodes turn a store away: one clear line, and only when it matters to a
// majority.
#include "engines/redlock/store/redlock_fixture.hpp"

#include "test_support/faults/canned_server.hpp"

namespace pawl::redlock {
namespace {

using testing_faults::canned_server;
using testing_servers::certificates;
using testing_servers::redis_server;

redis_options with_password(const std::string& password) {
    redis_options options;
    options.password = password;
    return options;
}

redlock_settings all_with(redlock_settings settings, const std::string& password) {
    for (auto& one : settings.nodes) one.password = password;
    return settings;
}

TEST(RedlockRejection, OneWrongPasswordOfThreeIsTolerated) {
    redlock_servers good{2, with_password("s3cret")};
    redis_server other{with_password("another")};
    auto mine =
        open(all_with(on_ports({good.at(0).port(), other.port(), good.at(1).port()}), "s3cret"));
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token)), renewal::renewed);
    EXPECT_TRUE(conformance::yes(mine.release("key", token)));
}

TEST(RedlockRejection, AMajorityOfWrongPasswordsIsDeniedAtOnceAndNamesBoth) {
    redlock_servers servers{3, with_password("s3cret")};
    auto settings = all_with(on_ports(servers.ports(), 30s), "wrong-password");
    settings.nodes[2].password = "s3cret";
    auto mine = open(settings);
    const auto asked = lease_clock::now();
    const auto got = mine.acquire(fresh_claim("key"));
    EXPECT_LT(lease_clock::now() - asked, 15s);
    expect_failure(got, errc::denied,
                   {std::to_string(servers.at(0).port()) + ": WRONGPASS",
                    std::to_string(servers.at(1).port()) + ": WRONGPASS", "2 must"});
    EXPECT_EQ(got.error().detail.find("wrong-password"), std::string::npos);
}

TEST(RedlockRejection, WhatIsNoRedisCountsAsANodeThatIsAway) {
    const std::vector<std::string> http{"HTTP/1.1 400 Bad Request\r\n\r\n"};
    canned_server first{http}, second{http};
    redlock_servers servers{2};
    auto one = open(on_ports({servers.at(0).port(), first.port(), servers.at(1).port()}));
    EXPECT_GT(number(one.granted(fresh_claim("key"))), 0u);
    auto two = open(on_ports({servers.at(0).port(), first.port(), second.port()}));
    expect_failure(two.acquire(fresh_claim("key")), errc::protocol, {"does not speak RESP"});
}

TEST(RedlockRejection, WithoutAMajorityEachNodesReasonIsOnOneLine) {
    redis_server server;
    const auto a = testing_servers::free_port(), b = testing_servers::free_port();
    auto mine = open(on_ports({a, server.port(), b}, 1s));
    const auto asked = lease_clock::now();
    const std::vector<std::string> words{std::to_string(a) + ": Connection refused; 127.0.0.1:" +
                                             std::to_string(b) + ": Connection refused",
                                         "1 of 3 nodes answered, 2 must"};
    expect_failure(mine.acquire(fresh_claim("key")), errc::unreachable, words);
    EXPECT_LT(lease_clock::now() - asked, 10s);
    expect_failure(mine.inspect("key"), errc::unreachable, words);
    expect_failure(mine.list("", "", 10), errc::unreachable, words);
    expect_failure(mine.fence("resource", fence_token{1}, fence_rule::reject_older),
                   errc::unreachable, words);
    EXPECT_TRUE(mine.release("key", fence_token{1}).has_error());
    EXPECT_TRUE(mine.force_release("key", fence_token{1}, 0ms).has_error());
    EXPECT_TRUE(mine.withdraw({"key", "id"}).has_error());
    EXPECT_TRUE(mine.renew(std::vector<held_lease>{conformance::lease_of("key", fence_token{1})})
                    .has_error());
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 5s), conformance::wait_end::failed);
}

TEST(RedlockRejection, UnresponsiveServersAreWaitedForUntilTheTimeout) {
    canned_server first{{}}, second{{}};
    redis_server server;
    auto mine = open(on_ports({first.port(), second.port(), server.port()}, 200ms));
    const auto asked = lease_clock::now();
    expect_failure(mine.acquire(fresh_claim("key")), errc::unreachable, {"no answer within 200ms"});
    EXPECT_GE(lease_clock::now() - asked, 200ms);
    EXPECT_LT(lease_clock::now() - asked, 10s);
}

TEST(RedlockRejection, ReplicasAreUnreachable) {
    redis_server primary;
    redis_options following;
    following.primary = primary.port();
    redlock_servers replicas{2, following};
    auto mine = open(on_ports({primary.port(), replicas.at(0).port(), replicas.at(1).port()}, 1s));
    expect_failure(mine.acquire(fresh_claim("key")), errc::unreachable, {"READONLY"});
}

TEST(RedlockRejection, RecordsThatAnotherProgramWroteAreRejected) {
    redlock_servers servers;
    for (const std::size_t i : {0u, 1u}) servers.at(i).ask({"SET", "pawl:redlock:key", "not ours"});
    auto mine = open(on_ports(servers.ports()));
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, {"cannot read the record"});
    EXPECT_GT(number(mine.granted(fresh_claim("other"))), 0u);
}

// ---- TLS

redlock_settings over_tls(const redlock_servers& servers, const std::string& ca) {
    redlock_settings settings;
    settings.common.timeout = 10s;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        auto& one = settings.nodes.emplace_back();
        one.port = servers.at(i).tls_port();
        one.tls.emplace();
        one.tls->ca = ca;
    }
    return settings;
}

// Goal: a record of a newer layout, which another pawl beside this one has written, is neither
// misread nor written over. Method: the records of all nodes get another version in front.
TEST(RedlockRejection, RecordsOfAnotherVersionAreLeftAsTheyAre) {
    redlock_servers servers{3, {}};
    auto mine = open(on_ports(servers.ports(), 2s));
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto read = [&] { return servers.at(i).ask({"GET", "pawl:redlock:key"}); };
        until([&] { return read().size() > 70 && read()[70] == 'c'; });
        texts.push_back(read());
        texts.back().front() = '2';
        servers.at(i).ask({"SET", "pawl:redlock:key", texts.back()});
    }
    const std::vector<std::string> words{"another version of pawl"};
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token, 60s)), renewal::unknown);
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, words);
    expect_failure(mine.force_release("key", token, 0ms), errc::outcome_unknown, words);
    EXPECT_TRUE(mine.withdraw({"key", wanted.id}).has_error());
    EXPECT_TRUE(mine.release("key", token).has_error());
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(servers.at(i).ask({"GET", "pawl:redlock:key"}), texts[i]);
}

TEST(RedlockRejection, CertificatesOfAMajorityMustBeGood) {
    const auto made = std::make_shared<const certificates>();
    redis_options secure;
    secure.tls = made;
    redlock_servers servers{3, secure};
    EXPECT_GT(number(open(over_tls(servers, made->ca())).granted(fresh_claim("key"))), 0u);
    expect_failure(open(over_tls(servers, made->other_ca())).acquire(fresh_claim("key")),
                   errc::denied, {"certificate"});
    secure.tls_expired = true;
    redlock_servers expired{3, secure};
    expect_failure(open(over_tls(expired, made->ca())).acquire(fresh_claim("key")), errc::denied,
                   {"expired"});
}

// ---- Privileges

// The user of docs/stores/redlock.md.
const std::string documented_user =
    "locker on >s3cret resetkeys ~pawl:* resetchannels &pawl:redlock-changed:* -@all +ping +hello "
    "+select +eval +evalsha +time +get +mget +set +setrange +del +zadd +zrangebylex +zrem +publish "
    "+subscribe +unsubscribe +pubsub|numsub +info +config|get";

// Goal: the documentation names enough privileges. Method: every verb, as that user.
TEST(RedlockRejection, TheDocumentedUserMayDoEverything) {
    auto options = redlock_servers::synced();
    options.users = {documented_user};
    redlock_servers servers{3, options};
    auto settings = on_ports(servers.ports());
    for (auto& one : settings.nodes) {
        one.user = "locker";
        one.password = "s3cret";
    }
    constexpr millis lasts = 6s;
    settings.common.quarantine = lasts;
    auto mine = open(settings);
    const auto token = mine.granted_in_the_end(fresh_claim("key", lasts), 200ms, 30s);
    EXPECT_EQ(mine.renew(conformance::lease_of("key", token, lasts)), renewal::renewed);
    auto woke = mine.start_waiting("key", token, 10s);
    mine.until_waiters("key", 1);
    EXPECT_TRUE(conformance::yes(mine.force_release("key", token, 0ms)));
    EXPECT_EQ(woke.get(), conformance::wait_end::changed);
    const auto next = mine.granted_in_the_end(fresh_claim("key", lasts), 200ms, 30s);
    EXPECT_TRUE(conformance::yes(mine.release("key", next)));
    EXPECT_FALSE(conformance::yes(mine.withdraw({"key", "some-id"})));
    EXPECT_EQ(mine.all("", 10).size(), 1u);
    EXPECT_TRUE(mine.fence("resource", next, fence_rule::reject_older).value().accepted);
}

}  // namespace
}  // namespace pawl::redlock
