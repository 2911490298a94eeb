#include "metrics/metrics_registry.hpp"
#include "test_support/metrics/reading.hpp"

#include <prometheus/text_serializer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace pawl::metrics {
namespace {

using namespace std::chrono_literals;
using namespace testing_metrics;

std::string page_of(metrics_registry& counted, instant now = instant{}) {
    return prometheus::TextSerializer{}.Serialize(counted.collect(now));
}

std::size_t count_of(const std::string& page, const std::string& begin) {
    std::size_t count = 0;
    for (const auto& [name, value] : series_of(page)) count += name.rfind(begin, 0) == 0 ? 1 : 0;
    return count;
}

TEST(MetricsRegistry, ARunIsCountedFromItsBeginToItsEnd) {
    metrics_registry counted{{}};
    counted.keep_jobs({"a"});
    counted.run_begun("a", 250ms, fence_token{7});
    EXPECT_EQ(value_of(page_of(counted), "pawl_runs_active{job=\"a\"}"), 1);
    EXPECT_EQ(counted.read().running, 1u);
    counted.retried("a");
    counted.run_ended("a", run_status::failed, 3s);
    const auto page = page_of(counted);
    EXPECT_EQ(value_of(page, "pawl_runs_active{job=\"a\"}"), 0);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"a\",status=\"failed\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"a\",status=\"completed\"}"), 0);
    EXPECT_EQ(value_of(page, "pawl_run_retries_total{job=\"a\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_run_duration_seconds_sum{job=\"a\"}"), 3);
    EXPECT_EQ(value_of(page, "pawl_run_start_delay_seconds_sum{job=\"a\"}"), 0.25);
    EXPECT_EQ(value_of(page, "pawl_fence_token{job=\"a\"}"), 7);
    const auto sums = counted.read();
    EXPECT_EQ(sums.runs_ended, 1u);
    EXPECT_EQ(sums.runs_failed, 1u);
    EXPECT_EQ(sums.retries, 1u);
    EXPECT_EQ(sums.running, 0u);
}

// It was told as begun, and its occurrence may be asked for again.
TEST(MetricsRegistry, ARunWhoseWorkCouldNotBeginIsActiveNoMore) {
    metrics_registry counted{{}};
    counted.keep_jobs({"a"});
    counted.run_begun("a", 250ms, fence_token{7});
    counted.run_ended("a", run_status::skipped, 3s);
    const auto page = page_of(counted);
    EXPECT_EQ(value_of(page, "pawl_runs_active{job=\"a\"}"), 0);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"a\",status=\"skipped\"}"), 0);
    EXPECT_EQ(count_of(page, "pawl_run_duration_seconds"), 0u);
    const auto sums = counted.read();
    EXPECT_EQ(sums.runs_ended, 0u);
    EXPECT_EQ(sums.runs_failed, 0u);
    EXPECT_EQ(sums.running, 0u);
}

// A module of a third party may answer so: it is counted for no operation.
TEST(MetricsRegistry, ACallThatItsProgramEndedIsNoFailureOfTheStore) {
    metrics_registry counted{{}};
    for (std::size_t i = 0; i < verb_count; ++i)
        counted.answered(static_cast<verb>(i), 1ms, failure{errc::closed, "ended"});
    const auto page = page_of(counted);
    EXPECT_EQ(count_of(page, "pawl_store_failures_total"), verb_count * (errc_count - 1));
    for (const auto& [name, value] : series_of(page)) {
        if (name.rfind("pawl_store_failures_total", 0) == 0) {
            EXPECT_EQ(value, 0) << name;
        }
    }
}

TEST(MetricsRegistry, TheTokenOfAJobNeverFallsAndARunWithoutALeaseHasNone) {
    metrics_registry counted{{}};
    counted.run_begun("a", 0ms, fence_token{0});
    EXPECT_EQ(count_of(page_of(counted), "pawl_fence_token"), 0u);
    const std::uint64_t token = (std::uint64_t{1} << 53) - 1;
    counted.run_begun("a", 0ms, fence_token{token});
    counted.run_begun("a", 0ms, fence_token{token - 5});
    counted.run_begun("a", 0ms, fence_token{0});
    EXPECT_EQ(value_of(page_of(counted), "pawl_fence_token{job=\"a\"}"),
              static_cast<double>(token));
    // To the last digit.
    EXPECT_NE(page_of(counted).find(" 9007199254740991\n"), std::string::npos);
}

TEST(MetricsRegistry, AConfiguredJobIsCountedFromZero) {
    metrics_registry counted{{}};
    counted.keep_jobs({"a"});
    const auto page = page_of(counted);
    for (const auto status : run_ends)
        EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"a\",status=\"" +
                                     std::string{pawl::name_of(status)} + "\"}"),
                  0);
    for (const std::string name :
         {"pawl_run_retries_total", "pawl_fail_open_total", "pawl_runs_active"})
        EXPECT_EQ(value_of(page, name + "{job=\"a\"}"), 0);
    for (const std::string status : {"lost", "abandoned"})
        EXPECT_EQ(value_of(page, "pawl_runs_resolved_total{job=\"a\",status=\"" + status + "\"}"),
                  0);
}

TEST(MetricsRegistry, JobsThatAreGoneLoseTheirSeriesAndTheOthersKeepTheirCounts) {
    metrics_registry counted{{}};
    counted.keep_jobs({"a", "b"});
    for (const std::string job : {"a", "b"}) {
        counted.run_begun(job, 0ms, fence_token{1});
        counted.run_ended(job, run_status::completed, 1s);
    }
    counted.keep_jobs({"b", "c"});
    const auto page = page_of(counted);
    EXPECT_EQ(page.find("job=\"a\""), std::string::npos);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"b\",status=\"completed\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"c\",status=\"completed\"}"), 0);
    counted.keep_jobs({"a", "b", "c"});
    EXPECT_EQ(value_of(page_of(counted), "pawl_runs_total{job=\"a\",status=\"completed\"}"), 0);
}

// A reload may remove a job in the middle of its run: how that ends is still counted, and seen by
// those who read the page before it is over.
TEST(MetricsRegistry, AJobThatIsGoneKeepsItsSeriesUntilItsRunsHaveEnded) {
    metrics_registry counted{{}};
    counted.keep_jobs({"a"});
    counted.run_begun("a", 0ms, fence_token{1});
    counted.run_begun("a", 0ms, fence_token{2});
    counted.keep_jobs({});
    EXPECT_EQ(value_of(page_of(counted), "pawl_runs_active{job=\"a\"}"), 2);
    counted.run_ended("a", run_status::completed, 1s);
    EXPECT_EQ(value_of(page_of(counted), "pawl_runs_active{job=\"a\"}"), 1);
    counted.run_ended("a", run_status::completed, 1s);
    EXPECT_EQ(page_of(counted).find("job=\"a\""), std::string::npos);
    EXPECT_EQ(counted.read().runs_ended, 2u);
}

TEST(MetricsRegistry, LabelsThatOthersChooseAreBounded) {
    metrics_registry counted{{}};
    constexpr std::size_t more = 50;
    for (std::size_t i = 0; i < labels_max + more; ++i) {
        counted.rejected("resource-" + std::to_string(i));
        counted.run_skipped("job-" + std::to_string(i));
        counted.served("/route-" + std::to_string(i), 200, 1us);
    }
    const auto page = page_of(counted);
    EXPECT_EQ(count_of(page, "pawl_fence_rejected_total{"), labels_max + 1);
    EXPECT_EQ(value_of(page, "pawl_fence_rejected_total{resource=\"_other\"}"), more);
    EXPECT_EQ(count_of(page, "pawl_runs_active{"), labels_max + 1);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"_other\",status=\"skipped\"}"), more);
    EXPECT_EQ(count_of(page, "pawl_http_requests_total{"), labels_max + 1);
    EXPECT_EQ(counted.read().rejected, labels_max + more);
    // What was there first is still counted under its own name.
    counted.rejected("resource-0");
    EXPECT_EQ(value_of(page_of(counted), "pawl_fence_rejected_total{resource=\"resource-0\"}"), 2);
}

// Goal: names that a client invents do not use up the labels until the next start. Method: all are
// taken, and a day passes in which one of them is rejected again.
TEST(MetricsRegistry, AResourceThatIsUnusedForADayGivesItsLabelBack) {
    metrics_registry counted{{}};
    const instant begin{1h};
    for (std::size_t i = 0; i < labels_max; ++i) counted.rejected("r" + std::to_string(i));
    EXPECT_EQ(count_of(page_of(counted, begin), "pawl_fence_rejected_total{"), labels_max);
    counted.rejected("r7");
    EXPECT_EQ(count_of(page_of(counted, begin + 24h), "pawl_fence_rejected_total{"), labels_max);
    const auto page = page_of(counted, begin + 24h + 1ms);
    EXPECT_EQ(count_of(page, "pawl_fence_rejected_total{"), 1u);
    EXPECT_EQ(value_of(page, "pawl_fence_rejected_total{resource=\"r7\"}"), 2);
    counted.rejected("accounts");
    EXPECT_EQ(
        value_of(page_of(counted, begin + 25h), "pawl_fence_rejected_total{resource=\"accounts\"}"),
        1);
    EXPECT_EQ(counted.read().rejected, labels_max + 2);
}

// An alert on a missing heartbeat would not fire for a label that others keep fresh.
TEST(MetricsRegistry, TheNodesOwnOwnerHasALabelHoweverManyOthersThereAre) {
    metrics_registry counted{{}};
    counted.own_owner("node-a");
    for (std::size_t i = 0; i < labels_max + 5; ++i) counted.heard_from("o" + std::to_string(i));
    counted.heard_from_own();
    const auto page = page_of(counted);
    const std::string series{"pawl_lock_owner_heartbeat_timestamp_seconds{owner=\""};
    EXPECT_GT(value_of(page, series + "node-a\"}"), 0);
    EXPECT_GT(value_of(page, series + "_other\"}"), 0);
    EXPECT_EQ(count_of(page, series), labels_max + 2);
}

// Two names that look alike once they are text are one label, and go as one.
TEST(MetricsRegistry, NamesThatAreNoTextMayMeetInOneLabel) {
    metrics_registry counted{{}};
    counted.run_skipped("a\xFF");
    counted.run_skipped("a\xFE");
    EXPECT_EQ(
        value_of(page_of(counted), "pawl_runs_total{job=\"a\xEF\xBF\xBD\",status=\"skipped\"}"), 2);
    counted.keep_jobs({});
    EXPECT_EQ(count_of(page_of(counted), "pawl_runs_total"), 0u);
}

// Another node looks the next time, and says how many there are.
TEST(MetricsRegistry, WhatThisNodeSawOfStaleRunsIsForgotten) {
    metrics_registry counted{{}};
    const instant then{1h};
    counted.stale_runs(3, then);
    EXPECT_EQ(value_of(page_of(counted, then + stale_runs_valid), "pawl_stale_runs"), 3);
    EXPECT_EQ(value_of(page_of(counted, then + stale_runs_valid + 1ms), "pawl_stale_runs"), 0);
}

TEST(MetricsRegistry, RunsOfUnresponsiveNodesAreCountedApart) {
    metrics_registry counted{{}};
    counted.run_judged("a", run_status::lost);
    counted.run_judged("a", run_status::abandoned);
    counted.run_judged("a", run_status::abandoned);
    const auto page = page_of(counted);
    EXPECT_EQ(value_of(page, "pawl_runs_resolved_total{job=\"a\",status=\"lost\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_runs_resolved_total{job=\"a\",status=\"abandoned\"}"), 2);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"a\",status=\"lost\"}"), 0);
}

// Both loops count while a thread reads the page. Method: what was counted by eight threads, with
// readers and reloads in between, adds up.
TEST(MetricsRegistry, NothingIsLostBetweenThreads) {
    metrics_registry counted{{}};
    constexpr int threads = 8, rounds = 2'000;
    const auto count = [&](int which) {
        const auto job = "job-" + std::to_string(which % 3);
        for (int i = 0; i < rounds; ++i) {
            counted.claimed(acquire_outcome::granted, 5ms);
            counted.answered(verb::acquire, 1us, std::nullopt);
            counted.run_begun(job, 0ms, fence_token{static_cast<std::uint64_t>(i)});
            counted.run_ended(job, run_status::completed, 1ms);
            counted.rejected(job);
        }
    };
    std::atomic<bool> over{false};
    std::thread reader{[&] {
        while (!over) {
            page_of(counted);
            counted.read();
            counted.keep_jobs({"job-0", "job-1", "job-2"});
        }
    }};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(count, i);
    for (auto& one : all) one.join();
    over = true;
    reader.join();
    const auto sums = counted.read();
    constexpr std::uint64_t expected = threads * rounds;
    EXPECT_EQ(sums.claims[0], expected);
    EXPECT_EQ(sums.wait.sum(), expected);
    EXPECT_EQ(sums.store.sum(), expected);
    EXPECT_EQ(sums.runs_ended, expected);
    EXPECT_EQ(sums.rejected, expected);
    EXPECT_EQ(sums.running, 0u);
    double completed = 0;
    for (const auto& [name, value] : series_of(page_of(counted)))
        if (name.find("status=\"completed\"") != std::string::npos) completed += value;
    EXPECT_EQ(completed, static_cast<double>(expected));
}

}  // namespace
}  // namespace pawl::metrics
