// Jobs that run by the clock: each occurrence once over all processes that add the same job.
//
//     pawl::scheduler cron{locks};
//     cron.add(nightly, {.cron = "0 2 * * *", .zone = "Europe/Paris"});
//     std::jthread ticking{[&](std::stop_token stop) { cron.run(stop); }};
//
// An occurrence is named by the instant for which it was due, and the store remembers it. So a
// clock that is off, a release that comes early or a restart does not run it twice.
//
// With a journal (open_options::journal) runs are recorded. Users can pause jobs, cancel runs and
// trigger them, and a process resumes what a lost one left. Without a journal the leases alone
// exclude duplicates. The page "The library" of the documentation tells more.
#pragma once

#include <pawl/job.hpp>
#include <pawl/policies.hpp>
#include <pawl/run_status.hpp>
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

// What follows after a body that threw, or was stopped because it took too long. All attempts of a
// run have one lease.
struct retry_options {
    // Attempts beyond the first. Default: 0. 0 to 1000.
    int max = 0;

    // The pause before the first of them. Each pause varies at random by a fifth, to both sides.
    // Default: 10 s. 0 to 24 h, at most `max_backoff`.
    millis backoff{10'000};

    // How many times longer each pause is than the one before. Default: 2. 1 to 100.
    double factor = 2.0;

    // No pause is longer. Default: 10 min. 0 to 24 h.
    millis max_backoff{600'000};
};

// When a job runs, and what becomes of an occurrence that cannot run in time.
struct schedule_options {
    // Five fields, six with seconds in front, @daily and the like, or @every 90s: the page
    // "Schedules" of the documentation. Default: empty, the job runs when a user triggers it, which
    // takes a journal.
    std::string cron{};

    // The time zone of the expression, from the IANA database. Default: UTC.
    std::string zone = "UTC";

    // Local times that a change of clocks leaves out. Default: end.
    gap_time gap = gap_time::end;

    // Local times that a change of clocks passes twice. Default: once.
    repeated_time repeat = repeated_time::once;

    // An occurrence that no node could run in time. Default: run_once.
    pawl::misfire misfire = pawl::misfire::run_once;

    // How late a run may begin, beyond its jitter. Default: 1 h. 0 to 365 days; less than a second
    // counts as one, as what is on time takes a moment. With jitter at most the store's retention
    // where occurrences are remembered.
    millis misfire_window{3'600'000};

    // An occurrence whose predecessor still runs. Default: skip.
    pawl::overlap overlap = pawl::overlap::skip;

    // When an occurrence counts as done. Default: nothing, as lease_options::delivery of the job
    // says.
    std::optional<pawl::delivery> delivery{};

    // A delay of 0 to this before the claim, random by the occurrence. Default: 0, no delay. At
    // most 24 h.
    millis jitter{0};

    // What follows after a failure. Default: no further attempt.
    retry_options retries{};

    // When a run takes longer, the journal and the observer are told. Default: 0, never.
    // At most 365 days, and below `timeout`.
    millis soft_timeout{0};

    // When a run takes longer, its body is told to stop. Default: 0, never. At most 365 days.
    millis timeout{0};

    // Above 1: the job has the keys NAME/0 to NAME/(partitions-1) and a run for each, spread over
    // all processes. Default: 1. 1 to 1024. With lease_options::hold_until_expiry only 1.
    std::uint32_t partitions = 1;

    // Above 1: at most so many runs at a time over all processes. The job has the keys NAME/0 to
    // NAME/(slots-1), and each occurrence runs under one of them in turn; run::partition says
    // which. Default: 1. 1 to slots_max. Above 1 not with partitions or
    // lease_options::hold_until_expiry.
    std::uint32_t slots = 1;

    // How many of its partitions or slots may run in this process at a time. Default: 0, any
    // number. No upper bound.
    std::size_t max_concurrent_runs = 0;

    // An occurrence that is due while the store cannot be reached. Default: wait.
    // run_without_lease is rejected under safety_class::correctness.
    outage on_store_down = outage::wait;

    // How many of its runs the journal keeps, at least one for each partition or slot. Default:
    // 1000. 1 or more, without an upper bound.
    std::size_t keep_runs = 1000;
};

// Override what you want to hear of; a method that you leave alone does nothing. All methods are
// called on pawl's own loop: one at a time, on any thread. A method that blocks delays the
// heartbeat of every lease, and one that throws ends the process. Texts are valid during the call
// only.
class schedule_observer {
public:
    virtual ~schedule_observer() = default;

    // The scheduler knows where its schedules stand, and they fire from now on. Once for each
    // run(). Where the journal could not be read, none fires until it is known which jobs are
    // paused.
    virtual void on_ready() {}

    // A run began, so long after it was due. A token of 0: it runs without a lease.
    virtual void on_run_started(std::string_view /*job*/, millis /*late*/, fence_token) {}
    // A run ended; `skipped`: its work did not begin. `took`: its attempts, without pauses.
    virtual void on_run_finished(std::string_view /*job*/, run_status, millis /*took*/) {}

    // An occurrence does not run, and why, in words. Of all nodes that share a journal, only the
    // one that recorded this is told.
    virtual void on_skipped(std::string_view /*job*/, occurrence, std::string_view /*why*/) {}

    // An occurrence runs without a lease, because the store cannot be reached.
    virtual void on_fail_open(std::string_view /*job*/) {}

    // This process resumes a run that another one left.
    virtual void on_orphan_resumed(std::string_view /*job*/) {}

    // A line for the log, about anything.
    virtual void log(log_level, std::string_view /*line*/) {}
};

// How a process takes part; each member has a default.
struct scheduler_options {
    // The name of this node, for people to read; the journal cuts it at 256 bytes. Default: empty,
    // the name of the host.
    std::string node{};

    // How many runs this process takes at a time. Each needs a thread, which starts when it is
    // first needed. Default: 8. 1 to 10,000.
    std::size_t max_concurrent_runs = 8;

    // How long runs may continue after `stop` before they are told to stop. Default: 30 s. 0 to
    // ten years. 0: they are told at once.
    millis shutdown_grace{30'000};

    // Told what happens to runs. Shared: pawl keeps it alive for as long as it may call it.
    // Default: null, none.
    std::shared_ptr<schedule_observer> observer{};
};

// Runs jobs by their schedules. Thread-safe. It uses its `locks` until that ends, which ends run().
class scheduler {
public:
    // Throws option_error for options out of their bounds, and std::logic_error for `locks` that
    // were moved from or closed, and in the child of a fork(). Does not ask the store.
    [[nodiscard]] explicit scheduler(locks& where, scheduler_options options = {});

    // May come after the end of its `locks`. REQUIRES: no run() is active.
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // Adds a job, also while run() is active. The key is the job's name, so that locks::run() of
    // the same job excludes it. Does not ask the store.
    // Throws option_error for a wrong expression (with the column of its fault), a wrong zone and
    // options out of their bounds. It does so for a job without a body, for a name that is there
    // already, for a key of another job's (partitions and slots have NAME/0 and so on), and for an
    // empty expression without a journal. In a forked child: std::logic_error.
    void add(const job& what, const schedule_options& when);

    // Removes a job. Its active runs continue. False: it is not there. Throws std::logic_error in
    // the child of a fork, and nothing else.
    bool remove(std::string_view name);

    // Runs the jobs, each run on a thread of its own, and blocks until `stop` was requested. Then
    // it claims nothing more, and lets bodies finish for `shutdown_grace` while their leases are
    // renewed. Then it tells them to stop, waits for them, and releases. It waits for a body that
    // does not heed its stop token.
    // The end of its `locks` ends it as `stop` does, and from then on it throws errc::closed.
    // Throws store_error if the journal cannot be opened, option_error if it runs already, and
    // std::logic_error on pawl's own loop and in the child of a fork().
    // Failures of the store and the journal while it runs do not end it.
    void run(std::stop_token stop);
    // The same for Asio programs. Await it on any executor.
    [[nodiscard]] boost::asio::awaitable<void> async_run(std::stop_token stop);

    // When a job is due next, by its schedule and this machine's clock, without `jitter`, and
    // whether or not it is paused; nothing for one that never is, or is not there. Throws as
    // remove() does.
    [[nodiscard]] std::optional<std::chrono::system_clock::time_point> next(
        std::string_view name) const;

private:
    std::shared_ptr<schedule::scheduling> inner_;
};

}  // namespace pawl
