// The quarantine of a store on compare-and-swap: when it begins, what ends it, and what it costs.
#include "engines/cas/store/record_text.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/media/actor.hpp"

#include <gtest/gtest.h>

namespace pawl::cas {
namespace {

using namespace std::chrono_literals;
using conformance::expect_failure;
using testing_media::actor;
using testing_media::fate;
using store_setup = testing_media::memory_stage;

claim claim_of(const std::string& id, millis ttl = 10s, const std::string& key = "key") {
    return {key, id, "owner " + id, ttl};
}

record_name lease_name() { return {record_kind::lease, "key"}; }

// A world whose quarantine is over; `mine` has granted "key", and released it.
class CasQuarantine : public testing::Test {
protected:
    store_setup on;
    actor mine{on}, other{on};

    CasQuarantine() {
        on.settings.common.quarantine = 1min;
        mine.rejected(claim_of("a"));
        on.pass(1min + 2s);
        take_and_give(mine);
    }
    void take_and_give(actor& who) { who.release("key", who.granted(claim_of("b"))); }
    bool is_rejected(actor& who) {
        const auto answer = who.acquire(claim_of("c"));
        if (const auto* had = std::get_if<grant>(&answer.value())) who.release("key", had->token);
        const auto* told = std::get_if<busy>(&*answer);
        return told != nullptr && told->reason == busy_reason::quarantined;
    }
    // How long it takes a process that claims once a second.
    instant::duration noticed_after(actor& who) {
        const auto begun = on.now();
        while (!is_rejected(who) && on.now() - begun < 5min) on.pass(1s);
        return on.now() - begun;
    }
    void restore() { on.table->identity = "restored"; }
};

// Goal: a data set that is another, or gone, is quarantined, also under a process that knew the one
// before. Method: another identity; and all records vanish.
TEST_F(CasQuarantine, AnotherDataSetIsQuarantined) {
    restore();
    actor next{on};
    const auto told = next.rejected(claim_of("b"));
    EXPECT_EQ(told.reason, busy_reason::quarantined);
    EXPECT_LE(told.remaining, 1min);
    on.pass(1min + 2s);
    EXPECT_GT(number(next.granted(claim_of("b"))), 0u);
    on.table->clear();
    EXPECT_EQ(next.rejected(claim_of("c", 10s, "other")).reason, busy_reason::quarantined);
    EXPECT_EQ(next.renew({"key", fence_token{1}, 10s}), renewal::lost);
}

// Goal: a process that runs notices that another data set was put under it, whose marker is as old
// as the rest. Method: it goes by what it remembers; nothing else tells it.
TEST_F(CasQuarantine, AProcessThatRunsNoticesARestoredDataSetWithinAMinute) {
    restore();
    EXPECT_LE(noticed_after(mine), 1min + 3s);
}

// Goal: a quarantine that one process begins holds for those that run. Method: one of them
// remembers the key, and is rejected within seconds; the other has to look, and is rejected at
// once.
TEST_F(CasQuarantine, WhatAnotherProcessHasBegunIsKept) {
    take_and_give(other);
    take_and_give(mine);
    restore();
    actor next{on};
    EXPECT_TRUE(is_rejected(next));
    EXPECT_TRUE(is_rejected(other));
    EXPECT_LE(noticed_after(mine), 5s);
}

// Goal: a token that has fallen tells of a restored record. Method: the state before the last grant
// is put back, under who remembers that one and under who holds it.
TEST_F(CasQuarantine, ARecordOlderThanWhatWasWrittenHereIsNoticedAtOnce) {
    for (const bool holds : {false, true}) {
        const auto old = on.table->read(lease_name()).text;
        const auto token = mine.granted(claim_of("d"));
        if (!holds) mine.release("key", token);
        on.table->put(lease_name(), old);
        on.table->identity += " again";
        if (holds) {
            EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::lost);
        }
        EXPECT_TRUE(is_rejected(mine));
        on.pass(1min + 2s);
    }
}

// Goal: a machine that stood still while the data was restored keeps the quarantine that others
// have begun meanwhile. Method: by its own clock it has just looked.
TEST_F(CasQuarantine, AMachineThatStoodStillDoesNotGoByTheMarkerOfBefore) {
    take_and_give(mine);
    restore();
    actor next{on};
    EXPECT_TRUE(is_rejected(next));
    on.store_ahead += 50s;
    expect_failure(mine.acquire(claim_of("d")), errc::outcome_unknown, "over when it was granted");
    EXPECT_TRUE(is_rejected(mine));
}

// Goal: once one process was granted a key behind a quarantine no other is held up by it. Method:
// the store tells the time in steps, of which others have read the first moment or the last.
TEST(CasQuarantines, AQuarantineThatIsOverForOneIsOverForAll) {
    store_setup on;
    on.table->traits.clock_step = 2s;
    on.settings.common.quarantine = 9s;
    actor first{on}, waiting{on};
    first.rejected(claim_of("a", 9s)), waiting.rejected(claim_of("w", 9s));
    while (std::holds_alternative<busy>(*first.acquire(claim_of("a", 9s)))) on.pass(100ms);
    actor next{on};
    EXPECT_GT(number(next.granted(claim_of("b", 9s, "another"))), 0u);
    EXPECT_GT(number(waiting.granted(claim_of("w", 9s, "a third"))), 0u);
    // It proves nothing of a longer one.
    on.settings.common.quarantine = 30s;
    actor careful{on};
    EXPECT_EQ(careful.rejected(claim_of("c", 10s, "a fourth")).reason, busy_reason::quarantined);
}

// Goal: who has seen the clock behind the quarantine is granted keys, whether or not that can be
// recorded. Method: the requests for that are lost, on their way or back.
TEST(CasQuarantines, AnEndThatIsNotWrittenDownKeepsNoClaim) {
    for (const auto lost : {fate::request_lost, fate::answer_lost}) {
        store_setup on;
        on.settings.common.quarantine = 9s;
        actor mine{on};
        mine.rejected(claim_of("a", 9s));
        on.pass(12s);
        on.table->fates = [lost](bool, const record_name& name) {
            return name.kind == record_kind::fence ? lost : fate::answered;
        };
        EXPECT_GT(number(mine.granted(claim_of("b", 9s))), 0u);
    }
}

// Goal: what that costs, and that it costs nothing without a quarantine. Method: claims that look,
// at once and after minutes, and claims from memory.
TEST(CasQuarantines, AQuarantineIsLookedAtWithTheRecord) {
    for (const bool has_quarantine : {false, true}) {
        store_setup on;
        actor mine{on}, other{on};
        if (has_quarantine) on.settings.common.quarantine = 10s;
        mine.inspect("key"), other.inspect("key");
        on.pass(12s);
        mine.release("key", mine.granted(claim_of("a")));
        const auto cost = [&] {
            const auto before = on.table->count();
            other.release("key", other.granted(claim_of("b")));
            const auto after = on.table->count();
            EXPECT_EQ(after.writes, before.writes + 2);
            return std::pair{after.reads - before.reads, after.prepared - before.prepared};
        };
        const int more = has_quarantine ? 1 : 0;
        EXPECT_EQ(cost(), std::pair(1 + 2 * more, 0)) << "and whether it is over, once";
        EXPECT_EQ(cost(), std::pair(0, 0)) << "from memory";
        on.pass(5s);
        EXPECT_EQ(cost(), std::pair(more, 0)) << "from memory, later";
        on.pass(2min);
        EXPECT_EQ(cost(), std::pair(more, more)) << "the data may be others";
    }
}

}  // namespace
}  // namespace pawl::cas
