// What the core does where the laws that all stores keep do not look: conflicts, lost answers, late
// writes, and a clock that is known to the second.
#include "engines/cas/store/record_text.hpp"
#include "engines/cas/store/self_race.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/media/actor.hpp"

#include <gtest/gtest.h>

namespace pawl::cas {
namespace {

using namespace std::chrono_literals;
using conformance::expect_failure;
using conformance::level_of;
using testing_media::actor;
using testing_media::fate;
using testing_media::honesty;
using testing_media::write_stamps;
using store_setup = testing_media::memory_stage;

claim claim_of(const std::string& id, millis ttl = 10s, const std::string& key = "key") {
    return {key, id, "owner " + id, ttl};
}

// One world; the tests of CasStores make as many as they need.
class CasStore : public testing::Test {
protected:
    store_setup on;
    actor mine{on}, other{on};
};

record_name lease_name(const std::string& key = "key") { return {record_kind::lease, key}; }

int rounds_raced(store_setup& on) {
    return parse_marker(on.table->read({record_kind::marker, ""}).text).value().rounds;
}

lease_record lease_at(store_setup& on, const std::string& key = "key") {
    return parse_lease(on.table->read(lease_name(key)).text).value();
}

// The next so many writes of leases have this fate, and all others are answered.
void fate_of_writes(store_setup& on, fate what, int times = 1) {
    on.table->fates = [what, left = std::make_shared<int>(times)](bool writes,
                                                                  const record_name& name) {
        if (!writes || name.kind != record_kind::lease || *left == 0) return fate::answered;
        --*left;
        return what;
    };
}

// Goal: the price of a verb. Method: count what the medium is asked for: no more than one write
// where this process wrote last, and one read before it where it did not.
TEST_F(CasStore, WhatWasWrittenHereIsWrittenOverWithoutARead) {
    const auto token = mine.granted(claim_of("a"));
    const auto before = on.table->count();
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed);
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed);
    EXPECT_TRUE(mine.release("key", token).value());
    mine.granted(claim_of("b"));
    EXPECT_EQ(on.table->count().reads, before.reads);
    EXPECT_EQ(on.table->count().writes, before.writes + 4);
}

// Goal: an acknowledged grant whose answer was lost is the same grant. Method: the store reads
// again within the verb; another attempt under the same id agrees.
TEST_F(CasStore, AGrantWhoseAnswerWasLostIsFoundByItsNonce) {
    mine.release("key", mine.granted(claim_of("before")));
    fate_of_writes(on, fate::answer_lost);
    const auto token = mine.granted(claim_of("a"));
    EXPECT_EQ(lease_at(on).state.holder, token);
    EXPECT_EQ(mine.granted(claim_of("a")), token);
    EXPECT_EQ(other.rejected(claim_of("b")).holder, token);
}

// The next request of all, counted from 0, has this fate, and those after it never leave: the
// process has crashed.
void crash_at(store_setup& on, int request, fate what) {
    on.table->fates = [what, request, count = std::make_shared<int>(0)](bool, const record_name&) {
        const auto mine = (*count)++;
        return mine < request ? fate::answered : mine == request ? what : fate::request_lost;
    };
}

// Goal: what is not known is not told. Method: the answer to the write is lost, and whether it was
// written cannot be read either.
TEST_F(CasStore, AWriteThatCannotBeReadBackIsUnknown) {
    mine.release("key", mine.granted(claim_of("before")));
    crash_at(on, 0, fate::answer_lost);
    expect_failure(mine.acquire(claim_of("a")), errc::outcome_unknown, "");
    on.table->fates = {};
    const auto token = lease_at(on).state.holder;
    EXPECT_GT(number(token), 0u);
    EXPECT_EQ(mine.granted(claim_of("a")), token);
}

TEST_F(CasStore, AWriteThatNeverLeftHasNoEffect) {
    mine.release("key", mine.granted(claim_of("before")));
    const auto before = on.table->read(lease_name()).at;
    crash_at(on, 0, fate::request_lost);
    expect_failure(mine.acquire(claim_of("a")), errc::unreachable, "");
    EXPECT_EQ(on.table->read(lease_name()).at, before);
}

// Goal: a store that answers no write is not asked more than it is in good health. Method: reads
// are answered at once, and no write is, for the whole of a verb.
TEST_F(CasStore, AStoreThatAnswersNoWriteIsAskedEverMoreSeldom) {
    on.settings.common.timeout = 2s;
    mine.release("key", mine.granted(claim_of("before")));
    on.table->delay = [] { return 1ms; };
    fate_of_writes(on, fate::unanswered, 1'000'000);
    const auto before = on.table->count();
    const auto asked = on.now();
    expect_failure(mine.acquire(claim_of("a")), errc::outcome_unknown, "");
    EXPECT_GT(on.table->count().writes, before.writes + 3);
    EXPECT_LT(on.table->count().writes, before.writes + 30);
    EXPECT_LT(on.table->count().reads, before.reads + 30);
    EXPECT_LE(on.now() - asked, 2s + 20ms);
}

// Goal: an answer that was lost costs its verb next to nothing. Method: one write is unanswered.
TEST_F(CasStore, OneLostAnswerIsAskedForAtOnce) {
    mine.release("key", mine.granted(claim_of("before")));
    fate_of_writes(on, fate::unanswered);
    const auto asked = on.now();
    mine.granted(claim_of("a"));
    EXPECT_LE(on.now() - asked, 20ms);
}

// Goal: a claim that arrives after its withdrawal is granted nothing. Method: it is held back, over
// a record that is there and over none; it is withdrawn, and then it arrives.
TEST(CasStores, AClaimThatArrivesAfterItsWithdrawalIsNotGranted) {
    for (const bool is_new : {true, false}) {
        store_setup on;
        actor mine{on}, other{on};
        mine.granted(claim_of("x", 10s, "other"));
        if (!is_new) mine.release("key", mine.granted(claim_of("before")));
        crash_at(on, is_new ? 2 : 0, fate::late);
        expect_failure(mine.acquire(claim_of("a")), errc::outcome_unknown, "");
        on.table->fates = {};
        EXPECT_FALSE(mine.withdraw({"key", "a"}).value());
        EXPECT_EQ(other.inspect("key").value().has_value(), !is_new) << "a trace is no record";
        EXPECT_EQ(on.table->deliver(), 1u);
        EXPECT_EQ(number(lease_at(on).state.holder), 0u);
        EXPECT_GT(number(other.granted(claim_of("b"))), 0u);
    }
}

// Goal: a write that is late is overtaken by its own repetition. Method: it arrives after the
// second attempt was granted.
TEST_F(CasStore, OfTwoAttemptsOneIsWritten) {
    mine.release("key", mine.granted(claim_of("before")));
    fate_of_writes(on, fate::late);
    const auto token = mine.granted(claim_of("a"));
    const auto stands = on.table->read(lease_name());
    EXPECT_EQ(on.table->deliver(), 1u);
    EXPECT_EQ(on.table->read(lease_name()).at, stands.at);
    EXPECT_EQ(lease_at(on).state.holder, token);
}

TEST_F(CasStore, ALateReleaseFreesNoOtherHoldersKey) {
    const auto token = mine.granted(claim_of("a"));
    fate_of_writes(on, fate::late);
    EXPECT_TRUE(mine.release("key", token).value());
    const auto taken = other.granted(claim_of("b"));
    EXPECT_EQ(on.table->deliver(), 1u);
    EXPECT_EQ(lease_at(on).state.holder, taken);
}

// Goal: a record that another client has touched is no lost lease. Method: a withdrawal of another
// id between two beats, which costs the beat one look; then a forced release, which does end it.
TEST_F(CasStore, ARenewalLooksAgainWhereTheRecordWasChanged) {
    const auto token = mine.granted(claim_of("a"));
    EXPECT_FALSE(other.withdraw({"key", "b"}).value());
    const auto before = on.table->count();
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed);
    EXPECT_EQ(on.table->count().reads, before.reads + 1);
    EXPECT_TRUE(other.force_release("key", token, 1s).value());
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::lost);
}

std::vector<held_lease> many_leases(actor& of, int count) {
    std::vector<held_lease> all;
    for (int i = 0; i < count; ++i) {
        const auto key = "key/" + std::to_string(i);
        all.push_back({key, of.granted(claim_of("a", 10s, key)), 10s});
    }
    return all;
}

TEST_F(CasStore, ABeatIsAsFewRequestsAsTheMediumCanCarry) {
    on.table->traits.batch_max = 25;
    const auto all = many_leases(mine, 60);
    const auto before = on.table->count();
    const auto answers = mine.renew(all);
    EXPECT_EQ(answers.value(), std::vector(60, renewal::renewed));
    EXPECT_EQ(on.table->count().batches, before.batches + 3);
    EXPECT_EQ(on.table->count().reads, before.reads);
    EXPECT_EQ(on.table->count().writes, before.writes);
}

// Goal: what is unknown of one lease says nothing of the others. Method: the answer for one is
// lost; the next beat finds it as it is. And when no write leaves, that is a failure for all.
TEST(CasStores, ALostAnswerIsUnknownForItsOwnLease) {
    for (const auto what : {fate::answer_lost, fate::unanswered, fate::late}) {
        store_setup on;
        on.table->traits.batch_max = 25;
        actor mine{on};
        const auto all = many_leases(mine, 3);
        fate_of_writes(on, what);
        EXPECT_EQ(mine.renew(all).value(),
                  (std::vector{renewal::unknown, renewal::renewed, renewal::renewed}));
        EXPECT_EQ(mine.renew(all).value(), std::vector(3, renewal::renewed));
        on.table->deliver();
        EXPECT_EQ(mine.renew(all).value(), std::vector(3, renewal::renewed));
        fate_of_writes(on, fate::request_lost, 3);
        EXPECT_EQ(mine.renew(all).error().code, errc::unreachable);
    }
}

// When another process is granted the key of a holder that crashed, counted from before its claim
// was sent. The other asks a front end whose clock is so far ahead.
instant::duration taken_after(store_setup& on, millis ttl, micros ahead = 0s) {
    actor mine{on}, other{on};
    mine.granted(claim_of("a", ttl, "warm"));
    other.inspect("warm");
    const auto sent = on.now();
    mine.granted(claim_of("a", ttl));
    on.store_ahead += ahead;
    other.granted_in_the_end(claim_of("b", ttl), 10ms, 1min);
    return on.now() - sent;
}

// Goal: a clock that is known to the second ends no lease early, and little later than a second.
// Method: grants at all phases of the second, and with requests that take their time.
TEST(CasStores, ALeaseIsNeverTakenBeforeItsTimeThoughTheClockIsCoarse) {
    for (auto phase = 0us; phase < 1s; phase += 90ms)
        for (const instant::duration delay : {0ms, 150ms}) {
            store_setup on;
            on.store_ahead = phase;
            on.table->delay = [delay] { return delay; };
            const auto after = taken_after(on, 3s);
            EXPECT_GE(after, 3s);
            EXPECT_LE(after, 3s + 1s + 6 * delay + 30ms);
        }
}

// Goal: front ends of one service whose clocks differ. Method: the other process asks one that is
// the skew ahead; told nothing of it, the store lets the key go too early, so the test can tell.
TEST(CasStores, FrontEndsWhoseClocksDifferEndNoLeaseEarly) {
    for (const bool is_told : {true, false}) {
        bool early = false;
        for (auto phase = 0us; phase < 1s; phase += 90ms) {
            store_setup on;
            on.table->traits.skew = is_told ? 2s : 0s;
            on.store_ahead = phase;
            early = early || taken_after(on, 3s, 2s) < 3s;
        }
        EXPECT_EQ(early, !is_told);
    }
}

// Goal: tokens rise though the store's clock is set back, and a process that has watched the key
// need not wait until that clock has caught up. Method: an hour back under a holder that crashed.
TEST_F(CasStore, AClockThatWasSetBackCostsAWatcherNoMoreThanTheLease) {
    const auto token = mine.granted(claim_of("a", 5s));
    on.store_ahead -= 1h;
    EXPECT_EQ(other.rejected(claim_of("b", 5s)).reason, busy_reason::held);
    on.pass(5s);
    EXPECT_EQ(other.rejected(claim_of("b", 5s)).holder, token) << "its rate may be off a little";
    on.pass(10ms);
    EXPECT_GT(other.granted(claim_of("b", 5s)), token);
}

// Goal: the same for who looks at many keys in turn.
TEST_F(CasStore, AClockThatWasSetBackCostsAWatcherOfManyKeysNoMoreThanTheLease) {
    const auto key = [](int i) { return "key/" + std::to_string(i); };
    constexpr int keys = 1500;
    for (int i = 0; i < keys; ++i) mine.granted(claim_of("a", 1min, key(i)));
    on.store_ahead -= 1h;
    for (int i = 0; i < keys; ++i) other.rejected(claim_of("b", 1min, key(i)));
    on.pass(1min + 1s);
    for (int i = 0; i < keys; i += 100) other.granted(claim_of("b", 1min, key(i)));
}

// Goal: leases that no client renews or releases do not stay in memory. Method: what is remembered
// costs no read, and what was forgotten does.
TEST_F(CasStore, WhatEndedByItselfIsForgotten) {
    const auto key = [](int i) { return "key/" + std::to_string(i); };
    const auto reads_of_a_claim = [&](int i) {
        const auto before = on.table->count().reads;
        mine.granted(claim_of("b", 1s, key(i)));
        return on.table->count().reads - before;
    };
    for (int i = 0; i < 1500; ++i) {
        mine.granted(claim_of("a", 1s, key(i)));
        on.pass(100ms);
    }
    on.pass(5s);
    EXPECT_EQ(reads_of_a_claim(1499), 0) << "is remembered";
    EXPECT_EQ(reads_of_a_claim(0), 1);
}

// The proof is of one state: a renewal begins it anew.
TEST_F(CasStore, AWatcherCountsFromTheLastRenewal) {
    const auto token = mine.granted(claim_of("a", 5s));
    on.store_ahead -= 1h;
    for (int beat = 0; beat < 4; ++beat) {
        other.rejected(claim_of("b", 5s));
        on.pass(3s);
        EXPECT_EQ(mine.renew({"key", token, 5s}), renewal::renewed);
    }
    other.rejected(claim_of("b", 5s));
}

TEST_F(CasStore, AtLeastHasPassedWhenOurOwnClockSaysSo) {
    const auto token = mine.granted(claim_of("a"));
    on.pass(20ms);
    release_options how;
    how.min_hold = 10ms;
    EXPECT_TRUE(mine.release("key", token, how).value());
    EXPECT_GT(other.granted(claim_of("b")), token);
}

TEST_F(CasStore, ATtlIsRaisedToWhatTheMediumCanKeep) {
    on.table->traits.ttl_step = 1s;
    mine.granted(claim_of("a", 50ms));
    EXPECT_EQ(lease_at(on).term, 2s);
    mine.granted(claim_of("a", 2500ms, "other"));
    EXPECT_EQ(lease_at(on, "other").term, 3s);
}

TEST_F(CasStore, AStoreWithoutAClockIsNone) {
    on.table->carries_stamps = false;
    expect_failure(mine.acquire(claim_of("a")), errc::protocol, "carry no date");
}

// Goal: one record that is none of pawl's harms no other. Method: each verb on its key, on another
// key, and a list of them.
TEST_F(CasStore, AGarbledRecordIsAFailureOfItsOwn) {
    const auto token = mine.granted(claim_of("a", 10s, "a"));
    mine.granted(claim_of("a", 10s, "c"));
    on.table->put(lease_name("b"), "{}");
    expect_failure(mine.acquire(claim_of("a", 10s, "b")), errc::rejected, "b: this is not a lease");
    EXPECT_TRUE(mine.release("b", token).has_error());
    EXPECT_TRUE(mine.withdraw({"b", "a"}).has_error());
    EXPECT_EQ(on.table->read(lease_name("b")).text, "{}");
    EXPECT_EQ(mine.renew({{"b", token, 10s}, {"a", token, 10s}}).value(),
              (std::vector{renewal::unknown, renewal::renewed}));
    conformance::expect_all_but_one_shown(mine, "");
    on.table->put({record_kind::fence, "file"}, "1 lease");
    EXPECT_TRUE(mine.fence("file", token, fence_rule::reject_older).has_error());
    expect_failure(mine.acquire(claim_of(std::string(5000, 'x'))), errc::rejected, "4096 bytes");
}

TEST_F(CasStore, ARecordOfANewerPawlIsLeftAlone) {
    mine.granted(claim_of("a", 10s, "other"));
    on.table->put(lease_name(), "2 lease of tomorrow");
    expect_failure(mine.acquire(claim_of("a")), errc::unsupported, "newer pawl");
    EXPECT_EQ(on.table->read(lease_name()).text, "2 lease of tomorrow");
    on.table->put({record_kind::marker, ""}, "2 marker of tomorrow");
    actor late{on};
    expect_failure(late.acquire(claim_of("a")), errc::unsupported, "newer pawl");
}

// Goal: the medium is raced when a namespace is made, once. Method: the marker says so, nothing is
// left of it, and the next process takes its word.
TEST_F(CasStore, ANamespaceIsMadeAfterARaceThatOneHasWonInEachRound) {
    on.table->delay = [] { return 5ms; };
    mine.granted(claim_of("a"));
    EXPECT_GT(rounds_raced(on), race_rounds_min);
    EXPECT_LE(rounds_raced(on), race_rounds_max);
    EXPECT_TRUE(on.table->list(record_kind::fence, "", "", 10).records.empty());
    const auto before = on.table->count();
    actor next{on};
    next.rejected(claim_of("b"));
    EXPECT_EQ(on.table->count().writes, before.writes);
}

// Goal: who comes first waits until there is a namespace, for it is made once; and not for ever.
// Method: a race that takes longer than a verb may, and one in which the server falls silent.
TEST_F(CasStore, TheFirstClaimWaitsForTheNamespaceThatItMakes) {
    on.settings.common.timeout = 500ms;
    on.table->delay = [] { return 100ms; };
    const auto begun = on.now();
    mine.granted(claim_of("a"));
    EXPECT_GT(on.now() - begun, 500ms);

    store_setup silent;
    silent.settings.common.timeout = 500ms;
    bool races = false;
    silent.table->delay = [&] { return races ? std::chrono::nanoseconds{1h} : 1ms; };
    silent.table->fates = [&](bool, const record_name& name) {
        races = races || name.kind == record_kind::fence;
        return fate::answered;
    };
    actor late{silent};
    const auto asked = silent.now();
    expect_failure(late.acquire(claim_of("a")), errc::unreachable, "is being made ready");
    EXPECT_LE(silent.now() - asked, 500ms + 20s);
}

// Goal: who asks once hears why. Method: a table whose client gives up a little later than the
// verb.
TEST_F(CasStore, AMediumThatIsGoneSaysWhyAndNotThatItIsMadeReady) {
    on.settings.common.timeout = 500ms;
    on.table->delay = [] { return 550ms; };
    on.table->fates = [](bool, const record_name&) { return fate::request_lost; };
    const auto asked = on.now();
    expect_failure(mine.acquire(claim_of("a")), errc::unreachable, "memory: no answer");
    EXPECT_LE(on.now() - asked, 750ms);
}

// Goal: a server that is far costs three rounds of the first claim, and no more. Method: each
// request takes a tenth of a second.
TEST_F(CasStore, AFarServerIsRacedThreeTimes) {
    on.table->delay = [] { return 100ms; };
    mine.granted(claim_of("a"));
    EXPECT_EQ(rounds_raced(on), race_rounds_min);
}

// Goal: an answer that is lost during the race neither ends it nor accuses the server. Method: each
// of its first requests is lost in each way, and a write that is late arrives with the next
// request.
TEST(CasStores, ARaceContinuesAfterALostAnswer) {
    constexpr int requests_of_two_rounds = 22;
    for (const auto how : {fate::request_lost, fate::answer_lost, fate::late, fate::unanswered})
        for (int lost = 0; lost < requests_of_two_rounds; ++lost) {
            store_setup on;
            on.settings.common.timeout = 10s;
            on.table->delay = [] { return 20ms; };
            int raced = 0;
            on.table->fates = [&](bool, const record_name& name) {
                on.table->deliver();
                return name.kind == record_kind::fence && raced++ == lost ? how : fate::answered;
            };
            actor mine{on};
            mine.granted(claim_of("a"));
            EXPECT_GT(raced, lost);
            EXPECT_GE(rounds_raced(on), race_rounds_min);
        }
}

// Goal: a server that does not keep the conditions of writes is rejected, by every verb, in one
// line. Method: two kinds of lie; then the server is replaced by an honest one.
TEST(CasStores, AServerThatLetsTwoWinIsRejected) {
    for (const auto lie : {honesty::ignores_conditions, honesty::looks_before}) {
        store_setup on;
        on.table->how = lie;
        on.table->delay = [] { return 5ms; };
        actor mine{on};
        expect_failure(mine.acquire(claim_of("a")), errc::unsupported, "8 of 8 writers");
        const auto before = on.table->count();
        EXPECT_EQ(mine.release("key", fence_token{1}).error().code, errc::unsupported);
        EXPECT_EQ(mine.renew(std::vector<held_lease>{{"key", fence_token{1}, 10s}}).error().code,
                  errc::unsupported);
        EXPECT_EQ(on.end_of(mine.store()->inspect("key")).error().code, errc::unsupported);
        EXPECT_EQ(on.table->count().writes, before.writes) << "raced again for each verb";
        EXPECT_TRUE(on.table->read({record_kind::marker, ""}).at.empty());
        on.table->how = honesty::keeps_conditions;
        on.pass(2min);
        EXPECT_GT(number(mine.granted(claim_of("a"))), 0u);
    }
}

TEST_F(CasStore, TheDoctorRacesAgain) {
    mine.granted(claim_of("a"));
    EXPECT_EQ(level_of(mine.examine().value(), "atomicity"), severity::ok);
    on.table->how = honesty::ignores_conditions;
    EXPECT_EQ(level_of(mine.examine().value(), "atomicity"), severity::fail);
    store_setup liar;
    liar.table->how = honesty::ignores_conditions;
    actor first{liar};
    EXPECT_EQ(level_of(first.examine().value(), "atomicity"), severity::fail);
}

// Goal: no lease of a machine that stood still is over when it is granted or renewed. Method: the
// store's clock goes on alone, under who claims from memory and under who renews; and answers to
// writes carry its time always, or where they have to.
TEST(CasStores, AMachineThatStoodStillIsGrantedAWholeLease) {
    for (const auto stamps_writes : {write_stamps::all, write_stamps::where_asked})
        for (const bool holds : {false, true}) {
            store_setup on;
            on.table->stamps_writes = stamps_writes;
            actor mine{on}, other{on};
            other.inspect("key");
            auto token = mine.granted(claim_of("a"));
            if (!holds) mine.release("key", token);
            on.store_ahead += 1min;
            if (holds) {
                EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::lost);
            } else {
                token = mine.granted(claim_of("b"));
                EXPECT_EQ(other.rejected(claim_of("c")).holder, token);
            }
        }
}

// Goal: an answer that does not show whether this machine stood still is none. Method: the same,
// and answers to writes do not carry the time where they have to either.
TEST(CasStores, AWriteThatIsNotToldTheTimeItAsksForIsLookedAt) {
    for (const bool holds : {false, true}) {
        store_setup on;
        actor mine{on}, other{on};
        other.inspect("key");
        auto token = mine.granted(claim_of("a"));
        if (!holds) mine.release("key", token);
        on.table->stamps_writes = write_stamps::none;
        on.store_ahead += 1min;
        if (holds) {
            EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::lost);
        } else {
            token = mine.granted(claim_of("b"));
            EXPECT_EQ(other.rejected(claim_of("c")).holder, token);
        }
    }
}

// Goal: a store that tells no time with its writes renews like any other, at the price of a look.
TEST(CasStores, LeasesAreRenewedWhereWritesTellNoTime) {
    store_setup on;
    actor mine{on}, other{on};
    const auto token = mine.granted(claim_of("a"));
    on.table->stamps_writes = write_stamps::none;
    for (int i = 0; i < 10; ++i) {
        on.pass(3s);
        EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed) << i;
    }
    EXPECT_EQ(other.rejected(claim_of("c")).holder, token);
}

// Goal: a renewal that was decided before its machine stood still is not told as one. Method: the
// store's clock goes on alone between the look of a process that has to look, and its write.
TEST_F(CasStore, ARenewalFromBeforeAMachineStoodStillIsUnknown) {
    const auto token = mine.granted(claim_of("a"));
    on.table->fates = [&](bool writes, const record_name&) {
        if (writes) on.store_ahead += 1min;
        return fate::answered;
    };
    EXPECT_EQ(other.renew({"key", token, 10s}), renewal::unknown);
    EXPECT_EQ(other.renew({"key", token, 10s}), renewal::lost);
}

// Goal: a purged key's token does not fall though the clock has. Method: purge it, half an hour
// after the clock was set back; the process that takes it has not purged it itself.
TEST_F(CasStore, APurgedKeyStartsAboveItsOldToken) {
    on.settings.common.retention = 1s;
    const auto old = mine.granted(claim_of("a"));
    mine.release("key", old);
    on.pass(1h);
    on.store_ahead -= 30min;
    on.pass(2s);
    for (int i = 0; i < 3000 && !on.table->read(lease_name()).at.empty(); ++i) {
        const auto key = "other/" + std::to_string(i % 50);
        mine.release(key, mine.granted(claim_of("a", 10s, key)));
        on.pass(1s);
    }
    ASSERT_TRUE(on.table->read(lease_name()).at.empty());
    on.store_ahead -= 10h;
    on.pass(1s);
    EXPECT_GT(other.granted(claim_of("b")), old);
}

// Goal: a crash at any request leaves nothing that hinders the next. Method: the process dies at
// each of its requests in turn, whose fate is each of those there are; another is granted the key
// within a lease, though what was late arrives in between.
TEST(CasStores, ACrashAtAnyRequestHoldsUpNoClaimForLongerThanALease) {
    for (const auto what : {fate::request_lost, fate::answer_lost, fate::late, fate::unanswered})
        for (int request = 0; request < 45; ++request) {
            store_setup on;
            crash_at(on, request, what);
            fence_token had{};
            {
                actor dying{on};
                const auto got = dying.acquire(claim_of("a", 3s));
                if (got.has_value()) {
                    had = std::get<grant>(*got).token;
                    dying.renew(std::vector<held_lease>{{"key", had, 3s}});
                    dying.release("key", had);
                }
            }
            on.table->fates = {};
            actor next{on};
            EXPECT_TRUE(next.acquire(claim_of("b", 3s)).has_value());
            on.table->deliver();
            SCOPED_TRACE("request " + std::to_string(request));
            EXPECT_GT(next.granted_in_the_end(claim_of("b", 3s), 100ms, 5s), had);
            on.table->deliver();
            EXPECT_EQ(lease_at(on).state.claim_id, "b");
        }
}

TEST_F(CasStore, AWaiterOfAStoreWithoutAPushLooksAboutOnceASecond) {
    const auto token = mine.granted(claim_of("a", 60s));
    other.inspect("key");
    const auto end = on.begin(other.store()->wait_change("key", token));
    const auto before = on.table->count();
    on.pass(10s);
    EXPECT_FALSE(*end);
    EXPECT_GE(on.table->count().reads - before.reads, 8);
    EXPECT_LE(on.table->count().reads - before.reads, 13);
    mine.release("key", token);
    on.pass(1300ms);
    EXPECT_TRUE(*end && (*end)->has_value());
}

}  // namespace
}  // namespace pawl::cas
