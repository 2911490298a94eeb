// The verbs of a journal on MySQL; begin_verbs.cpp, run_verbs.cpp and control_verbs.cpp hold their
// bodies.
#pragma once

#include "engines/mysql/client/pool.hpp"
#include "engines/mysql/journal/journal_statements.hpp"
#include "engines/rules/journal/run_rules.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::mysql {

// Used on its loop only, but for its destructor.
class mysql_journal : public journal {
public:
    mysql_journal(net::loop& where, mysql_settings settings);
    ~mysql_journal() override { pool_->close_from_anywhere(); }

#include "engines/rules/journal/verbs.inc"

private:
    // A run that begins is written at once; one that finds a row decides about it, and takes it
    // over if it is still as it was seen. Nothing: another has come between.
    async<std::optional<begin_result>> begin_once(const run_start& start, bool& trigger_waited);
    async<std::optional<begin_result>> rejoin(const run_start& start, bool trigger_waits);
    async<std::optional<begin_result>> take(const run_start& start, const std::string& run_number,
                                            const journals::run_row& seen,
                                            const journals::begin_decision& decided);
    async<std::optional<begin_result>> call_off(const std::string& run_number,
                                                const journals::run_row& seen,
                                                const journals::begin_decision& decided);
    async<std::optional<bool>> skip_once(const run_start& what, const std::string& reason);
    std::string start_text(const statement& file, const run_start& start,
                           const std::string& reason) const;
    std::string saved_text(const run_start& start) const;
    std::string occurrence_text(const std::string& job, std::uint32_t partition,
                                pawl::occurrence occurrence) const;

    async<bool> end_run(run_ref who, run_end how, std::string only_if, std::string ended_so);
    async<std::optional<run_record>> ask_for_run(std::string which);
    async<std::vector<job_entry>> ask_for_jobs(std::string which, std::size_t limit);
    async<void> publish_batch(std::vector<job_entry*> jobs);
    async<std::optional<audit_entry>> try_audit(const audit_draft& what);
    async<bool> beat_for(std::span<const run_ref> runs, std::span<const std::size_t> which,
                         std::vector<heartbeat_result>& answers);
    async<void> look_at(std::span<const run_ref> runs, std::span<const std::size_t> which,
                        std::vector<heartbeat_result>& answers);
    // The text's answers, of which there must be so many, or none where a row is locked.
    async<response> ask(std::string text, std::size_t answers, std::string_view what,
                        when_locked locked = when_locked::ask_again);

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
