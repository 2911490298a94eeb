// What is counted, and how it is told to Prometheus: the names of docs/metrics.md.
//
// Thread-safe: the scheduler's loop and the API's both count. Counting costs an atomic, or a short
// lock; nothing runs while nothing happens but one sample every sample_interval, for the charts.
#pragma once

#include "net/loop.hpp"
#include "runtime/core.hpp"
#include "schedule/dispatcher.hpp"

#include <pawl/observer.hpp>
#include <pawl/spi/lease_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::metrics {

// Names that others choose (jobs, resources, nodes, routes) become labels, of which there are so
// many at most; what comes after them is counted under "_other".
constexpr std::size_t labels_max = 2'000;
constexpr millis sample_interval{5'000};
constexpr std::size_t samples_max = 720;  // an hour
// Only the node that looked last knows how many runs have fallen silent; what it saw counts for so
// long.
constexpr millis stale_runs_valid{30'000};
// As a node is, of which nothing is heard any more.
constexpr millis silent_owner_kept = std::chrono::hours{24};

struct build_facts {
    std::string version, revision, compiler;
};

// What is only known when it is sampled.
struct live_values {
    std::vector<std::pair<std::string, std::int64_t>>
        next_occurrences;                                               // by job, Unix milliseconds
    std::vector<std::pair<std::string, std::int64_t>> node_heartbeats;  // by node, Unix ms
    bool store_up = false;
    bool scheduler_up = false;
    // Of the newest entry of the audit; 0: there is none, or it is not known.
    std::uint64_t audit_sequence = 0;
    std::string audit_hash{};
    // Of the server of the API.
    std::uint64_t connections = 0;  // open now
    std::uint64_t accepted = 0, rejected = 0, malformed = 0, timed_out = 0;
};

// One sample of the charts: what happened in the interval that ends at `at`.
struct sample {
    std::int64_t at = 0;  // Unix milliseconds
    std::uint64_t granted = 0, busy = 0, already_done = 0, errors = 0;
    std::uint64_t renewed = 0, renew_failed = 0, lost = 0, rejected = 0, forced = 0;
    std::uint64_t retries = 0, fail_open = 0, runs_ended = 0, runs_failed = 0;
    double wait_p50 = 0, wait_p99 = 0;  // seconds; 0 without a grant
    double hold_p50 = 0, hold_p99 = 0;
    double store_p99 = 0;
    std::size_t held = 0, running = 0;
};

class instruments : public std::enable_shared_from_this<instruments> {
public:
    explicit instruments(const build_facts& facts);
    ~instruments();
    instruments(const instruments&) = delete;
    instruments& operator=(const instruments&) = delete;

    // One for each core. They count for as long as they live, the instruments gone or not.
    std::shared_ptr<pawl::observer> of_locks();
    std::shared_ptr<schedule::dispatch_observer> of_runs();
    // A store whose every verb is timed, and which knows whether the last one was answered.
    runtime::store_maker measuring(runtime::store_maker make);

    // As whom this process holds its own leases.
    void own_owner(std::string name);

    // What programs do through the API.
    void leased(acquire_outcome outcome, millis waited);
    void renewed(bool alive);
    // The store has just granted or renewed a lease of this owner's.
    void heard_from(std::string_view owner);
    void released(millis held_for);
    void rejected(std::string_view resource);  // a stale token at a fence
    void forced_release();
    // By the pattern of its route, such as /api/v1/locks/{key*}.
    void answered(std::string_view route, unsigned status, std::chrono::nanoseconds took);

    // These jobs are configured: they are counted from 0, and those that are configured no more
    // lose their labels, once what runs of them has ended.
    void keep_jobs(const std::vector<std::string>& names);

    // False from a verb without an answer to the next one with an answer.
    bool store_is_up() const noexcept;
    bool store_rejects() const noexcept;  // claims and renewals, for some time
    // The text format of Prometheus, version 0.0.4. With thousands of jobs it takes some
    // milliseconds: it may be called from any thread.
    std::string text(const live_values& now);
    // Takes the samples, for as long as `where` lives.
    void start_sampling(net::loop& where);
    std::vector<sample> samples() const;  // the oldest first

private:
    class state;
    std::shared_ptr<state> state_;
};

}  // namespace pawl::metrics
