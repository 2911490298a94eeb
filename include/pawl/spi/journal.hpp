// What a journal's author implements: the record of what ran, and the board on which nodes and
// people leave each other notes.
//
// A journal keeps no lock and decides nothing about who may run: leases do. It keeps four promises.
// A firing of a job has one row, whoever writes it. Every write of a run carries the run's token,
// and a stale one is refused. Times are the journal's own, so that no node's clock is written down.
// What was audited is never changed or removed.
//
// The suite in testing/conformance/journal holds every journal to what is written here;
// src/journals/rules decides it, for engines that read, decide and write in one transaction.
#pragma once

#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

enum class run_status {
    started,    // it runs, or nobody has noticed yet that it does not
    completed,  // the work was done
    failed,     // the work said that it was not done, and no attempt is left
    cancelled,  // somebody asked for that, or the node shut down
    lost,       // its lease or its node was lost, and this firing will not run again
    timed_out,  // it was stopped because it took too long, and no attempt is left
    abandoned,  // its lease or its node was lost; at-least-once: somebody is to take it up again
    skipped     // it was due and did not run: the previous one still ran, or it was too late
};

// The word in JSON and in the database.
std::string_view name_of(run_status status) noexcept;
std::optional<run_status> run_status_named(std::string_view word) noexcept;

constexpr bool is_over(run_status status) noexcept {
    return status != run_status::started && status != run_status::abandoned;
}

// Bounds that hold for every journal.
constexpr std::size_t job_name_bytes_max = 500;  // its keys are job/NAME/PARTITION
constexpr std::size_t checkpoint_bytes_max = std::size_t{64} * 1024;
constexpr std::size_t reason_bytes_max = 1024;  // what is longer is cut off
constexpr std::size_t output_chunk_bytes_max = std::size_t{256} * 1024;
constexpr std::size_t run_events_max = 200;      // of one run; the oldest but the first go
constexpr std::size_t board_entries_max = 1000;  // of each kind on one reading of the board
constexpr int attempts_max = 1000;

// One run as it is written down. Times are Unix milliseconds on the journal's clock.
struct run_record {
    std::string id;  // a UUID, the same for every attempt
    std::string job;
    std::uint32_t partition = 0;
    std::string key;    // of the lease
    std::string owner;  // of the lease
    std::string node;
    fence_token token{};
    std::optional<occurrence> firing{};
    delivery mode = delivery::at_most_once;
    std::string trigger;  // schedule, manual, exec, library
    run_status status = run_status::started;
    std::string reason;           // one line; empty when there is nothing to say
    std::int64_t started_at = 0;  // of the latest attempt
    std::optional<std::int64_t> completed_at{};
    std::int64_t last_heartbeat = 0;
    std::optional<int> exit_status{};
    int attempt = 1;
    std::string checkpoint;         // the last that this run saved, or was given
    std::uint64_t output_size = 0;  // bytes that it has written, whether or not they are kept
    bool cancel_requested = false;
};

// What a run was told about its past.
enum class inheritance {
    none,       // it starts from nothing, unless it takes up this very firing again
    last_saved  // it is given the last checkpoint that any run of this job and partition saved
};

// "It begins." A class with a constructor: see claim in <pawl/spi/lease_store.hpp>.
struct run_start {
    run_start(std::string id, std::string job, std::string key)
        : id{std::move(id)}, job{std::move(job)}, key{std::move(key)} {}

    // Fresh; or that of the trigger which it answers; or, for an orphan without a firing, its own.
    std::string id;
    std::string job;
    std::uint32_t partition = 0;
    std::string key;
    std::string owner;
    std::string node;
    fence_token token{};  // 0: it runs without a lease (fail-open); any token is newer
    std::optional<occurrence> firing{};
    delivery mode = delivery::at_most_once;
    std::string trigger;
    bool answers_trigger = false;  // consumes the trigger with this id
    inheritance past = inheritance::none;
    millis silence_max{60'000};  // without a heartbeat for so long it counts as stale
};

enum class begin_outcome {
    begun,        // written down; also the answer to a repetition with the same id and token
    resumed,      // this firing had been begun by somebody who is gone: another attempt of that run
    already_run,  // this firing is over, or its trigger is gone: do not run it
    superseded    // a newer token has it, or none that is older: do not run it
};

struct beginning {
    begin_outcome outcome = begin_outcome::begun;
    std::string id{};  // of the run; not the one that was offered, where a row was there before
    int attempt = 1;
    std::string checkpoint{};
    run_status status = run_status::started;  // as it is now; cancelled: its trigger is gone
    std::uint64_t output_size = 0;            // where the output of this attempt goes on
};

// A run, and the token that entitles to write about it.
struct run_mark {
    std::string id;
    fence_token token{};
};

enum class beat { alive, cancel_requested, stale };  // stale: not yours any more, or over

struct run_end {
    run_status status = run_status::completed;
    std::string reason{};
    std::optional<int> exit_status{};
    int attempt =
        0;  // of next_attempt: the one that did not succeed, so that a repetition is known
};

struct run_event {
    std::int64_t at = 0;
    // begun, resumed, checkpoint, attempt (the next one begins), note, cancel_requested, or the
    // word of the status with which the run ended.
    std::string kind;
    std::string text;
    std::string node;
    fence_token token{};
    int attempt = 1;
};

struct run_filter {
    std::optional<std::string> job{};
    std::optional<run_status> status{};
    std::optional<std::string> node{};
};

struct run_page {
    std::vector<run_record> records;  // the newest begun first
    std::string next;                 // hand it back as `after`; empty at the end
};

// Part of what a run has written. When `offset` is further than what was asked for, what lies
// between was let go of, because the bound on output was reached.
struct output_part {
    std::uint64_t offset = 0;
    std::string bytes;
    std::uint64_t size = 0;  // of all that was written so far
    bool over = false;       // the run has ended: nothing will be added
};

// Somebody asks for a run.
struct run_trigger {
    std::string id;  // a UUID; becomes the run's
    std::string job;
    std::uint32_t partition = 0;
    std::vector<std::string> arguments;  // added to the command
    inheritance past = inheritance::none;
    std::string by;  // who asks
    std::int64_t at = 0;
};

struct job_pause {
    std::string job;
    std::string reason;
    std::string by;
    std::int64_t at = 0;
};

// What nodes have to know, at one glance.
struct board {
    std::vector<job_pause> pauses;
    std::vector<run_trigger> triggers;  // the oldest first
    std::vector<std::string> cancels;   // ids of runs that have been started and are to end
    std::vector<run_record> orphans;    // abandoned, at-least-once: to be taken up again
};

// A job as some node's configuration has it, for those who have no configuration.
struct job_entry {
    std::string name;
    std::string schedule;  // the expression; empty for a job that is only triggered
    std::string zone;
    std::uint32_t partitions = 1;
    std::string definition;  // JSON for people and programs; holds no secret
    std::string node;        // who published it last
    std::int64_t since = 0;  // when this name was first published with this schedule and zone
    std::int64_t published_at = 0;
};

struct node_entry {
    std::string id;    // the owner of its leases: fresh for every start
    std::string name;  // as configured
    std::string version;
    std::string address;          // of its API; empty without
    std::int64_t started_at = 0;  // when it was first seen
    std::int64_t last_seen = 0;
    millis age{0};  // since last_seen, on the journal's clock
    std::uint32_t running = 0;
    std::uint32_t running_max = 0;
    std::uint32_t jobs = 0;
    bool draining = false;  // it takes no new runs
};

struct audit_draft {
    std::string actor;   // who: a user's name, or user@host of a command
    std::string action;  // such as job.pause, lock.release, run.cancel
    std::string target;
    std::string detail;  // the reason given, the token shown
};

// Each entry holds the hash of the one before it, so that nothing can be changed or left out
// unnoticed: hash = SHA-256 over `previous` and the fields above it
// (src/journals/rules/audit_chain).
struct audit_entry {
    std::uint64_t sequence = 0;  // 1, 2, 3, …
    std::int64_t at = 0;
    std::string actor, action, target, detail;
    std::string previous;  // hexadecimal; 64 zeros for the first
    std::string hash;
};

// Every verb runs on the executor that the journal was made with, is awaited there, and keeps its
// own deadline (the journal's `timeout`). Arguments are values; spans are kept alive by the caller
// until the await ends. Verbs may be awaited concurrently. A verb never throws. Each is one atomic
// step; repeating one whose outcome is unknown is safe, and gives the answer that was lost. Only
// the verbs that answer whether there was anything to do (skip by another id, pauses, triggers,
// retire, prune) say no the second time, and a repeated append_audit adds a second entry.
//
// What can never be right is refused with errc::rejected: a checkpoint or chunk beyond its bound,
// a run without an id or a job, an end that is none (started, skipped), a cursor that no page gave.
// Texts for people (reason, kind, text, actor …) are made one line of valid UTF-8 and cut off.
// An engine does neither: pawl asks each through a journal that does, for nothing that is wrong,
// and keeps the engine alive until the last of its verbs has ended.
class journal {
public:
    virtual ~journal() = default;
    journal() = default;
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    // -- runs, by their runner

    // A row for this run; for a firing, the one row of (job, partition, firing). A row `skipped` is
    // taken over as a first attempt, by a newer token, 0 by any. A row `started` or `abandoned`
    // is taken over, as a further attempt with the row's id, checkpoint and output, by an
    // at-least-once run with a newer token; an at-most-once run finds it already_run. A row that
    // another firing or job has under this id is rejected.
    virtual async<beginning> begin(run_start start) = 0;
    // One answer for each, in order. Costs one write for all.
    virtual async<std::vector<beat>> heartbeat(std::span<const run_mark> runs) = 0;
    // The verbs that answer with bool: false means stale (not `started`, or under another token),
    // and nothing was written. An event that equals the newest of its run in all but its time is
    // not added again.
    // Also refused when a newer token of the same job and partition has saved one.
    virtual async<bool> checkpoint(run_mark who, std::string text) = 0;
    // Keeps the last `limit` bytes, and at most one chunk more. `offset` is where these bytes
    // belong in all that was written; it may leave a gap behind what is there, and what is there
    // already is not added again.
    virtual async<bool> append_output(run_mark who, std::uint64_t offset, std::string bytes,
                                      std::uint64_t limit) = 0;
    // Something for the run's history.
    virtual async<bool> note(run_mark who, std::string kind, std::string text) = 0;
    // The attempt did not succeed, and another one begins, or will. True without effect when
    // last.attempt is over already; its status is not written, its reason and exit status are.
    virtual async<bool> next_attempt(run_mark who, run_end last) = 0;
    // Ends it, or leaves it `abandoned`. Repeating it with the same status is true.
    virtual async<bool> finish(run_mark who, run_end how) = 0;
    // A row `skipped` for a firing that has none. False if it has one under another id.
    virtual async<bool> skip(run_start what, std::string reason) = 0;

    // -- runs, by others

    virtual async<std::optional<run_record>> find_run(std::string id) = 0;
    virtual async<std::optional<run_record>> find_firing(std::string job, std::uint32_t partition,
                                                         occurrence firing) = 0;
    // 1 <= limit <= page_limit_max. A row taken over keeps its place.
    virtual async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) = 0;
    virtual async<std::vector<run_event>> history(std::string id) = 0;
    // At most bytes_max from `offset`, none of them beyond a gap. Nothing when there is no such
    // run.
    virtual async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                          std::size_t bytes_max) = 0;
    // True if the run goes on and is told, or was told before. An abandoned run goes on: whoever
    // takes it up is told.
    virtual async<bool> request_cancel(std::string id, std::string by) = 0;
    // Runs that are started and have been silent for longer than they said they would, in an order
    // that stays, without the first `skip` of them. 1 <= limit <= page_limit_max.
    virtual async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) = 0;
    // What a reconciler makes of one: ends it, if it is still started, with this very token and
    // stale. False otherwise; true if it has been ended so, for the same reason.
    virtual async<bool> judge(run_mark who, run_end how) = 0;
    // Removes runs of the job that are over, with their events and output: those beyond the newest
    // `keep` of them, and those that ended longer than `keep_for` ago (0: no such bound). At most
    // `limit` at a time, the oldest begun first; says how many went. What the last run saved stays.
    // A firing whose row went has none any more: that it does not run again is up to its lease.
    virtual async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                                     std::size_t limit) = 0;

    // -- the board

    virtual async<board> read_board() = 0;
    // False if there is a trigger, or a run, with this id. `at` is the journal's.
    virtual async<bool> add_trigger(run_trigger what) = 0;
    virtual async<bool> remove_trigger(std::string id) = 0;
    virtual async<bool> pause(std::string job, std::string reason, std::string by) = 0;
    virtual async<bool> unpause(std::string job) = 0;  // both: false when it was so, and stays so

    // -- jobs and nodes

    // Adds and replaces. Answers with the entries as they are now, in order (see job_entry::since).
    virtual async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) = 0;
    // Removes entries that this node published last.
    virtual async<std::size_t> retire(std::vector<std::string> names, std::string node) = 0;
    // In byte order of their names, those after `after`.
    virtual async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) = 0;
    virtual async<std::optional<job_entry>> find_job(std::string name) = 0;
    virtual async<void> node_beat(node_entry me) = 0;  // its times are the journal's
    virtual async<void> node_leave(std::string id) = 0;
    // Those that were seen within a day, by name; at most page_limit_max.
    virtual async<std::vector<node_entry>> list_nodes() = 0;

    // -- the audit

    virtual async<audit_entry> append_audit(audit_draft what) = 0;
    // Entries with a lower sequence than `before` (0: from the newest), the newest first.
    virtual async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) = 0;
};

}  // namespace pawl
