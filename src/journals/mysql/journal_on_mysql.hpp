// The verbs of a journal on MySQL; begin_verbs.cpp, run_verbs.cpp and board_verbs.cpp hold their
// bodies.
#pragma once

#include "journals/mysql/journal_statements.hpp"
#include "journals/rules/run_rules.hpp"
#include "stores/mysql/pool.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::mysql {

// Used on its loop only, but for its destructor.
class journal_on_mysql : public journal, public std::enable_shared_from_this<journal_on_mysql> {
public:
    journal_on_mysql(net::loop& where, mysql_settings settings);
    ~journal_on_mysql() override { pool_->close_from_anywhere(); }

    async<beginning> begin(run_start start) override;
    async<std::vector<beat>> heartbeat(std::span<const run_mark> runs) override;
    async<bool> checkpoint(run_mark who, std::string text) override;
    async<bool> append_output(run_mark who, std::uint64_t offset, std::string bytes,
                              std::uint64_t limit) override;
    async<bool> note(run_mark who, std::string kind, std::string text) override;
    async<bool> next_attempt(run_mark who, run_end last) override;
    async<bool> finish(run_mark who, run_end how) override;
    async<bool> skip(run_start what, std::string reason) override;

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
    // A run that begins is written at once; one that finds a row decides about it, and takes it
    // over if it is still as it was seen. Nothing: another has come between.
    async<std::optional<beginning>> begin_once(const run_start& start, bool& trigger_waited);
    async<std::optional<beginning>> rejoin(const run_start& start, bool trigger_waits);
    async<std::optional<beginning>> take(const run_start& start, const std::string& run_number,
                                         const journals::run_row& seen,
                                         const journals::begin_decision& decided);
    async<std::optional<bool>> skip_once(const run_start& what, const std::string& reason);
    std::string start_text(const statement& file, const run_start& start,
                           const std::string& reason) const;
    std::string saved_text(const run_start& start) const;
    std::string firing_text(const std::string& job, std::uint32_t partition,
                            occurrence firing) const;

    async<bool> end_run(const run_mark& who, const run_end& how, const std::string& only_if,
                        const std::string& ended_so);
    async<std::optional<run_record>> ask_for_run(std::string which);
    async<std::vector<job_entry>> ask_for_jobs(std::string which, std::size_t limit);
    async<void> publish_batch(std::vector<job_entry*> jobs);
    async<std::optional<audit_entry>> try_audit(const audit_draft& what);
    // The text's answers, of which there must be so many.
    async<response> ask(std::string text, std::size_t answers, std::string_view what);

    failure unexpected(std::string_view what) const {
        return {errc::protocol, place_ + ": an unexpected answer to " + std::string{what}};
    }
    // A failure that the rules found, at its place.
    failure placed(failure why) const {
        why.detail = place_ + ": " + why.detail;
        return why;
    }

    // Constant after construction
    const std::shared_ptr<const mysql_settings> settings_;
    const std::string place_, space_;
    const std::shared_ptr<pool> pool_;
};

}  // namespace pawl::mysql
