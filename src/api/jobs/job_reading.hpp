// Jobs as the API shows them: their entries beside what the store and the journal know of them.
#pragma once

#include "api/jobs/job_health.hpp"
#include "api/request/context.hpp"

#include <pawl/spi/async.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::api {

// Of a partitioned job so many partitions are looked at for a list, and of the others those that
// are held, run or are waited for; all of them for one job.
constexpr std::size_t partitions_listed_max = 64;
// Keys of those others that are looked for, over all jobs of a list.
constexpr std::size_t other_keys_max = 10'000;
// Questions to the journal, or to the store, at a time.
constexpr std::size_t asked_at_once_max = 8;
// Of the newest runs of a job that has partitions.
constexpr std::size_t runs_looked_at_max = 1'000;
// Checkpoints that are kept of many runs at once; the others are left out, the newest begun last.
constexpr std::size_t checkpoints_kept_max = std::size_t{1024} * 1024;
// Of one job that has none.
constexpr std::size_t runs_of_one = 50;
// Started runs that are looked at, over all jobs.
constexpr std::size_t active_runs_max = 5'000;

// What is read once for any number of jobs.
struct health_inputs {
    std::unordered_map<std::string, job_pause> pauses{};                   // all of these by job
    std::unordered_map<std::string, std::vector<run_trigger>> triggers{};  // the oldest first
    std::unordered_map<std::string, std::vector<run_record>> orphans{};
    std::unordered_map<std::string, std::vector<run_record>> active{};
    std::vector<node_entry> nodes{};
    std::string store_trouble{};  // one line; empty while the store answers
    std::size_t jobs = 0;         // at least
    std::int64_t now = 0;
    std::int64_t as_of = 0;  // before the first of it was read
};
// Of the active runs, checkpoints are kept of those that are to be shown, within the bound.
using run_choice = std::function<bool(const run_record&)>;
async<std::shared_ptr<health_inputs>> read_health_inputs(shared_context around, run_choice shown);

struct job_reading {
    job_entry entry{};
    std::shared_ptr<const documents::job_terms> terms{};
    std::size_t keys = 0;  // of its first partitions, whose locks are looked for
    std::vector<partition_facts> partitions{};
    std::vector<run_record> runs{};  // the newest first, as many as were read
    std::optional<std::int64_t> resumed_at{};
    std::optional<job_failures> failures_known{};  // found before, of more rows than `runs`
    job_health how{};
};

// Of a page those behind where it is full are left out; of what is brief the checkpoints that are
// longer than events tell them.
enum class thoroughness { list, page, brief, detail };

// Fails where the journal does; a store that fails is told in each job's health.
async<std::vector<job_reading>> read_jobs(shared_context around, std::shared_ptr<health_inputs> now,
                                          std::vector<job_entry> entries, std::size_t runs,
                                          thoroughness how);

// Adds the keys of a job that are to be looked for. `others_left` is what is left of
// other_keys_max.
void add_keys(job_reading& one, thoroughness how, std::size_t& others_left,
              std::vector<std::string>& keys);

// Judges a job by what is at hand: its `runs`, health inputs and the records of its keys.
void judge_by(job_reading& one, const health_inputs& now,
              const std::unordered_map<std::string, record>& locks);

// As the schema Job of the API has it, with `runs` of its last runs.
boost::json::object json_of(const job_reading& job, const health_inputs& now, std::size_t runs);

// One job with all of its partitions, and what it was judged by.
struct job_look {
    job_reading job{};
    std::shared_ptr<health_inputs> now{};
};
async<job_look> look_at_job(shared_context around, job_entry entry);

// Those behind `after` by name, at most `most`, and what they were judged by: what GET /api/v1/jobs
// shows.
struct job_page {
    std::vector<job_reading> jobs{};
    std::shared_ptr<health_inputs> now{};
    bool ends = true;  // nothing comes behind it
};
async<job_page> read_job_page(shared_context around, std::string after, std::size_t most,
                              std::size_t runs, thoroughness how);
// The same as documents, all at once.
async<std::vector<boost::json::object>> job_documents(shared_context around, std::string after,
                                                      std::size_t most, std::size_t runs);

// The entries of those behind `after` by name, at most `most`.
async<std::vector<job_entry>> read_entries(shared_context around, std::string after,
                                           std::size_t most);

// The records of these keys: few are asked for one by one, many are read off the list.
struct lock_reading {
    std::unordered_map<std::string, record> locks{};
    std::string trouble{};  // one line; empty when the store has answered
};
boost::asio::awaitable<std::shared_ptr<lock_reading>> read_locks(shared_context around,
                                                                 std::vector<std::string> keys);

// Since when jobs fire again, of those that were resumed lately: an audit tells it.
std::unordered_map<std::string, std::int64_t> resumptions(const std::vector<audit_entry>& audit);

}  // namespace pawl::api
