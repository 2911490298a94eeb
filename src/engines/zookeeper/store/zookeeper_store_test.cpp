// What only ZooKeeper has: sessions, znodes, and the faults of one real server. What every store
// must do is in test_support/conformance.
#include "engines/zookeeper/store/lease_record.hpp"
#include "engines/zookeeper/store/znode_names.hpp"
#include "engines/zookeeper/store/zookeeper_fixture.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <boost/asio/co_spawn.hpp>

#include <future>
#include <regex>
#include <thread>

namespace pawl::zookeeper {
namespace {

using conformance::fresh_claim;
using conformance::lease_of;
using conformance::wait_end;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::zookeeper_server;

// One server for all tests that do not hurt it; each works in a namespace of its own.
class ZookeeperStore : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<zookeeper_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    ZookeeperStore() {
        static int tests = 0;
        settings_ = on_port(server_->port());
        settings_.common.name_space = "test" + std::to_string(++tests);
    }
    layout paths() const { return {settings_.chroot, settings_.common.name_space}; }

    static inline std::unique_ptr<zookeeper_server> server_;
    zookeeper_settings settings_;
};

// The layout is documented: people read it with zkCli.sh when all else fails.
TEST_F(ZookeeperStore, ARecordIsOneLineThatPeopleCanRead) {
    auto mine = open(settings_);
    bare_tree tree{server_->port()};
    const auto token = mine.granted(claim{"a/key", "my-id", "me on host", 30s});
    const auto record = paths().record_of("a/key");
    Stat stat{};
    const auto text = tree.get(record, &stat);
    std::smatch found;
    ASSERT_TRUE(std::regex_match(
        text, found, std::regex{"2 (lease-[0-9a-f]{16}) = = 0 ([0-9]{16}) - my-id me on host"}))
        << text;
    EXPECT_EQ(tree.get(record + "/" + found[1].str()), "30000");
    EXPECT_EQ(tree.get(paths().root()), "pawl 2");
    EXPECT_EQ(token, mint(fence_token{std::stoull(found[2])}, stat.mtime));
    EXPECT_TRUE(*mine.release("a/key", token));
    EXPECT_TRUE(std::regex_match(tree.get(record),
                                 std::regex{"2 - [0-9]{16} [0-9]{13} 0 [0-9]{16} - - me on host"}));
}

// Goal: what the layout before this one granted is held, known and outbid. Method: its namespace is
// made by hand, with a token that is ahead of the clock.
TEST_F(ZookeeperStore, TokensRiseAboveThoseOfTheLayoutBefore) {
    bare_tree tree{server_->port()};
    tree.create(paths().root(), "pawl 1");
    for (const auto& folder : {paths().locks(), paths().fences(), paths().clock()})
        tree.create(folder, "");
    Stat root{};
    tree.get(paths().root(), &root);
    const auto ahead = std::to_string(root.ctime * 1000 + 3'600'000'000);
    tree.create(parent_of(paths().record_of("ended")), "");
    tree.create(paths().record_of("ended"), "1 - " + ahead + " 5 0 " + ahead + " - - me");
    tree.create(parent_of(paths().record_of("held")), "");
    tree.create(paths().record_of("held"), "");
    tree.set(paths().record_of("held"), "1 lease-x = = 0 = - my-id me");
    tree.create(paths().record_of("held") + "/lease-x", "60000", ZOO_EPHEMERAL);
    Stat granted{};
    tree.get(paths().record_of("held"), &granted);
    const auto token = root.ctime * 1000 + (granted.mzxid - root.czxid);
    auto mine = open(settings_);
    EXPECT_EQ(number(mine.show("held").holder), static_cast<std::uint64_t>(token));
    EXPECT_EQ(mine.granted(claim{"held", "my-id", "me", 30s}), mine.show("held").holder);
    EXPECT_EQ(tree.get(paths().root()), "pawl 2");
    const auto next = mine.granted(fresh_claim("ended"));
    EXPECT_GT(number(next), std::stoull(ahead));
    EXPECT_LT(number(next), std::uint64_t{1} << 53);
    EXPECT_TRUE(*mine.force_release("held", fence_token{static_cast<std::uint64_t>(token)}, 0ms));
    EXPECT_GT(number(mine.granted(fresh_claim("held"))), static_cast<std::uint64_t>(token + 1));
}

// Goal: one record that cannot be read costs no other lease its renewal. Method: another program
// overwrites it, and a process renews that has neither in its book.
TEST_F(ZookeeperStore, OneUnreadableRecordIsUnknownForItsLeaseAlone) {
    auto mine = open(settings_), other = open(settings_);
    bare_tree tree{server_->port()};
    const auto spoiled = mine.granted(fresh_claim("spoiled", 60s));
    const auto whole = mine.granted(fresh_claim("whole", 60s));
    tree.set(paths().record_of("spoiled"), "not ours");
    const auto answers =
        other.renew({lease_of("spoiled", spoiled, 60s), lease_of("whole", whole, 60s)});
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    EXPECT_EQ(*answers, (std::vector{renewal::unknown, renewal::renewed}));
}

TEST_F(ZookeeperStore, OneUnreadableRecordHidesNoOther) {
    auto mine = open(settings_);
    bare_tree tree{server_->port()};
    for (const auto* key : {"job/a", "job/b", "job/c"}) mine.granted(fresh_claim(key, 60s));
    tree.set(paths().record_of("job/b"), "not ours");
    conformance::expect_all_but_one_shown(mine, "job/");
}

TEST_F(ZookeeperStore, WhatAnotherProgramWroteIsRejected) {
    auto mine = open(settings_);
    bare_tree tree{server_->port()};
    EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    tree.set(paths().record_of("key"), "not ours");
    expect_failure(open(settings_).acquire(fresh_claim("key")), errc::rejected,
                   "cannot read the record");
    EXPECT_TRUE(mine.fence("res", fence_token{5}, fence_rule::reject_older)->accepted);
    for (const auto* text : {"x", "", "18446744073709551616"}) {
        tree.set(paths().fence_of("res"), text);
        expect_failure(mine.fence("res", fence_token{6}, fence_rule::reject_older), errc::rejected,
                       "cannot read the fence");
    }
    tree.create("/foreign", "hello");
    settings_.common.name_space = "foreign";
    expect_failure(open(settings_).acquire(fresh_claim("key")), errc::rejected, "not pawl's");
    tree.set("/foreign", "pawl 3");
    expect_failure(open(settings_).acquire(fresh_claim("key")), errc::unsupported, "newer pawl");
}

TEST_F(ZookeeperStore, AChrootIsMadeWhenItIsMissing) {
    settings_.chroot = "/deep/below/it";
    auto mine = open(settings_);
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_EQ(open(settings_).show("key").holder, token);
    bare_tree tree{server_->port()};
    EXPECT_TRUE(tree.has("/deep/below/it/" + settings_.common.name_space + "/locks"));
}

// Goal: a namespace that was removed is made again. Method: remove it under an open store.
TEST_F(ZookeeperStore, ANamespaceThatWasRemovedIsMadeAgain) {
    auto mine = open(settings_);
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_TRUE(*mine.release("key", token));
    bare_tree tree{server_->port()};
    const std::function<void(const std::string&)> remove = [&](const std::string& path) {
        for (const auto& name : tree.children(path)) remove(path + "/" + name);
        tree.remove(path);
    };
    remove(paths().root());
    EXPECT_GT(mine.granted(fresh_claim("key")), token);
}

// ---- Who may touch it

TEST_F(ZookeeperStore, AUserThatLogsInOwnsItsZnodesAndOthersAreDenied) {
    settings_.user = "locker";
    settings_.password = "s3cret-word";
    settings_.who = access::creator;
    auto mine = open(settings_);
    const auto token = mine.granted(fresh_claim("key"));
    EXPECT_EQ(open(settings_).show("key").holder, token);
    auto wrong = settings_;
    wrong.password = "another-word";
    wrong.common.timeout = 30s;
    const auto asked = lease_clock::now();
    auto denied = open(wrong).acquire(fresh_claim("key"));
    expect_failure(denied, errc::denied, "not authenticated");
    EXPECT_LT(lease_clock::now() - asked, 10s);
    EXPECT_EQ(denied.error().detail.find("another-word"), std::string::npos);
    auto anonymous = settings_;
    anonymous.user.clear();
    anonymous.who = access::open;
    expect_failure(open(anonymous).inspect("key"), errc::denied, "user:password@");
    expect_failure(open(anonymous).release("key", token), errc::denied, "");
    EXPECT_EQ(mine.show("key").holder, token);
}

// ---- Sessions

// Goal: what others cannot see any more is let go, and never before. Method: a store goes away
// without releasing; its lease stays for its time, though the process lives on.
TEST_F(ZookeeperStore, AStoreThatGoesAwayLeavesItsLeasesToTheirTime) {
    const auto sent = lease_clock::now();
    auto other = open(settings_);
    {
        open(settings_).granted(fresh_claim("key", 3s));
    }
    other.rejected(fresh_claim("key"));
    other.granted_in_the_end(fresh_claim("key"));
    EXPECT_GE(lease_clock::now() - sent, 3s);
}

// Goal: a holder whose process hangs while its session lives does not keep its key for ever.
// Method: an ephemeral znode made by hand, which no client renews or deletes.
TEST_F(ZookeeperStore, ALeaseThatIsNotRenewedIsTakenOverThoughItsSessionLives) {
    auto mine = open(settings_);
    EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    bare_tree hung{server_->port()};
    const auto record = paths().record_of("key");
    auto parsed = parse_record(hung.get(record), write_stamp{});
    ASSERT_TRUE(parsed);
    const auto last = parsed->last_token;
    parsed->lease = "lease-hung";
    parsed->token = last;
    hung.create(record + "/lease-hung", "400", ZOO_EPHEMERAL);
    hung.set(record, text_of(*parsed));
    const auto first_seen = lease_clock::now();
    EXPECT_EQ(mine.rejected(fresh_claim("key")).holder, last);
    EXPECT_GT(mine.granted_in_the_end(fresh_claim("key")), last);
    EXPECT_GE(lease_clock::now() - first_seen, 400ms);
    EXPECT_FALSE(hung.has(record + "/lease-hung"));
}

// And one that is renewed is not. Method: the same, with a renewal in time, for three times as
// long.
TEST_F(ZookeeperStore, ALeaseThatIsRenewedByHandIsNotTakenOver) {
    auto mine = open(settings_);
    EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    bare_tree holder{server_->port()};
    const auto record = paths().record_of("key");
    const auto is_free = [&] {
        const auto got = mine.acquire(fresh_claim("key"));
        return !got.has_value() || !std::holds_alternative<busy>(*got);
    };
    // A machine that stands still for as long as the lease makes a renewal late, but not each time.
    bool was_taken = true;
    for (int turn = 0; turn < 3 && was_taken; ++turn) {
        auto parsed = parse_record(holder.get(record), write_stamp{});
        ASSERT_TRUE(parsed);
        parsed->lease = "lease-live-" + std::to_string(turn);
        const auto lease = record + "/" + parsed->lease;
        holder.create(lease, "1500", ZOO_EPHEMERAL);
        holder.set(record, text_of(*parsed));
        was_taken = is_free();
        for (int i = 0; i < 30 && !was_taken; ++i) {
            mine.pass(100ms);
            holder.set(lease, "1500");
            was_taken = is_free();
        }
    }
    EXPECT_FALSE(was_taken);
}

// Goal: 10,000 rounds leave nothing behind. Method: the server's own counts, before and after; a
// server without the sessions of other tests, which end when their leases do.
TEST_F(ZookeeperStore, TenThousandRoundsLeakNothing) {
    zookeeper_server own;
    auto mine = open(on_port(own.port(), 20s));
    constexpr int threads = 16, rounds = 625;
    const auto round = [&](int thread, int count) {
        const auto key = "key/" + std::to_string(thread);
        for (int i = 0; i < count; ++i)
            EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
    };
    for (int i = 0; i < threads; ++i) round(i, 1);
    const auto znodes = own.measure("zk_znode_count");
    const auto connections = own.measure("zk_num_alive_connections");
    const auto watches = own.measure("zk_watch_count");
    const auto ephemerals = own.measure("zk_ephemerals_count");
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < threads; ++i) all.emplace_back([&, i] { round(i, rounds); });
    }
    EXPECT_EQ(own.measure("zk_znode_count"), znodes);
    EXPECT_EQ(own.measure("zk_num_alive_connections"), connections);
    EXPECT_EQ(own.measure("zk_watch_count"), watches);
    EXPECT_EQ(own.measure("zk_ephemerals_count"), ephemerals);
}

// Goal: a store that held nothing leaves no session.
TEST_F(ZookeeperStore, AStoreThatHoldsNothingClosesItsSession) {
    open(settings_).inspect("key");
    const auto before = server_->measure("zk_num_alive_connections");
    const auto sessions = [&] {
        std::smatch found;
        const auto text = server_->ask("dump");
        return std::regex_search(text, found, std::regex{"Session Sets \\(\\d+\\)/\\((\\d+)\\)"})
                   ? std::stoi(found[1])
                   : -1;
    };
    until([&] { return sessions() >= 0; });
    const auto open_before = sessions();
    for (int i = 0; i < 5; ++i) {
        auto mine = open(settings_);
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key"))));
    }
    until([&] { return sessions() <= open_before; });
    until([&] { return server_->measure("zk_num_alive_connections") <= before; });
}

// Goal: pages are complete and in order with more keys than one reply should carry.
TEST_F(ZookeeperStore, ThousandsOfKeysComeInPages) {
    auto mine = open(settings_);
    constexpr int keys = 3000, threads = 8;
    {
        std::vector<std::jthread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                for (int i = t; i < keys; i += threads) {
                    const auto key = "many/" + std::to_string(10'000 + i);
                    EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
                }
            });
    }
    const auto found = mine.all("many/", 1000);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(keys));
    for (int i = 0; i < keys; ++i)
        EXPECT_EQ(found[static_cast<std::size_t>(i)].key, "many/" + std::to_string(10'000 + i));
}

// Goal: a client that has written nothing yet shows what is left rightly. Method: it lists a key
// in cooldown.
TEST_F(ZookeeperStore, AFreshClientListsWhatIsLeftOfACooldown) {
    auto mine = open(settings_);
    const auto token = mine.granted(fresh_claim("key", 30s));
    release_options hold;
    hold.min_hold = release_options::until_expiry;
    EXPECT_TRUE(*mine.release("key", token, hold));
    const auto found = open(settings_).all("", 10);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_GT(found.front().remaining, 20s);
    EXPECT_LE(found.front().remaining, 30s);
}

// ---- Faults between

// Goal: after an unknown outcome the same claim is answered with the same grant. Method: the answer
// is held back and the connection cut.
TEST_F(ZookeeperStore, AnAnswerLostMidRequestIsAnUnknownOutcomeThatTheSameClaimResolves) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    auto mine = open(far);
    mine.granted(fresh_claim("warm", 60s));
    for (int round = 0; round < 3; ++round) {
        const auto key = "key/" + std::to_string(round);
        EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key, 60s))));
        const auto before = proxy.held_bytes(direction::to_client);
        proxy.stall(direction::to_client);
        const auto wanted = fresh_claim(key, 60s);
        auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_client, before + 1));
        proxy.cut();
        expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
        proxy.resume(direction::to_client);
        const auto held = open(settings_).show(key).holder;
        EXPECT_GT(number(held), 0u);
        EXPECT_EQ(mine.granted(wanted), held);
    }
}

// Goal: who looks while a claim is given up is never told that its occurrence has run. Method: two
// claim the same one and give it back, as fast as they can; no claim of it is ever kept.
TEST_F(ZookeeperStore, AnOccurrenceThatIsGivenBackIsNeverToldAsDone) {
    constexpr int rounds = 500;
    const auto claim_and_give_back = [this] {
        auto mine = open(settings_);
        int granted = 0;
        for (int turn = 0; turn < rounds; ++turn) {
            auto wanted = fresh_claim("key");
            wanted.occurrence = occurrence{1'700'000'000'000};
            const auto got = mine.acquire(wanted);
            if (!got.has_value()) continue;  // others were faster
            EXPECT_FALSE(std::holds_alternative<already_done>(*got));
            if (std::holds_alternative<grant>(*got)) ++granted;
            static_cast<void>(mine.withdraw({"key", wanted.id, wanted.occurrence}));
        }
        return granted;
    };
    auto other = std::async(std::launch::async, claim_and_give_back);
    EXPECT_GT(claim_and_give_back(), 0);
    EXPECT_GT(other.get(), 0);
}

// Goal: a withdrawn claim that arrives late grants nothing. Method: it is held back on its way
// until its claimer has withdrawn it over another connection.
TEST_F(ZookeeperStore, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    auto mine = open(far);
    auto direct = open(settings_);
    for (const std::string key : {"fresh", "known"}) {
        mine.granted(fresh_claim("warm/" + key, 60s));
        if (key == "known") {
            EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
        }
        const auto before = proxy.held_bytes(direction::to_server);
        const auto packets = server_->measure("zk_packets_received");
        proxy.stall(direction::to_server);
        const auto wanted = fresh_claim(key, 60s);
        auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_server, before + 1));
        EXPECT_FALSE(*direct.withdraw({key, wanted.id}));
        proxy.resume(direction::to_server);
        const auto told = answer.get();
        until([&] { return server_->measure("zk_packets_received") > packets; });
        // It may have looked again, and then it is a claim like any other: it is not given up yet.
        if (told.has_value() && std::holds_alternative<grant>(*told)) {
            EXPECT_TRUE(*direct.withdraw({key, wanted.id}));
        }
        EXPECT_GT(number(direct.granted(fresh_claim(key))), 0u);
    }
}

TEST_F(ZookeeperStore, AConnectionThatWasCutIsMadeAnewAndLeasesLiveOn) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    auto mine = open(far);
    const auto token = mine.granted(fresh_claim("key", 60s));
    for (int i = 0; i < 5; ++i) {
        proxy.cut();
        auto renewed = mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)});
        if (renewed.has_error())
            renewed = mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)});
        ASSERT_TRUE(renewed.has_value()) << renewed.error().detail;
        EXPECT_EQ(renewed->front(), renewal::renewed);
    }
    EXPECT_GE(proxy.connections(), 5);
}

// Goal: who gives a wait up is told of no trouble. Method: no server has greeted it by then.
TEST_F(ZookeeperStore, AWaitMayBeCancelledBeforeItsSessionIsThere) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    proxy.stall(direction::to_client);
    auto mine = open(far);
    EXPECT_EQ(mine.wait_change("key", fence_token{1}, 50ms), wait_end::timed_out);
}

TEST_F(ZookeeperStore, AWaitMayBeCancelledBeforeItsWatchIsThere) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    auto mine = open(far);
    const auto token = mine.granted(fresh_claim("key", 60s));
    proxy.stall(direction::to_client);
    EXPECT_EQ(mine.wait_change("key", token, 50ms), wait_end::timed_out);
    proxy.resume(direction::to_client);
    EXPECT_EQ(mine.show("key").holder, token);
    EXPECT_EQ(mine.renew(lease_of("key", token)), renewal::renewed);
}

// Goal: a loop may end under requests and waiters without a leak or a crash; LeakSanitizer sees it.
TEST_F(ZookeeperStore, ALoopMayEndUnderWhatStillRuns) {
    tcp_proxy proxy{server_->port()};
    auto far = settings_;
    far.servers.front().port = proxy.port();
    auto where = std::make_unique<net::loop>();
    auto store = make_zookeeper_store(*where, far);
    {
        auto warm = where->wait_for(store->acquire(fresh_claim("key/0", 60s)));
        ASSERT_TRUE(warm.has_value());
    }
    proxy.stall(direction::to_client);
    for (int i = 0; i < 10; ++i) {
        const auto key = "key/" + std::to_string(i);
        boost::asio::co_spawn(where->get_executor(), store->inspect(key),
                              [](std::exception_ptr, result<std::optional<record>>) {});
        boost::asio::co_spawn(where->get_executor(), store->wait_change(key, fence_token{1}),
                              [](std::exception_ptr, result<void>) {});
    }
    ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_client, 1));
    where.reset();
    store.reset();
    proxy.resume(direction::to_client);
}

// ---- What the doctor is told

TEST_F(ZookeeperStore, ItsExaminationSaysHowTheServerIs) {
    net::loop where;
    auto store = make_zookeeper_store(where, settings_);
    const auto seen = where.wait_for(store->examine());
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->version, "ZooKeeper 3.8.0");
    ASSERT_TRUE(seen->clock);
    std::map<std::string, std::string> found;
    for (const auto& one : seen->findings) {
        EXPECT_EQ(one.text.find('\n'), std::string::npos);
        found[one.check] += std::to_string(static_cast<int>(one.level)) + " " + one.text + ";";
    }
    EXPECT_EQ(found["version"], "0 ZooKeeper 3.8.0;");
    EXPECT_NE(found["quorum"].find("1 one server alone"), std::string::npos) << found["quorum"];
    EXPECT_NE(found["persistence"].find("0 every write"), std::string::npos);
    EXPECT_NE(found["limits"].find("0 sessions of up to"), std::string::npos) << found["limits"];
    EXPECT_NE(found["privileges"].find("1 everybody"), std::string::npos);
    EXPECT_NE(found["tls"].find("tunnel"), std::string::npos);
}

}  // namespace
}  // namespace pawl::zookeeper
