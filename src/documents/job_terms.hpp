// What a job's entry says about its runs: when they are due, and under which keys.
//
// Read once from the JSON that its agent has published, for those who ask about many jobs.
#pragma once

#include "base/argument_rule.hpp"
#include "schedule/timing/timetable.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::documents {

struct job_terms {
    explicit job_terms(const job_entry& job);

    std::string key(std::uint32_t partition) const;
    // Those after `from`, in Unix milliseconds, at most `count`: by this machine's zone data.
    std::vector<std::int64_t> occurrences_after(std::int64_t from, std::size_t count) const;

    boost::json::object definition;  // empty when it is not an object
    std::string name;
    std::uint32_t partitions = 1;  // its keys: with slots one for each
    bool has_slots = false;        // an occurrence runs in one of them, and not in all
    bool takes_in_order = false;   // its occurrences: a busy key is waited for
    std::string key_prefix;        // of its leases
    bool enabled = true;
    // Nothing: it runs when triggered manually, is not enabled, or has a schedule that this
    // version does not read.
    std::optional<schedule::occurrence_rule> rule{};
    base::argument_rule arguments{};  // that people may add
    bool remembers = true;            // occurrence is not off
    bool hold_until_expiry = false;
    millis ttl{30'000};
    millis min_hold{0};
    millis jitter{0};
};

// "no agent has published a job 'x': …", with the nearest of the names where one is meant.
std::string unknown_job(std::string_view name, const std::vector<std::string_view>& names,
                        std::string_view otherwise);

// What the audit says of a manual run: "resume", and the arguments.
std::string words_of_request(checkpoint_source past, const std::vector<std::string>& arguments);

// What became of a request for runs of some partitions.
struct queued_count {
    std::size_t queued = 0;  // with the last, also where that is not known
    std::size_t wanted = 0;
    bool is_last_sure = true;
};
// What the audit says of it.
std::string words_of_queued(const queued_count& count, std::string words);

// What would run of a job, and what it would be given.
struct planned_run {
    std::uint32_t partition = 0;
    std::optional<record> lease{};  // of its key
    std::string checkpoint{};
};
boost::json::object dry_run_of(const job_terms& job, const std::vector<std::string>& arguments,
                               std::size_t live_nodes, const std::vector<planned_run>& runs);

// Which slot of a job is to have a run that a user queues: with `saved` that of the last
// checkpoint, else the one for which the fewest wait, and the first of those.
struct slot_inputs {
    const std::vector<run_trigger>& queued;  // of all jobs
    std::vector<bool> taken{};               // by slot
    std::optional<std::uint32_t> saved{};    // the slot of the last checkpoint, to be resumed
};
// Whether the run has a checkpoint, in a slot that the job still has.
bool has_saved(const job_terms& job, const run_record& run);
std::uint32_t choose_slot(const job_terms& job, const slot_inputs& now);

// What a resumed run of this partition would be given: of the newest that has saved anything.
std::string last_checkpoint(const std::vector<run_record>& newest_first, std::uint32_t partition);

// Those that take new runs.
bool is_live(const node_entry& node);
std::size_t count_live(const std::vector<node_entry>& nodes);

}  // namespace pawl::documents
