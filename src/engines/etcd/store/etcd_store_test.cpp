// What only etcd has: its layout, its leases and revisions, and the faults of real clusters. What
// every store must do is in test_support/conformance.
#include "engines/etcd/store/make_etcd_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/etcd_server.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <future>
#include <regex>
#include <sstream>
#include <thread>

namespace pawl::etcd {
namespace {

using namespace std::chrono_literals;
using namespace conformance;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::etcd_options;
using testing_servers::etcd_server;

etcd_settings on_port(std::uint16_t port, millis timeout = 5s) {
    etcd_settings settings;
    settings.endpoints = {{"127.0.0.1", port}};
    settings.common.timeout = timeout;
    return settings;
}

etcd_settings on_all(const etcd_server& server, millis timeout = 5s) {
    auto settings = on_port(server.port(), timeout);
    for (std::size_t i = 1; i < server.members(); ++i)
        settings.endpoints.push_back({"127.0.0.1", server.port(i)});
    return settings;
}

client open(const etcd_settings& settings) {
    return client{[&](net::loop& where) { return make_etcd_store(where, settings); }};
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string value_of(const etcd_server& server, const std::string& key) {
    auto text = server.ask({"get", key, "--print-value-only"});
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

// Asks again while it is unknown, as the runtime does with the same claim.
fence_token granted_somehow(client& through, const claim& wanted) {
    const auto give_up = lease_clock::now() + 20s;
    while (lease_clock::now() < give_up) {
        const auto got = through.acquire(wanted);
        if (got.has_error()) {
            EXPECT_TRUE(got.error().code == errc::unreachable ||
                        got.error().code == errc::outcome_unknown)
                << got.error().detail;
            continue;
        }
        if (const auto* won = std::get_if<grant>(&*got)) return won->token;
        through.pass(20ms);
    }
    ADD_FAILURE() << wanted.key << " was not granted within 20 s";
    return {};
}

// ---- Layout, leases, revisions

// The layout is documented: people read it with etcdctl when all else fails.
TEST(EtcdStore, WhatLiesThereIsTextThatPeopleCanRead) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    auto wanted = claim{"a/key", "my-id", "me on host", 30s};
    wanted.occurrence = occurrence{1795184283285};
    const auto token = mine.granted(wanted);
    const auto marker = value_of(server, "pawl/marker");
    EXPECT_TRUE(std::regex_match(marker, std::regex{"2 ([0-9]{16}) [0-9a-f]+ \\1 0"})) << marker;
    const auto lock = value_of(server, "pawl/lock/a/key");
    const auto holds = std::to_string(number(token)) + " [0-9]{13} ";
    EXPECT_TRUE(std::regex_match(lock, std::regex{"2 my-id " + holds + "me on host"})) << lock;
    EXPECT_EQ(value_of(server, "pawl/done/a/key"), "p0000001795184283285");
    EXPECT_TRUE(*mine.release("a/key", token));
    EXPECT_EQ(value_of(server, "pawl/lock/a/key"), "");
    const auto record = value_of(server, "pawl/record/a/key");
    const std::regex ended{"2 " + std::to_string(number(token)) + " ended [0-9]{13} % me on host"};
    EXPECT_TRUE(std::regex_match(record, ended)) << record;
    EXPECT_TRUE(mine.fence("door", fence_token{42}, fence_rule::reject_older)->accepted);
    EXPECT_EQ(value_of(server, "pawl/fence/door"), "0000000000000042");
}

// Goal: nothing is left behind. Method: count keys and leases around ten thousand rounds; released
// leases serve again, so a few are enough.
TEST(EtcdStore, TenThousandRoundsLeaveNothingBehind) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    EXPECT_TRUE(*mine.release("0", mine.granted(fresh_claim("0"))));
    const auto keys = [&] {
        return lines_of(server.ask({"get", "--prefix", "pawl/", "--keys-only"}));
    };
    const auto leases = [&] { return lines_of(server.ask({"lease", "list"})); };
    std::atomic<int> left{10'000};
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 4; ++i)
            callers.emplace_back([&, i] {
                const auto key = std::to_string(i);
                while (left.fetch_sub(1) > 0)
                    EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
            });
    }
    // Two lines a key: the marker, what records are kept by, and four records.
    EXPECT_EQ(keys(), 12u);
    EXPECT_LE(leases(), 12u);
}

TEST(EtcdStore, OneUnreadableRecordHidesNoOther) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    for (const auto* key : {"job/a", "job/b", "job/c"}) mine.granted(fresh_claim(key, 60s));
    server.ask({"put", "pawl/record/job/b", "not ours"});
    conformance::expect_all_but_one_shown(mine, "job/");
}

// Goal: the time to live is kept, though etcd counts whole seconds. Method: a lease of a second and
// a half is still held after that, and not for ever.
TEST(EtcdStore, AFractionOfASecondIsRoundedUp) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    const auto sent = lease_clock::now();
    mine.granted(fresh_claim("key", 1500ms));
    mine.granted_in_the_end(fresh_claim("key", 1s), 200ms, 30s);
    EXPECT_GE(lease_clock::now() - sent, 1500ms);
    EXPECT_LT(lease_clock::now() - sent, 25s);
}

// Goal: a lease that serves again lasts as long as a new one. Method: release and claim at once,
// over and over, then let the last one expire.
TEST(EtcdStore, AReusedLeaseLastsItsWholeTime) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(*mine.release("key", mine.granted(fresh_claim("key", 5s))));
        mine.pass(60ms);
    }
    const auto sent = lease_clock::now();
    mine.granted(fresh_claim("key", 5s));
    auto other = open(on_port(server.port()));
    until([&] { return number(other.show("key").holder) == 0; });
    EXPECT_GE(lease_clock::now() - sent, 5s);
}

// Goal: that etcd keeps a lease alive is not taken for holding the key. Method: delete the key by
// hand, and by a forced release, while its lease goes on.
TEST(EtcdStore, AKeyThatWasTakenAwayIsLostThoughItsLeaseLives) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    server.ask({"del", "pawl/lock/key"});
    EXPECT_EQ(mine.renew(lease_of("key", token, 60s)), renewal::lost);
    const auto next = mine.granted(fresh_claim("key", 60s));
    EXPECT_GT(next, token);
    EXPECT_TRUE(*open(on_port(server.port())).force_release("key", next, 0ms));
    EXPECT_EQ(mine.renew(lease_of("key", next, 60s)), renewal::lost);
}

// Goal: the pause after a forced release is not over before the lease that it ends would have been,
// also where a renewal of that is under way. Method: etcd's own word on the lease of the pause,
// where the lock delay is longer than the TTL, of which a part has passed.
TEST(EtcdStore, TheDelayOfAForcedReleaseLastsAsLongAsTheLeaseThatItEnds) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    while (mine.show("key").remaining > 58s) mine.pass(50ms);
    EXPECT_TRUE(*mine.force_release("key", token, 5min));
    std::smatch found;
    const auto pause = server.ask({"get", "pawl/pause/key", "-w", "fields"});
    ASSERT_TRUE(std::regex_search(pause, found, std::regex{"\"Lease\" : ([0-9]+)"})) << pause;
    std::ostringstream lease;
    lease << std::hex << std::stoll(found[1]);
    const auto told = server.ask({"lease", "timetolive", lease.str(), "-w", "fields"});
    ASSERT_TRUE(std::regex_search(told, found, std::regex{"\"GrantedTTL\" : ([0-9]+)"})) << told;
    EXPECT_GE(std::stoi(found[1]), 60);
    EXPECT_LE(std::stoi(found[1]), 61);
}

// Goal: a lease can be renewed and ended from elsewhere, by its token. Method: another store does.
TEST(EtcdStore, AnotherProcessMayRenewAndReleaseByTheToken) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    auto other = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 10s));
    EXPECT_EQ(other.renew(lease_of("key", token, 60s)), renewal::renewed);
    EXPECT_GT(mine.show("key").remaining, 50s);
    EXPECT_EQ(mine.renew(lease_of("key", token, 10s)), renewal::renewed);
    release_options cooldown;
    cooldown.min_hold = 30s;
    EXPECT_TRUE(*other.release("key", token, cooldown));
    EXPECT_EQ(mine.renew(lease_of("key", token, 10s)), renewal::lost);
    EXPECT_EQ(mine.rejected(fresh_claim("key")).reason, busy_reason::cooldown);
}

TEST(EtcdStore, ManyLeasesAreRenewedInOneBatch) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    std::vector<held_lease> all;
    for (int i = 0; i < 500; ++i) {
        const auto key = "key/" + std::to_string(i);
        all.push_back(lease_of(key, mine.granted(fresh_claim(key, 60s)), 60s));
    }
    server.ask({"del", "pawl/lock/key/250"});
    const auto answers = mine.renew(all);
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ((*answers)[i], i == 250 ? renewal::lost : renewal::renewed) << i;
}

// Goal: what is looked at in batches is looked at in smaller ones where etcd allows fewer
// operations.
TEST(EtcdStore, AServerThatAllowsFewOperationsIsAskedForFewerAtOnce) {
    etcd_options options;
    options.more = {"--max-txn-ops=32"};
    etcd_server server{options};
    auto mine = open(on_port(server.port()));
    std::vector<held_lease> all;
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
        keys.push_back("key/" + std::to_string(i));
        all.push_back(lease_of(keys.back(), mine.granted(fresh_claim(keys.back(), 60s)), 60s));
    }
    const auto answers = mine.renew(all);
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    EXPECT_EQ(std::count(answers->begin(), answers->end(), renewal::renewed), 100);
    auto other = open(on_port(server.port()));
    const auto seen = other.inspect_many(keys);
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    EXPECT_EQ(seen->size(), 100u);
    EXPECT_TRUE(std::all_of(seen->begin(), seen->end(), [](const auto& one) { return !!one; }));
}

// Goal: one value that cannot be read costs no other lease its renewal. Method: another program
// overwrites the lock of one.
TEST(EtcdStore, OneUnreadableValueIsUnknownForItsLeaseAlone) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    const auto spoiled = mine.granted(fresh_claim("spoiled", 60s));
    const auto whole = mine.granted(fresh_claim("whole", 60s));
    server.ask({"put", "pawl/lock/spoiled", "not ours"});
    const auto answers =
        mine.renew({lease_of("spoiled", spoiled, 60s), lease_of("whole", whole, 60s)});
    ASSERT_TRUE(answers.has_value()) << answers.error().detail;
    EXPECT_EQ(*answers, (std::vector{renewal::unknown, renewal::renewed}));
}

// Goal: a waiter survives the compaction of the revisions it saw. Method: compact while it waits,
// and again before another begins with a token of old.
TEST(EtcdStore, AWaitSurvivesACompaction) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = mine.start_waiting("key", token, 20s);
    for (int i = 0; i < 5; ++i) server.ask({"put", "other", std::to_string(i)});
    const auto status = server.ask({"get", "other", "-w", "fields"});
    std::smatch found;
    ASSERT_TRUE(std::regex_search(status, found, std::regex{"\"Revision\" : ([0-9]+)"}));
    server.ask({"compact", found[1]});
    auto later = mine.start_waiting("key", token, 20s);
    mine.pass(50ms);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
    EXPECT_EQ(later.get(), wait_end::changed);
}

// ---- Losses

// Goal: a cluster that lost everything under a client is noticed, and tokens still rise. Method:
// wipe it while a lease is held.
TEST(EtcdStore, ALossOfDataUnderAClientEndsItsLeasesAndTokensRise) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(*mine.release("other", mine.granted(fresh_claim("other"))));
    const auto token = mine.granted(fresh_claim("key", 60s));
    server.lose_data();
    auto lost = mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)});
    if (lost.has_error()) lost = mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)});
    ASSERT_TRUE(lost.has_value()) << lost.error().detail;
    EXPECT_EQ(lost->front(), renewal::lost);
    EXPECT_GT(granted_somehow(mine, fresh_claim("key", 60s)), token);
}

// Goal: a restored backup is another epoch: its revisions were granted once already. Method: grant
// on, put the backup in place, and claim through the client of before and through a new one.
TEST(EtcdStore, ARestoredBackupBeginsAnEpochOfItsOwn) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    mine.granted(fresh_claim("first", 60s));
    server.save_backup();
    fence_token last{};
    for (int i = 0; i < 30; ++i) {
        last = mine.granted(fresh_claim("key", 60s));
        EXPECT_TRUE(*mine.release("key", last));
    }
    server.restore_backup();
    const auto by_old = granted_somehow(mine, fresh_claim("key", 60s));
    EXPECT_GT(by_old, last);
    auto fresh = open(on_port(server.port()));
    EXPECT_EQ(fresh.show("key").holder, by_old);
    EXPECT_TRUE(*fresh.release("key", by_old));
    EXPECT_GT(fresh.granted(fresh_claim("key", 60s)), by_old);
}

// Goal: nor does a backup that cannot be told from a restart hand a token out twice: the folders
// are put back under the identity of old, and only clients that know nothing of the time between
// ask.
TEST(EtcdStore, FoldersThatWerePutBackHandNoTokenOutAgain) {
    etcd_server server;
    open(on_port(server.port())).granted(fresh_claim("first", 60s));
    server.save_folders();
    fence_token last{};
    {
        auto before = open(on_port(server.port()));
        for (int i = 0; i < 10; ++i) {
            last = before.granted(fresh_claim("key", 60s));
            EXPECT_TRUE(*before.release("key", last));
        }
    }
    server.restore_folders();
    auto fresh = open(on_port(server.port()));
    EXPECT_FALSE(fresh.inspect("key")->has_value());
    EXPECT_GT(granted_somehow(fresh, fresh_claim("key", 60s)), last);
}

// Goal: tokens never run ahead of the clock, or those of a cluster that is wiped soon after would
// fall. Method: a namespace is born in a cluster with many revisions.
TEST(EtcdStore, ATokenIsNotAheadOfTheClockHoweverManyRevisionsThereAre) {
    etcd_server server;
    auto busy = open(on_port(server.port()));
    constexpr int threads = 8, rounds = 1000;
    {
        std::vector<std::jthread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                const auto key = std::to_string(t);
                for (int i = 0; i < rounds; ++i)
                    EXPECT_TRUE(*busy.release(key, busy.granted(fresh_claim(key))));
            });
    }
    auto settings = on_port(server.port());
    settings.common.name_space = "newborn";
    const auto token = open(settings).granted(fresh_claim("key"));
    const auto now = time::wall_now().time_since_epoch();
    EXPECT_LE(token, fence_token{static_cast<std::uint64_t>(now.count())});
}

// Goal: what the layout before this one granted is held, known and outbid. Method: its values are
// put there by hand, with tokens that are ahead of the clock.
TEST(EtcdStore, TokensRiseAboveThoseOfTheLayoutBefore) {
    etcd_server server;
    const auto text = server.ask({"get", "pawl/", "--write-out=json"});
    std::smatch cluster;
    ASSERT_TRUE(std::regex_search(text, cluster, std::regex{"\"cluster_id\":([0-9]+)"}));
    char digits[17] = {};
    std::to_chars(digits, digits + 16, std::stoull(cluster[1]), 16);
    const auto now = time::wall_now().time_since_epoch();
    const auto born = static_cast<std::uint64_t>((now + 1h).count());
    server.ask({"put", "pawl/marker", "1 " + std::to_string(born) + " " + digits});
    server.ask({"put", "pawl/record/ended", "1 ended " + std::to_string(born + 1) + " 5 me"});
    server.ask({"put", "pawl/record/held", "1 granted - 5 me"});
    const auto lease = server.ask({"lease", "grant", "600"});
    std::smatch id;
    ASSERT_TRUE(std::regex_search(lease, id, std::regex{"lease ([0-9a-f]+) "}));
    server.ask({"put", "--lease=" + id[1].str(), "pawl/lock/held", "1 my-id - 5 me"});
    auto mine = open(on_port(server.port()));
    const auto held = mine.show("held").holder;
    EXPECT_GT(number(held), born);
    EXPECT_EQ(mine.granted(claim{"held", "my-id", "me", 30s}), held);
    EXPECT_GT(mine.granted(fresh_claim("never")), held);
    EXPECT_GT(mine.granted(fresh_claim("ended")), fence_token{born + 1});
    EXPECT_TRUE(*mine.release("held", held));
    const auto next = mine.granted(fresh_claim("held"));
    EXPECT_GT(next, held);
    EXPECT_LT(number(next), std::uint64_t{1} << 53);
    EXPECT_EQ(value_of(server, "pawl/marker").substr(0, 2), "2 ");
}

// ---- Faults

TEST(EtcdStore, WaitsAndRequestsResumeAfterARestart) {
    etcd_server server;
    auto mine = open(on_port(server.port()));
    auto other = open(on_port(server.port()));
    const auto token = mine.granted(fresh_claim("key", 60s));
    auto woke = other.start_waiting("key", token, 20s);
    // A wait that is cut short before etcd has it fails, and is for the caller to begin again.
    until([&] { return server.watchers() > 0; });
    EXPECT_EQ(other.show("key").holder, token);
    server.restart();
    EXPECT_EQ(mine.renew(std::vector<held_lease>{lease_of("key", token, 60s)}).has_value() ||
                  mine.renew(lease_of("key", token, 60s)) == renewal::renewed,
              true);
    EXPECT_TRUE(*mine.release("key", token));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

// Goal: killed in the middle of everything, it forgets nothing that it answered. Method: four
// threads go on while it is killed three times; tokens of each key never fall.
TEST(EtcdStore, TokensRiseThoughTheServerIsKilledUnderLoad) {
    etcd_server server;
    auto mine = open(on_port(server.port(), 2s));
    std::atomic<bool> enough{false};
    std::atomic<int> rounds{0};
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            const auto key = "key/" + std::to_string(i % 2);
            fence_token last{};
            while (!enough) {
                const auto token = granted_somehow(mine, fresh_claim(key, 10s));
                EXPECT_GT(token, last);
                last = token;
                auto released = mine.release(key, token);
                while (released.has_error() && !enough) released = mine.release(key, token);
                ++rounds;
            }
        });
    for (int i = 0; i < 3; ++i) {
        const auto before = rounds.load();
        until([&] { return rounds > before + 50; });
        server.crash();
        server.start();
    }
    const auto before = rounds.load();
    until([&] { return rounds > before + 50; });
    enough = true;
}

TEST(EtcdStore, ARequestWithoutAnswerEndsWithinTheTimeoutAsUnknown) {
    etcd_server server;
    auto mine = open(on_port(server.port(), 300ms));
    const auto wanted = fresh_claim("key", 60s);
    EXPECT_TRUE(*mine.release("warm", granted_somehow(mine, fresh_claim("warm", 60s))));
    server.freeze();
    const auto asked = lease_clock::now();
    expect_failure(mine.acquire(wanted), errc::outcome_unknown, "no answer within 300ms");
    EXPECT_LT(lease_clock::now() - asked, 10s);
    expect_failure(mine.acquire(wanted), errc::unreachable, "no answer");
    server.thaw();
    const auto token = granted_somehow(mine, wanted);
    EXPECT_EQ(open(on_port(server.port(), 10s)).show("key").holder, token);
}

// Goal: a lease is not lost because the node's clock cannot be read. Method: the connection stands,
// and no new one is taken, as each reading is.
TEST(EtcdStore, AConnectionThatIsWellOutlivesAClockThatCannotBeRead) {
    etcd_server server;
    tcp_proxy proxy{server.port()};
    auto settings = on_port(proxy.port(), 10s);
    settings.clock_age_max = 0ms;
    auto mine = open(settings);
    const auto token = mine.granted(fresh_claim("held", 60s));
    const auto due_now = [](const std::string& key) {
        auto wanted = fresh_claim(key, 60s);
        wanted.occurrence =
            occurrence{std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count()};
        return wanted;
    };
    EXPECT_TRUE(*mine.release("warm", mine.granted(due_now("warm"))));
    proxy.reject_new();
    for (const auto* key : {"one", "two"}) EXPECT_GT(number(mine.granted(due_now(key))), 0u);
    EXPECT_EQ(mine.renew(lease_of("held", token, 60s)), renewal::renewed);
    // Another is taken once it can be.
    proxy.cut();
    proxy.accept_again();
    EXPECT_GT(number(granted_somehow(mine, due_now("three"))), 0u);
}

// Goal: an answer that was lost costs nothing. Method: the answer is held back until the connection
// is cut; the same claim again gets the one grant that was made, or is withdrawn.
TEST(EtcdStore, AClaimWhoseAnswerWasLostIsRepeatedOrWithdrawn) {
    etcd_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 3s));
    auto direct = open(on_port(server.port()));
    EXPECT_TRUE(*mine.release("warm", mine.granted(fresh_claim("warm", 60s))));
    for (const bool repeated : {true, false}) {
        const auto key = repeated ? "repeated" : "withdrawn";
        const auto wanted = fresh_claim(key, 60s);
        // A key that has a record is granted by one transaction.
        EXPECT_TRUE(*mine.release(key, granted_somehow(mine, fresh_claim(key, 60s))));
        proxy.stall(direction::to_client);
        auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        until([&] { return number(direct.show(key).holder) != 0; });
        proxy.cut();
        proxy.resume(direction::to_client);
        expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
        const auto held = direct.show(key).holder;
        EXPECT_GT(number(held), 0u);
        if (repeated) {
            EXPECT_EQ(granted_somehow(mine, wanted), held);
        } else {
            EXPECT_TRUE(*mine.withdraw({key, wanted.id}));
            EXPECT_EQ(number(direct.show(key).holder), 0u);
        }
    }
}

// Goal: a withdrawn claim that arrives late grants nothing. Method: it is held back on its way
// until its claimer has withdrawn it over another connection.
TEST(EtcdStore, AClaimThatArrivesAfterItsWithdrawalIsRejected) {
    etcd_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port(), 10s));
    auto direct = open(on_port(server.port()));
    EXPECT_TRUE(*mine.release("warm", mine.granted(fresh_claim("warm", 60s))));
    proxy.stall(direction::to_server);
    const auto wanted = fresh_claim("key", 60s);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_server, 1));
    EXPECT_FALSE(*direct.withdraw({"key", wanted.id}));
    proxy.resume(direction::to_server);
    const auto got = answer.get();
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_TRUE(std::holds_alternative<busy>(*got));
    EXPECT_GT(number(direct.granted(fresh_claim("key"))), 0u);
}

TEST(EtcdStore, AnEndpointThatIsDownIsPassedOver) {
    etcd_server server;
    auto settings = on_port(testing_servers::free_port());
    settings.common.timeout = 30s;
    settings.endpoints.push_back({"127.0.0.1", server.port()});
    auto mine = open(settings);
    const auto asked = lease_clock::now();
    mine.granted(fresh_claim("key"));
    EXPECT_LT(lease_clock::now() - asked, 15s);
}

// ---- Clusters

class EtcdCluster : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        etcd_options options;
        options.members = 3;
        server_ = std::make_unique<etcd_server>(options);
    }
    static void TearDownTestSuite() { server_.reset(); }
    static etcd_server& server() { return *server_; }

private:
    static inline std::unique_ptr<etcd_server> server_;
};

// Goal: the leader goes and no client notices more than a pause. Method: freeze it, then kill it,
// while a lease is held and others are taken and released.
TEST_F(EtcdCluster, ALeaderThatGoesLeavesLeasesAndTokensWhole) {
    auto mine = open(on_all(server(), 2s));
    const auto kept = granted_somehow(mine, fresh_claim("kept", 60s));
    fence_token last{};
    const auto go_on = [&] {
        for (int i = 0; i < 20; ++i) {
            const auto token = granted_somehow(mine, fresh_claim("key", 10s));
            EXPECT_GT(token, last);
            last = token;
            auto released = mine.release("key", token);
            for (int tries = 0; released.has_error() && tries < 10; ++tries)
                released = mine.release("key", token);
            EXPECT_TRUE(released.has_value());
        }
    };
    go_on();
    const auto frozen = server().leader();
    server().freeze(frozen);
    go_on();
    server().thaw(frozen);
    const auto killed = server().leader();
    server().crash(killed);
    go_on();
    auto renewed = mine.renew(std::vector<held_lease>{lease_of("kept", kept, 60s)});
    if (renewed.has_error())
        renewed = mine.renew(std::vector<held_lease>{lease_of("kept", kept, 60s)});
    ASSERT_TRUE(renewed.has_value()) << renewed.error().detail;
    EXPECT_EQ(renewed->front(), renewal::renewed);
    server().start(killed);
}

// Goal: without a majority nothing is granted, and nothing is lost. Method: stop two of three.
TEST_F(EtcdCluster, WithoutAQuorumNothingIsGrantedUntilItIsBack) {
    auto mine = open(on_all(server(), 1s));
    const auto token = granted_somehow(mine, fresh_claim("quorum", 60s));
    server().crash(1);
    server().crash(2);
    const auto asked = lease_clock::now();
    const auto got = mine.acquire(fresh_claim("other", 10s));
    ASSERT_TRUE(got.has_error());
    EXPECT_TRUE(got.error().code == errc::unreachable || got.error().code == errc::outcome_unknown)
        << got.error().detail;
    EXPECT_LT(lease_clock::now() - asked, 20s);
    server().begin(1);
    server().start(2);
    const auto held = [&] {
        const auto seen = mine.inspect("quorum");
        return seen.has_value() && seen->has_value() && (*seen)->holder == token;
    };
    until(held);
    EXPECT_GT(number(granted_somehow(mine, fresh_claim("after", 10s))), 0u);
}

}  // namespace
}  // namespace pawl::etcd
