// What is counted, series by series, under the names that Prometheus reads.
//
// Thread-safe. Whatever has a fixed set of labels exists from the start with 0, so that the first
// event is an increase; what is called after a job or a resource begins with it.
#pragma once

#include "metrics/instruments.hpp"
#include "metrics/quantiles.hpp"

#include <pawl/spi/journal.hpp>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::metrics {

// What names are counted under where there are too many.
constexpr std::string_view other_label = "_other";

// The verbs of a store, and the look at its health.
enum class verb {
    acquire,
    withdraw,
    renew,
    release,
    force_release,
    inspect,
    inspect_many,
    list,
    wait_change,
    fence,
    examine
};
constexpr std::size_t verb_count = 11;
std::string_view name_of(verb what) noexcept;

// A store that has rejected all claims and renewals for so long is of no use for now.
constexpr millis rejection_lasts{10'000};

constexpr std::size_t outcome_count = 4;      // acquire_outcome
constexpr std::size_t renewal_count = 3;      // pawl::renewal
constexpr std::size_t loss_reason_count = 4;  // pawl::loss_reason
constexpr std::size_t errc_count = 7;         // pawl::errc
// run_status but `started`: how a run ends.
constexpr std::array run_ends{run_status::completed, run_status::failed,    run_status::cancelled,
                              run_status::lost,      run_status::timed_out, run_status::abandoned,
                              run_status::skipped};

// All that the charts are made of, since the start.
struct totals {
    std::array<std::uint64_t, outcome_count> claims{};
    std::array<std::uint64_t, renewal_count> renewals{};
    std::uint64_t lost = 0, rejected = 0, forced = 0;
    std::uint64_t retries = 0, fail_open = 0, runs_ended = 0, runs_failed = 0;
    bucket_counts wait, hold, store;
    std::size_t held = 0, running = 0;
};

class metrics_registry {
public:
    explicit metrics_registry(const build_facts& facts);
    metrics_registry(const metrics_registry&) = delete;
    metrics_registry& operator=(const metrics_registry&) = delete;

    // Leases
    void claimed(acquire_outcome outcome, millis waited);
    void renewed(renewal answer);
    void renewals_failed() { renewal_failures_->Increment(); }
    void lost(loss_reason why);
    void held_for(millis how_long);
    void holds_more() { held_->Increment(); }
    void holds_less(std::size_t how_many) { held_->Decrement(static_cast<double>(how_many)); }
    void forced_release() { forced_->Increment(); }
    void rejected(std::string_view resource);
    // The store has just granted or renewed a lease of this owner, or of this process's own.
    void heard_from(std::string_view owner);
    void heard_from_own();
    // As whom this process holds its leases; nothing is told of them before.
    void own_owner(std::string name);

    // The store
    // `why` it failed, if it did.
    void answered(verb what, std::chrono::nanoseconds took, const std::optional<failure>& why);
    bool store_is_up() const noexcept { return store_up_.load(std::memory_order_relaxed); }
    // It answers, and has granted and renewed nothing for some time, as one that is read-only, full
    // or without its replicas.
    bool store_rejects() const noexcept;

    // Runs
    void run_begun(const std::string& job, millis late, fence_token token);
    void run_ended(const std::string& job, run_status status, millis took);
    void run_skipped(const std::string& job);
    void run_judged(const std::string& job, run_status status);
    void retried(const std::string& job);
    void failed_open(const std::string& job);
    void orphan_taken() { orphans_->Increment(); }
    void stale_runs(std::size_t how_many, instant now);
    void journal(bool answers) { journal_up_->Set(answers ? 1 : 0); }
    void keep_jobs(const std::vector<std::string>& names);

    // The API's server
    void served(std::string_view route, unsigned status, std::chrono::nanoseconds took);

    totals read() const;
    std::vector<prometheus::MetricFamily> collect(instant now);

private:
    void note_rejection(bool rejects);

    using counter = prometheus::Counter;
    using gauge = prometheus::Gauge;
    using histogram = prometheus::Histogram;

    struct job_series {
        prometheus::Labels labels;
        std::array<counter*, run_ends.size()> ended{};
        std::array<counter*, 2> judged{};  // lost, abandoned
        counter* retries = nullptr;
        counter* fail_open = nullptr;
        gauge* active = nullptr;
        // With the first run: they are long, or mean nothing before.
        gauge* token = nullptr;
        histogram* duration = nullptr;
        histogram* delay = nullptr;
        std::uint64_t highest_token = 0;
        std::size_t running = 0;
        bool configured = true;
    };
    using jobs = std::map<std::string, job_series>;
    struct resource_series {
        counter* rejected = nullptr;
        // When the page was read first after the last rejection; nothing: not since then.
        std::optional<instant> silent_since{};
    };

    counter* add_counter(const char* name, const char* help);
    gauge* add_gauge(const char* name, const char* help);
    // REQUIRES: mutex_ is held.
    job_series& series_of(const std::string& job);
    job_series make_series(const std::string& label);
    jobs::iterator drop(jobs::iterator which);
    void forget_silent_owners();
    void forget_silent_resources(instant now);

    prometheus::Registry registry_;

    // Constant after construction: what they point to is thread-safe
    std::array<counter*, outcome_count> claims_{};
    std::array<counter*, renewal_count> renewals_{};
    std::array<counter*, loss_reason_count> losses_{};
    std::array<histogram*, verb_count> operations_{};                      // wait_change has none
    std::array<std::array<counter*, errc_count>, verb_count> failures_{};  // closed has none
    counter *renewal_failures_, *forced_, *orphans_;
    gauge *held_, *journal_up_, *stale_runs_;
    histogram *wait_, *hold_, *http_seconds_;
    prometheus::Family<counter>*rejected_, *runs_, *judged_, *retries_, *fail_open_,
        *http_requests_;
    prometheus::Family<gauge>*active_, *tokens_, *heartbeats_;
    prometheus::Family<histogram>*durations_, *delays_;

    std::atomic<bool> store_up_{true};
    std::atomic<instant> rejected_since_{instant{}};  // instant{}: it does not
    std::atomic<std::uint64_t> rejected_total_{0}, retries_total_{0}, fail_open_total_{0};
    std::atomic<std::uint64_t> ended_total_{0}, failed_total_{0};
    std::atomic<std::size_t> running_total_{0};

    mutable std::mutex mutex_;
    // Under mutex_
    jobs jobs_;
    std::map<std::string, resource_series> resources_;
    std::map<std::string, gauge*> owners_;
    std::string own_owner_;
    std::map<std::pair<std::string, unsigned>, counter*> served_;  // by route and status
    std::optional<instant> stale_told_;
};

}  // namespace pawl::metrics
