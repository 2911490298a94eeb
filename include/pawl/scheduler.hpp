// Jobs that run by the clock: each firing once over all processes that add the same job.
//
//     pawl::scheduler cron{locks};
//     cron.add(nightly, {.cron = "0 2 * * *", .zone = "Europe/Paris"});
//     std::jthread ticking{[&](std::stop_token stop) { cron.run(stop); }};
//
// A firing is named by the instant for which it was due, and the store remembers it: a clock that
// is off, a release that comes early or a restart does not run it twice. With a journal
// (open_options::journal) runs are written down, can be paused, cancelled and asked for from
// outside, and what a lost process has left is taken up by another one. Without one the leases
// alone do it.
// Source: seed 004, scheduled jobs over many nodes; docs/library.md, "Schedules".
#pragma once

#include <pawl/job.hpp>
#include <pawl/policies.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl {

class locks;
namespace schedule {
class scheduling;
}

// After a body that threw, or was stopped because it took too long.
struct retry_options {
    int max = 0;                  // attempts beyond the first; 0 to 1000
    millis backoff{10'000};       // before the first retry
    double factor = 2.0;          // by which each wait is longer than the one before; 1 to 100
    millis max_backoff{600'000};  // no wait is longer
};

struct schedule_options {
    // Five fields, six with seconds in front, @daily and the like, or @every 90s (docs/cron.md).
    // Empty: the job runs when somebody asks for it, which takes a journal.
    std::string cron{};
    std::string zone = "UTC";  // of the IANA database
    gap_time gap = gap_time::end;
    repeated_time repeat = repeated_time::once;
    pawl::misfire misfire = pawl::misfire::run_once;
    millis misfire_window{3'600'000};  // how late a run may begin
    pawl::overlap overlap = pawl::overlap::skip;
    std::optional<occurrence_mode> occurrence{};  // default: as job::lease.mode says
    millis jitter{0};                             // a random delay, up to this, before claiming
    retry_options retries{};
    millis soft_timeout{0};               // then the journal and the observer are told; 0: never
    millis timeout{0};                    // then the body is told to stop; 0: never
    std::uint32_t partitions = 1;         // above 1: keys NAME/0 …, a run for each, spread over all
                                          // processes; up to 1024
    std::size_t max_concurrent_runs = 0;  // of its partitions in this process; 0: any
    outage on_store_down = outage::skip;
    std::size_t keep_runs = 1000;  // in the journal
};

// Override what you want to hear of. Called on pawl's own loop: a method that blocks delays the
// heartbeat of every lease, and one that throws ends the process.
class schedule_observer {
public:
    virtual ~schedule_observer() = default;

    // It knows where its schedules stand, and they fire from now on.
    virtual void on_ready() {}
    virtual void on_run_begun(std::string_view /*job*/, millis /*late*/, fence_token) {}
    virtual void on_run_ended(std::string_view /*job*/, run_status, millis /*took*/) {}
    // A firing does not run, and why, in words. Of all nodes with a journal in common only the one
    // that has written it down is told.
    virtual void on_skipped(std::string_view /*job*/, occurrence, std::string_view /*why*/) {}
    virtual void on_fail_open(std::string_view /*job*/) {}
    // What another process has left is gone on with here.
    virtual void on_orphan_taken(std::string_view /*job*/) {}
    // A line for the log, about anything.
    virtual void log(log_level, std::string_view /*line*/) {}
};

struct scheduler_options {
    std::string node{};                   // who this is, for people; default: the host's name
    std::size_t max_concurrent_runs = 8;  // each is a thread, started when it is first needed
    millis shutdown_grace{30'000};        // how long runs may go on before they are told to stop
    std::shared_ptr<schedule_observer> watcher{};
};

// Thread-safe. The locks outlive it.
class scheduler {
public:
    explicit scheduler(locks& where, scheduler_options options = {});
    // REQUIRES: no run() goes on.
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // The key is the job's name, so that locks::run of the same job excludes it. Also while run()
    // goes on. Throws option_error for what makes no sense: an expression (with the column), a
    // zone, options, a name that is there already.
    void add(const job& what, const schedule_options& when);
    // What runs of it goes on. False if it is not there.
    bool remove(std::string_view name);

    // Runs the jobs, each run on a thread of its own, until `stop` is requested: then it claims
    // nothing more, lets bodies finish for `shutdown_grace` while their leases are renewed, tells
    // them to stop, waits for them, and releases. A body that does not heed its stop token is
    // waited for. Throws store_error where the journal cannot be opened, and option_error where it
    // runs already. Failures of the store and the journal while it runs end nothing.
    void run(std::stop_token stop);
    boost::asio::awaitable<void> async_run(std::stop_token stop);

    // When a job fires next, by its schedule; nothing for one that never does, or is not there.
    std::optional<std::chrono::system_clock::time_point> next(std::string_view name) const;

private:
    std::shared_ptr<schedule::scheduling> inner_;
};

}  // namespace pawl
