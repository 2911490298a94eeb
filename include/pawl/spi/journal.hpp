// What a journal's author implements: the record of what ran, and the control state in which nodes
// and users leave each other requests.
//
// A journal keeps no lock and decides nothing about who may run: leases do. It keeps four promises.
// An occurrence of a job has one row, whichever node writes it. Every write of a run carries the
// run's token, and a stale one is rejected. Times are the journal's own, so that no node's clock is
// recorded. An audit entry is never changed or removed.
//
// All times in this header are Unix milliseconds on the journal's clock, unless they say otherwise.
// Pawl's source has a conformance suite that checks a journal against what is written here.
#pragma once

#include <pawl/run_status.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

// Bounds that hold for every journal.

// The longest name of a job, in bytes: its keys add "/PARTITION".
constexpr std::size_t job_name_bytes_max = 500;

// The longest checkpoint.
constexpr std::size_t checkpoint_bytes_max = std::size_t{64} * 1024;

// The longest reason; what is longer is cut off.
constexpr std::size_t reason_bytes_max = 1024;

// The most output that one append_output() takes.
constexpr std::size_t output_chunk_bytes_max = std::size_t{256} * 1024;

// The most events of one run; beyond that the oldest but the first go.
constexpr std::size_t run_events_max = 200;

// The most entries of each kind in one reading of the control state.
constexpr std::size_t control_entries_max = 1000;

// The most attempts of one run.
constexpr int attempts_max = 1000;

// One run as it is recorded.
struct run_record {
    // A UUID, the same for every attempt.
    std::string id;

    // The name of the job, and which partition of it.
    std::string job;
    std::uint32_t partition = 0;

    // Of the lease.
    std::string key;
    std::string owner;

    // The node's name.
    std::string node;

    // Of the lease. 0: it runs without one.
    fence_token token{};

    // Nothing: it was triggered manually, or its job has no schedule.
    std::optional<pawl::occurrence> occurrence{};
    pawl::delivery delivery = pawl::delivery::at_most_once;

    // Why it runs: schedule, manual, exec or library.
    std::string trigger;

    // As it is now.
    run_status status = run_status::started;

    // One line; empty when there is nothing to say.
    std::string reason;

    // When the latest attempt began.
    std::int64_t started_at = 0;

    // When it ended; nothing: it has not.
    std::optional<std::int64_t> completed_at{};
    std::int64_t last_heartbeat = 0;

    // Of its command, if it has one and it ended.
    std::optional<int> exit_status{};

    // The latest attempt, from 1.
    int attempt = 1;

    // The last that this run saved, or was given.
    std::string checkpoint;

    // How many bytes it has written, whether or not they are kept.
    std::uint64_t output_size = 0;
    bool cancel_requested = false;
};

// Which checkpoint a run starts from.
enum class checkpoint_source {
    none,       // from nothing, unless it resumes this very occurrence
    last_saved  // the last checkpoint that any run of this job and partition saved
};

// "It begins." A class with a constructor: see claim in <pawl/spi/lease_store.hpp>.
struct run_start {
    run_start(std::string its_id, std::string its_job, std::string its_key)
        : id{std::move(its_id)}, job{std::move(its_job)}, key{std::move(its_key)} {}

    // Fresh; or that of the trigger which it answers; or, for an orphan without an occurrence, its
    // own.
    std::string id;
    std::string job;
    std::uint32_t partition = 0;
    std::string key;
    std::string owner;
    std::string node;

    // 0: it runs without a lease (fail-open), and any token is newer.
    fence_token token{};
    std::optional<pawl::occurrence> occurrence{};
    pawl::delivery delivery = pawl::delivery::at_most_once;
    std::string trigger;

    // It consumes the trigger with this id.
    bool consumes_trigger = false;
    checkpoint_source starts_from = checkpoint_source::none;

    // Without a heartbeat for this long it counts as stale.
    millis heartbeat_timeout{60'000};
};

enum class begin_outcome {
    begun,        // recorded; also the answer to a repetition with the same id and token
    resumed,      // a lost process had begun this occurrence: this is another attempt of that run
    already_run,  // this occurrence is over, or its trigger is gone: do not run it
    superseded    // a newer token has it, or none that is older: do not run it
};

// The answer to begin().
struct begin_result {
    begin_outcome outcome = begin_outcome::begun;

    // Of the run; not the one that was offered, where a row was there before.
    std::string id{};
    int attempt = 1;
    std::string checkpoint{};

    // As it is now. Cancelled: its trigger is gone.
    run_status status = run_status::started;

    // Where the output of this attempt goes on.
    std::uint64_t output_size = 0;
};

// A run, and the token that entitles its holder to write about it.
struct run_ref {
    std::string id;
    fence_token token{};
};

// The answer to a heartbeat. Stale: the run is over, or another token has it.
enum class heartbeat_result { alive, cancel_requested, stale };

// How a run, or an attempt of it, ended.
struct run_end {
    // Any but `started`.
    run_status status = run_status::completed;
    std::string reason{};
    std::optional<int> exit_status{};

    // Of next_attempt(): the one that did not succeed, so that a repetition is known.
    int attempt = 0;
};

// One line of a run's history.
struct run_event {
    std::int64_t at = 0;

    // begun, asked (a user triggered it; `text` is their name), resumed, checkpoint, attempt (the
    // next one begins), note, cancel_requested, or the word of the status with which the run ended.
    std::string kind;
    std::string text;
    std::string node;
    fence_token token{};
    int attempt = 1;
};

// Which runs to list: those for which all that is given holds.
struct run_filter {
    std::optional<std::string> job{};
    std::optional<run_status> status{};
    std::optional<std::string> node{};
};

// Part of a list of runs.
struct run_page {
    // The newest begun first.
    std::vector<run_record> records;

    // Hand it back as `after` to get the next page. Empty: this is the last page.
    std::string next;
};

// Part of what a run has written. If `offset` is further than what was asked for, what lies between
// was dropped, because the bound on output was reached.
struct output_part {
    std::uint64_t offset = 0;
    std::string bytes;

    // Of all that was written so far.
    std::uint64_t size = 0;

    // The run has ended: nothing will be added.
    bool over = false;
};

// A request for a run.
struct run_trigger {
    // A UUID; becomes the run's.
    std::string id;
    std::string job;
    std::uint32_t partition = 0;

    // Added to the command.
    std::vector<std::string> arguments;
    checkpoint_source starts_from = checkpoint_source::none;

    // The user who asks.
    std::string by;
    std::int64_t at = 0;
};

// A job whose schedule is paused.
struct job_pause {
    std::string job;
    std::string reason;
    std::string by;
    std::int64_t at = 0;
};

// What nodes have to know, at one glance.
struct control_state {
    std::vector<job_pause> pauses;

    // The oldest first. Where there are more: of each job its first, then of each its second, and
    // so on.
    std::vector<run_trigger> triggers;

    // Ids of runs that have started and are to end.
    std::vector<std::string> cancels;

    // Abandoned, at-least-once: to be resumed. In the order of triggers, without checkpoints.
    std::vector<run_record> orphans;
};

// A job as some node's configuration has it, for readers without that configuration.
struct job_entry {
    std::string name;

    // The expression; empty for a job that is only triggered manually.
    std::string schedule;
    std::string zone;
    std::uint32_t partitions = 1;

    // JSON for people and programs; holds no secret.
    std::string definition;

    // Which node published it last.
    std::string node;

    // What comes due after it runs: when it was first published so, enabled again, or resumed.
    std::int64_t since = 0;
    std::int64_t published_at = 0;
};

// A node that runs jobs.
struct node_entry {
    // The owner of its leases: fresh for every start.
    std::string id;

    // As configured.
    std::string name;
    std::string version;

    // Of its API; empty without.
    std::string address;

    // When it was first seen.
    std::int64_t started_at = 0;
    std::int64_t last_seen = 0;

    // Since last_seen, on the journal's clock.
    millis age{0};
    std::uint32_t running = 0;
    std::uint32_t running_max = 0;
    std::uint32_t jobs = 0;

    // It takes no new runs.
    bool draining = false;
};

// What is to be added to the audit.
struct audit_draft {
    // A user's name, or user@host of a command.
    std::string actor;

    // Such as job.pause, lock.release, run.cancel.
    std::string action;
    std::string target;

    // The reason given, the token shown.
    std::string detail;
};

// An entry of the audit. Each holds the hash of the one before it, so that no change and no gap
// goes unnoticed: hash = SHA-256 over sequence, at, actor, action, target, detail and previous.
// Each is written as its length in bytes, a colon and its bytes; numbers are written in decimal.
struct audit_entry {
    // 1, 2, 3, …
    std::uint64_t sequence = 0;
    std::int64_t at = 0;
    std::string actor, action, target, detail;

    // Hexadecimal; 64 zeros for the first.
    std::string previous;
    std::string hash;
};

// The journal of one namespace of one server. Each verb runs on the executor that the journal was
// made with, and is awaited there. It keeps its own deadline, store_settings::timeout. Arguments
// are values; spans are kept alive by the caller until the await ends. Verbs may be awaited
// concurrently. A verb never blocks its thread and never throws: a failure is an answer.
//
// Each verb is one atomic step. Repeating one whose outcome is unknown is safe, and gives the
// answer that was lost. Only the verbs that answer whether there was anything to do (skip by
// another id, pauses, triggers, retire, prune) say no the second time. A repeated append_audit adds
// a second entry.
//
// What can never be right is rejected with errc::rejected: a checkpoint or chunk beyond its bound,
// a run without an id or a job, an end that is none (started, skipped), a cursor that no page gave.
// Texts for people (reason, kind, text, actor …) are made one line of valid UTF-8 and cut off.
// An engine does neither. Pawl asks each through a journal that does, and never passes on what is
// wrong. It keeps the engine alive until the last of its verbs has ended.
class journal {
public:
    virtual ~journal() = default;
    journal() = default;
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    // -- runs, by their runner. The verbs that answer with bool: false means stale (not `started`,
    // or under another token), and nothing was written. An event that equals the newest of its run
    // in all but its time is not added again.

    // A row for this run; for an occurrence, the one row of (job, partition, occurrence).
    // A row `skipped` is taken over as a first attempt, by a newer token, 0 by any. A row `started`
    // or `abandoned` is taken over by an at-least-once run with a newer token: a further attempt
    // with the row's id, checkpoint and output; or ends, if it is to be cancelled. An at-most-once
    // run finds it already_run. A row of another occurrence or job under this id is rejected.
    virtual async<begin_result> begin(run_start start) = 0;

    // Of 500 runs at most: one answer for each, in order. Costs one write for all.
    virtual async<std::vector<heartbeat_result>> heartbeat(std::span<const run_ref> runs) = 0;

    // Saves how far the run has come. Also false when a newer token of the same job and partition
    // has saved one; a run without a lease (token 0) then saves for itself alone.
    virtual async<bool> checkpoint(run_ref who, std::string text) = 0;

    // Keeps the last `limit` bytes, and at most one chunk more. `offset` is where these bytes
    // belong in all that was written. It may leave a gap behind what is there, and what is there
    // already is not added again.
    virtual async<bool> append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                      std::uint64_t limit) = 0;

    // Adds an event to the run's history.
    virtual async<bool> add_event(run_ref who, std::string kind, std::string text) = 0;

    // The attempt did not succeed, and another one begins, or will. True without effect when
    // last.attempt is over already. Its status is not recorded, its reason and exit status are.
    virtual async<bool> next_attempt(run_ref who, run_end last) = 0;

    // Ends the run, or leaves it `abandoned`. Repeating it with the same status is true.
    virtual async<bool> finish(run_ref who, run_end how) = 0;

    // A row `skipped` for an occurrence that has none. False if it has one under another id.
    virtual async<bool> skip(run_start what, std::string reason) = 0;

    // -- runs, by others

    // The run with this id; nothing where there is none.
    virtual async<std::optional<run_record>> find_run(std::string id) = 0;

    // The run of this occurrence; nothing where it has none.
    virtual async<std::optional<run_record>> find_occurrence(std::string job,
                                                             std::uint32_t partition,
                                                             pawl::occurrence occurrence) = 0;

    // Those that begin after `after`, a run_page::next; from the newest if it is empty. `limit` is
    // 1 to page_limit_max. A row that is taken over keeps its place.
    virtual async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) = 0;

    // The events of a run, the oldest first; none where there is no such run.
    virtual async<std::vector<run_event>> history(std::string id) = 0;

    // At most bytes_max from `offset`, none of them beyond a gap. Nothing when there is no such
    // run.
    virtual async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                          std::size_t bytes_max) = 0;

    // True if the run is not over and will be told, or was told before. An abandoned one ends as
    // cancelled at once; one that its runner or a reconciler would leave `abandoned` does so then.
    // False where there is no such run.
    virtual async<bool> request_cancel(std::string id, std::string by) = 0;

    // Runs that are started and without a heartbeat for longer than their heartbeat_timeout, in a
    // stable order, without the first `skip` of them. `limit` is 1 to page_limit_max.
    virtual async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) = 0;

    // What a reconciler makes of one: ends it, if it is still started, with this very token, and
    // stale. False otherwise; true if it has been ended so, for the same reason.
    virtual async<bool> end_stale(run_ref who, run_end how) = 0;

    // Removes runs of the job that are over, with their events and output. Those beyond the newest
    // `keep` go, and those that ended longer than `keep_for` ago (0: no such bound). At most
    // `limit` at a time, the oldest begun first; says how many went. What the last run saved stays.
    // An occurrence whose row went has none any more: that it does not run again is up to its
    // lease.
    virtual async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                                     std::size_t limit) = 0;

    // -- the control state

    // All pauses, triggers, cancels and orphans; of each kind control_entries_max at most.
    virtual async<control_state> read_control_state() = 0;

    // False if there is a trigger, or a run, with this id. `at` is the journal's.
    virtual async<bool> add_trigger(run_trigger what) = 0;

    // False if there is none with this id.
    virtual async<bool> remove_trigger(std::string id) = 0;

    // Both are false when it was so already, and stays so. resume_job() raises job_entry::since.
    virtual async<bool> pause_job(std::string job, std::string reason, std::string by) = 0;
    virtual async<bool> resume_job(std::string job) = 0;

    // -- jobs and nodes

    // Adds and replaces. Answers with the entries as they are now, in order (see job_entry::since).
    virtual async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) = 0;

    // Removes entries that this node published last; says how many went.
    virtual async<std::size_t> retire(std::vector<std::string> names, std::string node) = 0;

    // In byte order of their names, those after `after`. `limit` is 1 to page_limit_max.
    virtual async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) = 0;

    // The entry of this job; nothing where there is none.
    virtual async<std::optional<job_entry>> find_job(std::string name) = 0;

    // The times of the entry are the journal's.
    virtual async<void> node_heartbeat(node_entry me) = 0;

    // Removes the entry of a node. That there is none is no failure.
    virtual async<void> node_leave(std::string id) = 0;

    // Those that were seen within a day, by name; of more than page_limit_max, those seen last.
    virtual async<std::vector<node_entry>> list_nodes() = 0;

    // -- the audit

    // Adds an entry, and answers with it as it is stored, with its hash.
    virtual async<audit_entry> append_audit(audit_draft what) = 0;

    // Entries with a lower sequence than `before` (0: from the newest), the newest first. `limit`
    // is 1 to page_limit_max.
    virtual async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) = 0;
};

}  // namespace pawl
