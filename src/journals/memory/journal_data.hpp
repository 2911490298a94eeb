// What all memory journals of one name share.
#pragma once

#include "journals/memory/run_shelf.hpp"
#include "journals/rules/run_rules.hpp"

#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pawl::memory {

// Thread-safe: every function is one atomic step, and the verb of the same name in
// <pawl/spi/journal.hpp>, for arguments without a fault.
class journal_data {
public:
    // The data of this name; made at its first use.
    static std::shared_ptr<journal_data> of(const std::string& name);

    result<beginning> begin(const run_start& start);
    std::vector<beat> heartbeat(std::span<const run_mark> runs);
    bool checkpoint(const run_mark& who, std::string text);
    bool append_output(const run_mark& who, std::uint64_t offset, std::string bytes,
                       std::uint64_t limit);
    bool note(const run_mark& who, const std::string& kind, const std::string& text);
    result<bool> next_attempt(const run_mark& who, const run_end& last);
    bool finish(const run_mark& who, const run_end& how);
    result<bool> skip(const run_start& what, const std::string& reason);

    std::optional<run_record> find_run(const std::string& id);
    std::optional<run_record> find_firing(const std::string& job, std::uint32_t partition,
                                          occurrence firing);
    run_page list_runs(const run_filter& which, std::uint64_t before, std::size_t limit);
    std::vector<run_event> history(const std::string& id);
    std::optional<output_part> read_output(const std::string& id, std::uint64_t offset,
                                           std::size_t bytes_max);
    bool request_cancel(const std::string& id, const std::string& by);
    std::vector<run_record> stale_runs(std::size_t limit, std::size_t skip);
    bool judge(const run_mark& who, const run_end& how);
    std::size_t prune(const std::string& job, std::size_t keep, millis keep_for, std::size_t limit);

    board read_board();
    bool add_trigger(run_trigger what);
    bool remove_trigger(const std::string& id);
    bool pause(const std::string& job, const std::string& reason, const std::string& by);
    bool unpause(const std::string& job);

    std::vector<job_entry> publish(std::vector<job_entry> jobs);
    std::size_t retire(const std::vector<std::string>& names, const std::string& node);
    std::vector<job_entry> list_jobs(const std::string& after, std::size_t limit);
    std::optional<job_entry> find_job(const std::string& name);
    void node_beat(node_entry me);
    void node_leave(const std::string& id);
    std::vector<node_entry> list_nodes();

    audit_entry append_audit(const audit_draft& what);
    std::vector<audit_entry> list_audit(std::uint64_t before, std::size_t limit);

private:
    using job_partition = std::pair<std::string, std::uint32_t>;

    // The callers of these hold mutex_.
    std::optional<journals::run_row> row_of(const std::string& id) const;
    void write(const journals::begin_decision& decided);
    bool write(const journals::run_row& row, const journals::change& what);

    std::mutex mutex_;
    // Under mutex_
    run_shelf runs_;
    std::map<job_partition, journals::saved_checkpoint> saved_;
    std::map<std::string, job_pause> pauses_;
    std::map<std::uint64_t, run_trigger> triggers_;  // by the order in which they came
    std::map<std::string, std::uint64_t> trigger_ids_;
    std::uint64_t last_trigger_ = 0;
    std::map<std::string, job_entry> jobs_;
    std::map<std::string, node_entry> nodes_;
    std::vector<audit_entry> audit_;
};

}  // namespace pawl::memory
