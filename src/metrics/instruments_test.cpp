// The page as Prometheus gets it: whole, and judged by promtool.
#include "metrics/instruments.hpp"

#include "engines/memory/store/memory_store.hpp"
#include "runtime/core.hpp"
#include "test_support/metrics/reading.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace pawl::metrics {
namespace {

using namespace std::chrono_literals;
using namespace testing_metrics;

// What `promtool check metrics` says of a page: nothing, when all is well.
std::string judged(const std::string& page) {
    const std::string name = testing::TempDir() + "pawl-metrics-page.txt";
    std::FILE* const file = std::fopen(name.c_str(), "w");
    if (file == nullptr) return "no file";
    std::fwrite(page.data(), 1, page.size(), file);
    std::fclose(file);
    std::FILE* const said = popen(("promtool check metrics < '" + name + "' 2>&1").c_str(), "r");
    if (said == nullptr) return "no promtool";
    std::string all;
    for (int c = std::fgetc(said); c != EOF; c = std::fgetc(said)) all += static_cast<char>(c);
    const int status = pclose(said);
    std::remove(name.c_str());
    return status == 0 ? all : all + "status " + std::to_string(status);
}

TEST(Instruments, WhatHasFixedLabelsIsThereFromTheStart) {
    instruments all{{"1.2.3", "abc", "g++"}};
    const auto page = all.text({});
    for (const std::string series :
         {"pawl_lock_acquire_total{outcome=\"granted\"}",
          "pawl_lock_acquire_total{outcome=\"busy\"}",
          "pawl_lock_acquire_total{outcome=\"already_done\"}",
          "pawl_lock_acquire_total{outcome=\"error\"}", "pawl_lock_wait_seconds_count",
          "pawl_lock_hold_seconds_count", "pawl_lock_renew_total{outcome=\"renewed\"}",
          "pawl_lock_renew_total{outcome=\"lost\"}", "pawl_lock_renew_total{outcome=\"unknown\"}",
          "pawl_lock_lost_total{reason=\"taken\"}",
          "pawl_lock_lost_total{reason=\"validity_ended\"}",
          "pawl_lock_lost_total{reason=\"lifetime_ended\"}", "pawl_lock_forced_release_total",
          "pawl_locks_held", "pawl_store_operation_seconds_count{operation=\"acquire\"}",
          "pawl_store_failures_total{operation=\"renew\",reason=\"unreachable\"}",
          "pawl_stale_runs", "pawl_orphans_replayed_total", "pawl_store_up"})
        EXPECT_EQ(value_of(page, series), 0) << series;
    EXPECT_EQ(value_of(page, "pawl_journal_up"), 1);
    EXPECT_EQ(
        value_of(page, "pawl_build_info{compiler=\"g++\",revision=\"abc\",version=\"1.2.3\"}"), 1);
    EXPECT_GT(value_of(page, "process_resident_memory_bytes"), 0);
}

TEST(Instruments, WhatIsOnlyKnownNowIsToldInSeconds) {
    instruments all{{}};
    live_values now;
    now.next_occurrences = {{"a", 1'795'000'000'250}, {"b", 1'795'000'000'000}};
    now.node_heartbeats = {{"node-a", 1'795'000'000'125}};
    now.store_up = true;
    now.scheduler_up = true;
    now.audit_sequence = 12;
    now.audit_hash = "ab12";
    now.connections = 3;
    now.rejected = 4;
    const auto page = all.text(now);
    EXPECT_EQ(value_of(page, "pawl_schedule_next_timestamp_seconds{job=\"a\"}"), 1795000000.25);
    EXPECT_EQ(value_of(page, "pawl_schedule_next_timestamp_seconds{job=\"b\"}"), 1795000000);
    EXPECT_EQ(value_of(page, "pawl_node_heartbeat_timestamp_seconds{node=\"node-a\"}"),
              1795000000.125);
    EXPECT_EQ(value_of(page, "pawl_store_up"), 1);
    EXPECT_EQ(value_of(page, "pawl_scheduler_up"), 1);
    EXPECT_EQ(value_of(page, "pawl_audit_head{hash=\"ab12\"}"), 12);
    EXPECT_EQ(value_of(page, "pawl_http_connections"), 3);
    EXPECT_EQ(value_of(page, "pawl_http_connections_rejected_total"), 4);
    // They are not remembered.
    EXPECT_FALSE(has(all.text({}), "pawl_schedule_next_timestamp_seconds{job=\"a\"}"));
}

// A scraped head is a proof: 0 would say that the audit log was empty.
TEST(Instruments, WhatDoesNotAnswerIsNotTold) {
    const auto page = instruments{{}}.text({});
    EXPECT_EQ(value_of(page, "pawl_scheduler_up"), 0);
    EXPECT_EQ(page.find("\npawl_audit_head{"), std::string::npos);
    EXPECT_NE(page.find("# TYPE pawl_audit_head gauge"), std::string::npos);
}

// The journal still lists who a node was before it was started again.
TEST(Instruments, ANodeThatIsListedTwiceIsToldOnceAsItWasLastSeen) {
    instruments all{{}};
    live_values now;
    now.node_heartbeats = {{"a", 1'000}, {"a", 5'000}, {"a", 3'000}, {"b", 2'000}};
    const auto page = all.text(now);
    EXPECT_EQ(value_of(page, "pawl_node_heartbeat_timestamp_seconds{node=\"a\"}"), 5);
    EXPECT_EQ(value_of(page, "pawl_node_heartbeat_timestamp_seconds{node=\"b\"}"), 2);
}

TEST(Instruments, WhatProgramsDoThroughTheApiIsCounted) {
    instruments all{{}};
    all.leased(acquire_outcome::granted, 40ms);
    all.leased(acquire_outcome::busy, 0ms);
    all.renewed(true);
    all.renewed(false);
    all.released(3s);
    all.rejected("accounts");
    all.forced_release();
    all.answered("/api/v1/leases", 201, 2ms);
    all.answered("/api/v1/leases", 409, 2ms);
    all.answered("/api/v1/leases", 409, 2ms);
    const auto page = all.text({});
    EXPECT_EQ(value_of(page, "pawl_lock_acquire_total{outcome=\"granted\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_acquire_total{outcome=\"busy\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_wait_seconds_sum"), 0.04);
    EXPECT_EQ(value_of(page, "pawl_lock_renew_total{outcome=\"renewed\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_renew_total{outcome=\"lost\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_hold_seconds_sum"), 3);
    EXPECT_EQ(value_of(page, "pawl_fence_rejected_total{resource=\"accounts\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_forced_release_total"), 1);
    EXPECT_EQ(value_of(page, "pawl_http_requests_total{code=\"409\",route=\"/api/v1/leases\"}"), 2);
    EXPECT_EQ(value_of(page, "pawl_http_request_seconds_count"), 3);
    // They are held by others.
    EXPECT_EQ(value_of(page, "pawl_locks_held"), 0);
}

// Goal: the page is bounded, and nothing that is overdue is hidden in it. Method: more jobs than
// labels, of which those that share one are due at different times.
TEST(Instruments, NextOccurrencesHaveAsManyLabelsAsOthersAndTheEarliestOfTheRest) {
    instruments all{{"0.1.0", "abc", "g++ 12"}};
    live_values now;
    for (std::size_t i = 0; i < labels_max; ++i)
        now.next_occurrences.emplace_back("job-" + std::to_string(i), 9'000);
    for (const std::int64_t when : {7'000, 5'000, 8'000})
        now.next_occurrences.emplace_back("more-" + std::to_string(when), when);
    const auto page = all.text(now);
    std::size_t series = 0;
    for (auto at = page.find("\npawl_schedule_next_timestamp_seconds{"); at != std::string::npos;
         at = page.find("\npawl_schedule_next_timestamp_seconds{", at + 1))
        ++series;
    EXPECT_EQ(series, labels_max + 1);
    EXPECT_EQ(value_of(page, "pawl_schedule_next_timestamp_seconds{job=\"_other\"}"), 5);
}

// Goal: no name that a user chooses spoils the page for all. Method: the worst that there are,
// wherever a label takes them, before promtool.
TEST(Instruments, PromtoolAcceptsThePageWhateverNamesAreInIt) {
    instruments all{{"0.1.0+\"dirty\"", "\xFF\xFE", "g++ 12"}};
    const std::vector<std::string> names{"plain",
                                         "with \"quotes\"",
                                         "with\nline ends",
                                         "back\\slash",
                                         "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x8A",
                                         "no text \xC3\x28 \xFF",
                                         "{job=\"a\"} 1",
                                         "",
                                         std::string{"zero\0byte", 9}};
    all.keep_jobs(names);
    const auto runs = all.of_runs();
    live_values now;
    for (const auto& name : names) {
        runs->on_run_started(name, 5ms, fence_token{9});
        runs->on_run_finished(name, run_status::completed, 70ms);
        all.rejected(name);
        all.answered(name, 200, 1ms);
        now.next_occurrences.emplace_back(name, 1'795'000'000'000);
        now.node_heartbeats.emplace_back(name, 1'795'000'000'000);
    }
    const auto page = all.text(now);
    EXPECT_EQ(judged(page), "");
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"with \\\"quotes\\\"\",status=\"completed\"}"),
              1);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"with\\nline ends\",status=\"completed\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_runs_total{job=\"back\\\\slash\",status=\"completed\"}"), 1);
    // The judge is one: what no page may say is rejected.
    EXPECT_NE(judged(page + "pawl_wrong{job=\"a\nb\"} 1\n"), "");
    EXPECT_NE(judged(page + "pawl_wrong{job=\"\xFF\"} 1\n"), "");
}

TEST(Instruments, AStoreThatIsMeasuredTellsOfWhatACoreDoesWithIt) {
    const auto all = std::make_shared<instruments>(build_facts{});
    store_settings settings;
    settings.name_space = "instruments-core";
    open_options options;
    options.observer = all->of_locks();
    runtime::core core{all->measuring([&](net::loop& where) {
                           return memory::make_memory_store(where, settings);
                       }),
                       settings, std::move(options)};
    auto claiming = runtime::engine::acquire_with_reason(core.running(), "k", {.ttl = 10s}, {}, {});
    const auto claimed = core.loop().wait_for(std::move(claiming));
    ASSERT_TRUE(claimed.has_value());
    EXPECT_TRUE(all->store_is_up());
    const auto page = all->text({});
    EXPECT_EQ(value_of(page, "pawl_store_operation_seconds_count{operation=\"acquire\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_lock_acquire_total{outcome=\"granted\"}"), 1);
    EXPECT_EQ(value_of(page, "pawl_locks_held"), 1);
}

// What was handed out goes on counting, though no scrape reads it any more.
TEST(Instruments, WatchersMayOutliveTheInstruments) {
    std::shared_ptr<pawl::observer> of_locks;
    std::shared_ptr<schedule::dispatch_observer> of_runs;
    {
        instruments all{{}};
        of_locks = all.of_locks();
        of_runs = all.of_runs();
    }
    of_locks->on_acquire("k", acquire_outcome::granted, 1ms);
    of_runs->on_run_started("a", 1ms, fence_token{1});
    of_runs->on_run_finished("a", run_status::completed, 1ms);
    of_locks->on_release("k", fence_token{1}, 1ms);
}

}  // namespace
}  // namespace pawl::metrics
