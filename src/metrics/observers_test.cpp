// What is counted of real leases: `locks` on a store in memory that fails when told to.
#include "metrics/observers.hpp"

#include "test_support/faults/world.hpp"
#include "test_support/metrics/reading.hpp"
#include "time/clocks.hpp"

#include <prometheus/text_serializer.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

namespace pawl::metrics {
namespace {

using namespace std::chrono_literals;
using testing_metrics::value_of;

double unix_seconds() {
    const std::chrono::duration<double> now = time::wall_now().time_since_epoch();
    return now.count();
}

struct watched {
    world one;
    std::shared_ptr<metrics_registry> counted = std::make_shared<metrics_registry>(build_facts{});

    locks open() { return one.open({.observer = make_lock_watcher(counted)}); }
    std::string page() const {
        return prometheus::TextSerializer{}.Serialize(counted->collect(instant{}));
    }
    double operator[](const std::string& series) const { return value_of(page(), series); }
};

TEST(LockWatcher, EveryOutcomeOfAClaimIsCounted) {
    watched all;
    auto a = all.open(), b = all.open();
    auto lease = a.try_acquire("k", {.ttl = 10s, .occurrence = occurrence{1'000}});
    ASSERT_TRUE(lease);
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 10s})));
    lease->release();
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 10s, .occurrence = occurrence{1'000}})));
    all.one.faults->fail_all = errc::denied;
    EXPECT_THROW(static_cast<void>(a.try_acquire("k", {.ttl = 10s})), store_error);
    for (const std::string outcome : {"granted", "busy", "already_done", "error"})
        EXPECT_EQ(all["pawl_lock_acquire_total{outcome=\"" + outcome + "\"}"], 1) << outcome;
    // Who was rejected has not waited for a lease.
    EXPECT_EQ(all["pawl_lock_wait_seconds_count"], 1);
    EXPECT_EQ(all["pawl_lock_hold_seconds_count"], 1);
}

TEST(LockWatcher, WhatIsHeldIsKnownAtEveryMoment) {
    watched all;
    std::optional<lease> orphan;
    {
        auto a = all.open(), b = all.open();
        auto first = a.try_acquire("1", {.ttl = 10s});
        auto second = b.try_acquire("2", {.ttl = 10s});
        auto third = b.try_acquire("3", {.ttl = 10s});
        EXPECT_EQ(all["pawl_locks_held"], 3);
        second->release();
        EXPECT_EQ(all["pawl_locks_held"], 2);
        // Lost, and released afterwards: it was held once.
        a.force_release("3", third->token(), 0ms);
        EXPECT_FALSE(third->renew());
        wait_for_stop(third->stop_token());
        while (!third->lost()) std::this_thread::yield();
        while (all["pawl_lock_lost_total{reason=\"taken\"}"] == 0) std::this_thread::yield();
        EXPECT_EQ(all["pawl_locks_held"], 1);
        third->release();
        EXPECT_EQ(all["pawl_locks_held"], 1);
        // The key is taken again, and given back.
        third = b.try_acquire("3", {.ttl = 10s});
        EXPECT_EQ(all["pawl_locks_held"], 2);
        third->release();
        EXPECT_EQ(all["pawl_locks_held"], 1);
        orphan = std::move(first);
    }
    // Their objects are gone, and with them what they held.
    EXPECT_EQ(all["pawl_locks_held"], 0);
}

// A plain no and no answer are different things, whatever came before.
TEST(LockWatcher, RenewalsAreToldApart) {
    watched all;
    auto a = all.open();
    auto lease =
        a.try_acquire("k", {.ttl = 1h, .renew = renewal_mode::manual, .max_renew_failures = 2});
    ASSERT_TRUE(lease);
    EXPECT_TRUE(lease->renew());
    all.one.faults->renewals_to_fail = 3;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(lease->renew());
    EXPECT_EQ(all["pawl_lock_renewal_failures_total"], 1);
    a.force_release("k", lease->token(), 0ms);
    EXPECT_FALSE(lease->renew());
    EXPECT_EQ(all["pawl_lock_renew_total{outcome=\"renewed\"}"], 1);
    EXPECT_EQ(all["pawl_lock_renew_total{outcome=\"unknown\"}"], 3);
    EXPECT_EQ(all["pawl_lock_renew_total{outcome=\"lost\"}"], 1);
}

// A grant and a renewal that the store confirmed are signs of life; a renewal without an answer is
// none.
TEST(LockWatcher, TheOwnerIsLastHeardOfWhenTheStoreConfirmedALease) {
    const std::string series{"pawl_lock_owner_heartbeat_timestamp_seconds{owner=\"node-a\"}"};
    watched all;
    auto a = all.open();
    ASSERT_TRUE(a.try_acquire("before", {.ttl = 1h}));
    EXPECT_EQ(all.page().find("pawl_lock_owner_heartbeat"), std::string::npos);  // of whom?
    all.counted->own_owner("node-a");
    const auto began = unix_seconds();
    auto lease = a.try_acquire("k", {.ttl = 1h, .renew = renewal_mode::manual});
    ASSERT_TRUE(lease);
    const auto granted = all[series];
    EXPECT_GE(granted, began);
    EXPECT_TRUE(lease->renew());
    const auto renewed = all[series];
    EXPECT_GT(renewed, granted);
    all.one.faults->renewals_to_fail = 1;
    EXPECT_FALSE(lease->renew());
    EXPECT_EQ(all[series], renewed);
    EXPECT_LE(renewed, unix_seconds());
}

TEST(LockWatcher, ALeaseWithoutAnswersIsLostBecauseItsValidityEnded) {
    watched all;
    auto a = all.open();
    auto lease = a.try_acquire("k", {.ttl = 300ms});
    ASSERT_TRUE(lease);
    all.one.faults->fail_all = errc::outcome_unknown;
    while (!lease->lost()) std::this_thread::yield();
    while (all["pawl_lock_lost_total{reason=\"validity_ended\"}"] == 0) std::this_thread::yield();
    EXPECT_EQ(all["pawl_lock_lost_total{reason=\"taken\"}"], 0);
    EXPECT_EQ(all["pawl_locks_held"], 0);
}

TEST(RunWatcher, EveryEventHasItsSeries) {
    watched all;
    const auto runs = make_run_watcher(all.counted);
    runs->on_run_started("a", 20ms, fence_token{5});
    runs->on_retry("a");
    EXPECT_EQ(all["pawl_runs_active{job=\"a\"}"], 1);
    runs->on_run_finished("a", run_status::timed_out, 2s);
    runs->on_skipped("a", occurrence{1}, schedule::skip_reason{});
    runs->on_fail_open("a");
    runs->on_orphan_resumed("a");
    runs->on_run_judged("a", run_status::lost);
    runs->on_stale_runs(0);
    runs->on_journal(false);
    EXPECT_EQ(all["pawl_run_retries_total{job=\"a\"}"], 1);
    EXPECT_EQ(all["pawl_runs_total{job=\"a\",status=\"timed_out\"}"], 1);
    EXPECT_EQ(all["pawl_runs_total{job=\"a\",status=\"skipped\"}"], 1);
    EXPECT_EQ(all["pawl_fail_open_total{job=\"a\"}"], 1);
    EXPECT_EQ(all["pawl_orphans_replayed_total"], 1);
    EXPECT_EQ(all["pawl_runs_resolved_total{job=\"a\",status=\"lost\"}"], 1);
    EXPECT_EQ(all["pawl_journal_up"], 0);
    runs->on_journal(true);
    EXPECT_EQ(all["pawl_journal_up"], 1);
}

}  // namespace
}  // namespace pawl::metrics
