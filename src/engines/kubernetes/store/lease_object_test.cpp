#include "engines/kubernetes/store/lease_object.hpp"

#include <boost/json.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::kubernetes {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

const cas::record_name key{cas::record_kind::lease, "jobs/nightly"};
constexpr micros now{1'795'184'283'285'672};  // 2026-11-20T14:18:03.285672Z

cas::lease_record held_record() {
    cas::lease_record record;
    record.state.holder = fence_token{41};
    record.state.last_token = fence_token{41};
    record.state.claim_id = "id";
    record.state.owner = "node-a:7";
    record.state.acquired = now;
    record.state.acquired_wall = now;
    record.state.until = now + 30s;
    record.state.last_done = occurrence{5};
    record.term = 30s;
    record.used = now;
    record.nonce = "n1";
    return record;
}

// As the server keeps what was sent to it.
lease_object stored(const std::string& body) {
    auto document = json::parse(body).as_object();
    document["kind"] = "Lease";
    document["metadata"].as_object()["uid"] = "u-1";
    document["metadata"].as_object()["resourceVersion"] = "100";
    const auto object = parse_object(json::serialize(document));
    EXPECT_TRUE(object.has_value());
    return object.value_or(lease_object{});
}

lease_object created(const cas::lease_record& record) {
    return stored(body_of_create("pawl", key, "pawl-x", cas::encode(record), now));
}

cas::stamp stamp_at(micros at) {
    cas::stamp clock;
    clock.at = at;
    return clock;
}

cas::lease_record told(const lease_object& object, std::optional<millis> trusted = {}) {
    const auto read = cas::parse_lease(text_for_core(object, stamp_at(now), trusted));
    EXPECT_TRUE(read.has_value());
    return read.has_value() ? *read : cas::lease_record{};
}

// What client-go's elector leaves when it takes a Lease over: it keeps the annotations.
lease_object taken(lease_object object, const std::string& holder, std::int64_t seconds,
                   const std::string& renewed) {
    object.spec.holder = holder;
    object.spec.duration_s = seconds;
    object.spec.renewed = renewed;
    object.spec.acquired = renewed;
    ++object.spec.transitions;
    object.resource_version = "101";
    return object;
}

TEST(LeaseObject, TheSpecIsFilledAsClientGoFillsIt) {
    const auto object = created(held_record());
    EXPECT_EQ(object.spec.holder, "node-a:7");
    EXPECT_EQ(object.spec.duration_s, 30);
    EXPECT_EQ(object.spec.acquired, "2026-11-20T14:18:03.285672Z");
    EXPECT_EQ(object.spec.renewed, "2026-11-20T14:18:03.285672Z");
    EXPECT_EQ(object.spec.transitions, 0);
    EXPECT_EQ(object.key, "jobs/nightly");
    EXPECT_EQ(text_for_core(object, stamp_at(now), {}), cas::encode(held_record()));
}

TEST(LeaseObject, AFractionOfASecondIsAWholeOne) {
    auto record = held_record();
    record.term = 2001ms;
    EXPECT_EQ(created(record).spec.duration_s, 3);
}

TEST(LeaseObject, AReleasedLeaseLooksAsClientGoLeavesIt) {
    auto record = held_record();
    record.state.holder = fence_token{};
    record.state.claim_id.clear();
    record.term = 0ms;
    const auto object = created(record);
    EXPECT_EQ(object.spec.holder, "");
    EXPECT_EQ(object.spec.duration_s, 1);
    EXPECT_FALSE(is_taken_over(object));
}

TEST(LeaseObject, ACooldownHasAHolderForWhomElectorsWait) {
    auto record = held_record();
    record.state.holder = fence_token{};
    record.state.claim_id.clear();
    record.term = 10s;
    const auto object = created(record);
    EXPECT_EQ(object.spec.holder, "pawl:cooldown");
    EXPECT_EQ(object.spec.duration_s, 10);
    EXPECT_FALSE(is_taken_over(object));
}

TEST(LeaseObject, TransitionsCountTheHolders) {
    const auto first = created(held_record());
    const auto next = [&](const std::string& owner) {
        auto record = held_record();
        record.state.owner = owner;
        const auto version = parse_version(version_of(first));
        return stored(body_of_patch("pawl", key, cas::encode(record), *version, now))
            .spec.transitions;
    };
    EXPECT_EQ(next("node-a:7"), 0);
    EXPECT_EQ(next("node-b:9"), 1);
}

TEST(LeaseObject, AWriteNamesTheStateThatItReplaces) {
    const auto version = parse_version(version_of(created(held_record())));
    ASSERT_TRUE(version.has_value());
    const auto body =
        json::parse(body_of_patch("pawl", key, cas::encode(held_record()), *version, now));
    EXPECT_EQ(body.at_pointer("/metadata/resourceVersion"), "100");
    EXPECT_EQ(body.at_pointer("/metadata/uid"), "u-1");
    const auto erased = json::parse(body_of_delete(*version));
    EXPECT_EQ(erased.at_pointer("/preconditions/resourceVersion"), "100");
    EXPECT_EQ(erased.at_pointer("/preconditions/uid"), "u-1");
    EXPECT_FALSE(parse_version("100").has_value());
    for (const auto* other : {"100 u x own h", "100 u 1 own", "100 u 1 own h h"})
        EXPECT_FALSE(parse_version(other).has_value()) << other;
    EXPECT_EQ(parse_version("100 u 1 own ")->holder, "");
}

// Goal: the fence and the marker are no leases to others.
TEST(LeaseObject, WhatIsNoLeaseHasNoSpec) {
    cas::fence_record fence;
    fence.newest = fence_token{9};
    fence.nonce = "n";
    const auto body = json::parse(
        body_of_create("pawl", {cas::record_kind::fence, "db"}, "pawl-f", cas::encode(fence), now));
    EXPECT_EQ(body.as_object().if_contains("spec"), nullptr);
}

// Goal: another program's holder is waited for. Method: its clock says that its lease is long over,
// and is not believed.
TEST(LeaseObject, AForeignHolderIsHeldForItsDurationFromNow) {
    const auto object =
        taken(created(held_record()), "elector-1", 15, "2020-01-01T00:00:00.000000Z");
    ASSERT_TRUE(is_taken_over(object));
    const auto record = told(object);
    EXPECT_GT(number(record.state.holder), 41u) << "no token of ours fits";
    EXPECT_GE(record.state.last_token, record.state.holder);
    EXPECT_EQ(record.state.claim_id, "");
    EXPECT_EQ(record.state.owner, "elector-1");
    EXPECT_EQ(record.term, 15s);
    EXPECT_GE(record.state.until, now + 15s);
    EXPECT_LE(record.state.until, now + 18s);
    EXPECT_EQ(record.state.last_done, occurrence{5});
}

TEST(LeaseObject, WithABoundOnItsClockItsRenewTimeCounts) {
    const auto object =
        taken(created(held_record()), "elector-1", 15, "2026-11-20T14:18:00.000000Z");
    const auto record = told(object, 1s);
    EXPECT_EQ(micro_time(record.state.until), "2026-11-20T14:18:16.000000Z");
}

// Two programs may call themselves the same, so it is the time by which a holder is told.
TEST(LeaseObject, AForeignHolderOfTheSameNameIsForeign) {
    auto object = created(held_record());
    object.spec.renewed = "2026-11-20T14:18:09.000000Z";
    EXPECT_TRUE(is_taken_over(object));
    EXPECT_NE(told(object).state.claim_id, "id");
}

// Goal: a withdrawal, which changes no more than the version, makes no elector wait longer, nor
// tells a holder that it was deposed. Method: of what an elector took over, and of what it made,
// the core writes what it was told; then it grants the key all the same.
TEST(LeaseObject, AForeignHoldersSpecIsLeftAlone) {
    auto made = taken({}, std::string(300, 'e'), 15, "2026-11-20T14:18:00.000000Z");
    made.uid = "u";
    for (const auto& object :
         {taken(created(held_record()), std::string(300, 'e'), 15, "2026-11-20T14:18:00.000000Z"),
          made}) {
        const auto version = parse_version(version_of(object));
        ASSERT_TRUE(version.has_value());
        auto record = told(object);
        record.nonce = "n2";
        const auto body =
            json::parse(body_of_patch("pawl", key, cas::encode(record), *version, now + 5s))
                .as_object();
        EXPECT_EQ(body.if_contains("spec"), nullptr);
        // As the server merges it.
        const auto& annotations = body.at("metadata").at("annotations");
        auto after = object;
        after.text = std::string{annotations.at("pawl.dev/record").as_string()};
        after.wrote = std::string{annotations.at("pawl.dev/spec").as_string()};
        EXPECT_TRUE(is_taken_over(after));
        EXPECT_EQ(told(after).state.owner, std::string(256, 'e'));
        EXPECT_EQ(told(after).state.last_done, record.state.last_done);
        EXPECT_TRUE(parse_version(version_of(after))->is_taken_over);

        record.state.claim_id = "id";
        record.state.owner = "node-a:7";
        const auto granted =
            stored(body_of_patch("pawl", key, cas::encode(record), *version, now + 5s));
        EXPECT_EQ(granted.spec.holder, "node-a:7");
        EXPECT_FALSE(is_taken_over(granted));
        EXPECT_FALSE(parse_version(version_of(granted))->is_taken_over);
    }
}

TEST(LeaseObject, WhatAForeignHolderReleasedIsFreeAndKeepsOurTokens) {
    const auto object = taken(created(held_record()), "", 1, "2026-11-20T14:18:09.000000Z");
    const auto record = told(object);
    EXPECT_EQ(number(record.state.holder), 0u);
    EXPECT_EQ(record.state.until, micros{0});
    EXPECT_EQ(record.state.last_token, fence_token{41});
    EXPECT_EQ(record.state.last_done, occurrence{5});
}

TEST(LeaseObject, ALeaseThatAnElectorMadeIsItsUntilItIsFree) {
    lease_object object;
    object.uid = "u";
    object.resource_version = "1";
    object.spec = {"elector-1", 15, "x", "y", 0};
    EXPECT_EQ(told(object).state.owner, "elector-1");
    object.spec.holder.clear();
    EXPECT_EQ(number(told(object).state.holder), 0u);
}

// Another program may write anything.
TEST(LeaseObject, AForeignSpecOfAnyKindIsARecord) {
    lease_object object;
    object.uid = "u";
    object.resource_version = "1";
    object.spec = {std::string(5000, '\xff'), -7, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z",
                   -1};
    EXPECT_EQ(told(object).term, 1s);
    object.spec.duration_s = 1'000'000'000;
    EXPECT_EQ(told(object).term, 24h);
}

TEST(LeaseObject, WhatIsNoLeaseIsNothing) {
    EXPECT_FALSE(parse_object("").has_value());
    EXPECT_FALSE(parse_object(R"({"kind": "Status"})").has_value());
    EXPECT_FALSE(parse_object(R"({"kind": "Lease"})").has_value());
    EXPECT_FALSE(parse_list(R"({"kind": "Lease"})").has_value());
    EXPECT_FALSE(parse_event("[]").has_value());
}

TEST(LeaseObject, AListSaysWhereItContinues) {
    const auto list = parse_list(
        R"({"kind": "LeaseList", "metadata": {"resourceVersion": "7", "continue": "abc"},
            "items": [{"metadata": {"name": "a", "uid": "u", "resourceVersion": "3",
                       "annotations": {"pawl.dev/key": "k%25"}}}]})");
    ASSERT_TRUE(list.has_value());
    EXPECT_EQ(list->more, "abc");
    EXPECT_EQ(list->resource_version, "7");
    ASSERT_EQ(list->objects.size(), 1u);
    EXPECT_EQ(list->objects[0].key, "k%");
}

TEST(LeaseObject, ATimeHasSixDigitsBehindThePoint) {
    EXPECT_EQ(micro_time(micros{0}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(micro_time(micros{1'000'007}), "1970-01-01T00:00:01.000007Z");
}

}  // namespace
}  // namespace pawl::kubernetes
