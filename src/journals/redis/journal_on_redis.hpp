// The verbs of the journal, each a call of its script: how they ask, and what they have in common.
#pragma once

#include "journals/redis/journal_scripts.hpp"
#include "net/loop.hpp"
#include "stores/redis/servers.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redis {

// Bounds of one call of a script, during which Redis serves nobody else. What is longer takes
// several, each one atomic step.
constexpr std::size_t beats_a_call = 250;
constexpr std::size_t rows_a_call = 100;
constexpr std::size_t rows_looked_a_call = 500;
constexpr std::size_t pruned_a_call = 100;
constexpr std::size_t published_a_call = 50;
constexpr std::size_t reply_bytes_a_call = std::size_t{1} << 20;
constexpr std::size_t board_bytes_max = std::size_t{4} << 20;
// Small chunks of output that follow each other are kept as one of at most so many bytes.
constexpr std::size_t merged_chunk_max = std::size_t{16} * 1024;
// Chunks that one more lets go of: one or two, but after a gap, or under a smaller limit.
constexpr std::size_t dropped_chunks_max = 500;

class redis_journal : public journal, public std::enable_shared_from_this<redis_journal> {
public:
    redis_journal(net::loop& where, redis_settings settings);
    ~redis_journal() override { servers_->close_from_anywhere(); }

    // redis_runs.cpp: runs, by their runner
    async<beginning> begin(run_start start) override;
    async<std::vector<beat>> heartbeat(std::span<const run_mark> runs) override;
    async<bool> checkpoint(run_mark who, std::string text) override;
    async<bool> append_output(run_mark who, std::uint64_t offset, std::string bytes,
                              std::uint64_t limit) override;
    async<bool> note(run_mark who, std::string kind, std::string text) override;
    async<bool> next_attempt(run_mark who, run_end last) override;
    async<bool> finish(run_mark who, run_end how) override;
    async<bool> skip(run_start what, std::string reason) override;

    // redis_lookup.cpp: runs, by others
    async<std::optional<run_record>> find_run(std::string id) override;
    async<std::optional<run_record>> find_firing(std::string job, std::uint32_t partition,
                                                 occurrence firing) override;
    async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) override;
    async<std::vector<run_event>> history(std::string id) override;
    async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                  std::size_t bytes_max) override;
    async<bool> request_cancel(std::string id, std::string by) override;
    async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) override;
    async<bool> judge(run_mark who, run_end how) override;
    async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                             std::size_t limit) override;

    // redis_board.cpp: the board, jobs and nodes, the audit
    async<board> read_board() override;
    async<bool> add_trigger(run_trigger what) override;
    async<bool> remove_trigger(std::string id) override;
    async<bool> pause(std::string job, std::string reason, std::string by) override;
    async<bool> unpause(std::string job) override;
    async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) override;
    async<std::size_t> retire(std::vector<std::string> names, std::string node) override;
    async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) override;
    async<std::optional<job_entry>> find_job(std::string name) override;
    async<void> node_beat(node_entry me) override;
    async<void> node_leave(std::string id) override;
    async<std::vector<node_entry>> list_nodes() override;
    async<audit_entry> append_audit(audit_draft what) override;
    async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) override;

private:
    // Calls that read, and calls whose effect so many replicas are to have before it counts.
    script_call reading(const journal_script& which) const;
    script_call writing(const journal_script& which) const;
    // What the script said, never an error.
    async<reply> ask(const script_call& call);
    async<std::int64_t> ask_number(const script_call& call);
    async<bool> ask_flag(const script_call& call);
    async<std::optional<run_record>> ask_run(const script_call& call);
    async<bool> end(const run_mark& who, const run_end& how, std::string_view by);

    failure unreadable(std::string_view what) const;
    // The verb has used up its time; it only reads.
    failure too_slow() const;

    // Constant after construction
    const journal_scripts& scripts_ = journal_scripts::all();
    const std::shared_ptr<const redis_settings> settings_;
    const std::shared_ptr<servers> servers_;
    const std::size_t shard_;  // of a cluster, where all of the journal is
    const std::string runs_;   // the index of all runs; its name names all others
    const std::string whole_;  // never there: see ground.lua
};

}  // namespace pawl::redis
