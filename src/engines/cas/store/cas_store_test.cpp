// What the core does where the laws that all stores keep do not look: conflicts, lost answers, late
// writes, and a clock that is known to the second.
#include "engines/cas/store/record_text.hpp"
#include "engines/cas/store/stage_fixture.hpp"

#include <gtest/gtest.h>

namespace pawl::cas {
namespace {

claim claim_of(const std::string& id, millis ttl = 10s, const std::string& key = "key") {
    return {key, id, "owner " + id, ttl};
}

record_name lease_name(const std::string& key = "key") { return {record_kind::lease, key}; }

lease_record lease_at(stage& on, const std::string& key = "key") {
    return parse_lease(on.table->read(lease_name(key)).text).value();
}

// The next so many writes of leases have this fate, and all others are answered.
void fate_of_writes(stage& on, fate what, int times = 1) {
    on.table->fates = [what, left = std::make_shared<int>(times)](bool writes,
                                                                  const record_name& name) {
        if (!writes || name.kind != record_kind::lease || *left == 0) return fate::answered;
        --*left;
        return what;
    };
}

TEST(CasStore, AFreeKeyIsGranted) {
    stage on;
    actor mine{on};
    EXPECT_GT(number(mine.granted(claim_of("a"))), 0u);
}

// Goal: the price of a verb. Method: count what the medium is asked for: no more than one write
// where this process wrote last, and one read before it where it did not.
TEST(CasStore, WhatWasWrittenHereIsWrittenOverWithoutARead) {
    stage on;
    actor mine{on};
    const auto token = mine.granted(claim_of("a"));
    const auto before = on.table->count();
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed);
    EXPECT_EQ(mine.renew({"key", token, 10s}), renewal::renewed);
    EXPECT_TRUE(mine.release("key", token).value());
    mine.granted(claim_of("b"));
    const auto after = on.table->count();
    EXPECT_EQ(after.reads, before.reads);
    EXPECT_EQ(after.writes, before.writes + 4);
}

// Goal: an acknowledged grant whose answer was lost is the same grant. Method: the store reads again
// within the verb; another attempt under the same id agrees.
TEST(CasStore, AGrantWhoseAnswerWasLostIsFoundByItsNonce) {
    stage on;
    actor mine{on}, other{on};
    mine.release("key", mine.granted(claim_of("before")));
    fate_of_writes(on, fate::answer_lost);
    const auto token = mine.granted(claim_of("a"));
    EXPECT_EQ(lease_at(on).state.holder, token);
    EXPECT_EQ(mine.granted(claim_of("a")), token);
    EXPECT_EQ(other.refused(claim_of("b")).holder, token);
}

}  // namespace
}  // namespace pawl::cas
