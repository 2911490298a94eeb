// How a job is doing, and why it does not run: what a stranger reads to learn why it is late.
//
// A machine without I/O: it is handed what was read at the journal and the store, and the instant.
// It sees what everybody sees; what goes on inside an agent it does not know, and does not guess.
#pragma once

#include "documents/job_terms.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// An occurrence that is due for longer, and has not begun, is late.
constexpr millis late_after{10'000};
// An entry that no agent has published for so long is no job's; longer where there are thousands
// of jobs: see schedule::publish_interval.
constexpr millis published_lately{300'000};

enum class job_state {
    running,
    blocked,  // a client that is no run of the job holds its key
    late,     // an occurrence is due, and has not begun
    waiting,  // a run is queued, or one is to be taken up again
    paused,
    disabled,  // in its configuration
    failing,   // its newest runs failed, one after another
    idle
};
std::string_view word_of(job_state state) noexcept;

// Its row says that it could not begin before the next occurrence came due, and gave way to that.
bool waited_in_vain(const run_record& run);

// A run that failed or timed out.
struct failed_run {
    std::string id, node, reason;              // see reason_of
    std::int64_t at = 0;                       // when it ended
    std::optional<std::uint32_t> partition{};  // of a job that has some
};

// Whether its row says how the work went: it completed, failed or timed out.
bool is_conclusive(const run_record& run);

// The failures that no success has followed, the newest first. What says nothing of the job itself
// is passed over: runs that were lost with their node, cancelled or skipped.
struct failure_streak {
    std::optional<failed_run> newest{};
    std::int64_t since = 0;  // when the first of them ended
    std::size_t count = 0;
    bool over = false;

    // An older run than those before it.
    void add(const run_record& run);
};

// Each partition's failures by themselves: one that fails every time fails among others that
// complete.
struct job_failures {
    failure_streak worst{};        // the longest
    std::uint32_t partitions = 0;  // that are failing; slots are no part of the work: 1 of them all
};
// REQUIRES: the newest first.
job_failures failures_in(const std::vector<run_record>& runs, const documents::job_terms& terms);

// Why it ended as it did: its reason, else its exit status, else its status.
std::string reason_of(const run_record& run);

// What is known of one partition; of a job without any, of the job.
struct partition_facts {
    std::uint32_t partition = 0;
    bool rows_known = true;                         // else it is not judged late
    std::optional<record> lock{};                   // of its key; known before any run is added
    bool holder_known = false;                      // the lock's token is that of a run of this job
    std::optional<run_record> active{};             // started, and not over
    std::optional<run_record> orphan{};             // abandoned, to be taken up again
    std::optional<std::int64_t> last_occurrence{};  // the latest that was dealt with, whatever
                                                    // became of it
    // The earliest whose row says that it waited in vain until the next came due: that one waits
    // for the same, so the job is late since this.
    std::optional<std::int64_t> passed_over{};
    std::optional<run_record> last_run{};  // the newest begun

    // A row of this partition; the newest first.
    void add(const run_record& run);
};

struct job_facts {
    const job_entry* entry = nullptr;
    const documents::job_terms* terms = nullptr;
    const job_pause* pause = nullptr;            // null where it is not paused
    std::vector<const run_trigger*> triggers{};  // that no node has taken up, the oldest first
    std::vector<partition_facts> partitions{};   // as many as were looked at
    std::optional<std::int64_t> resumed_at{};    // what was due before that was paused away
    job_failures failures{};
};

// What is the same for all jobs.
struct shared_facts {
    const std::vector<node_entry>* nodes = nullptr;
    std::string store_trouble{};  // one line; empty while the store answers
    std::size_t jobs = 1;         // how many are published
    std::int64_t now = 0;         // Unix milliseconds
};

// A key of the job, and the client that holds it in its way.
struct blockage {
    std::uint32_t partition = 0;
    record lock{};
};

struct job_health {
    job_state state = job_state::idle;
    std::string why{};  // one line; empty when there is nothing to explain
    std::optional<std::int64_t> since{};
    std::optional<std::int64_t> missed{};  // an occurrence that will not run any more
    std::optional<blockage> blocked_by{};  // the one that is held for longest
    job_failures failures{};
    std::uint32_t blocked = 0;  // partitions
    std::uint32_t running = 0;  // partitions
    std::uint32_t late = 0;     // partitions
};

job_health judge(const job_facts& job, const shared_facts& around);

}  // namespace pawl::api
