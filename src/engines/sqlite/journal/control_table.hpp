// Triggers, pauses, jobs, nodes and the audit of one namespace, through one connection.
#pragma once

#include "engines/sqlite/journal/statement_list.hpp"

#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::sqlite {

// Used by one thread at a time, within one transaction after another.
class control_table : public noted_statements {
public:
    control_table(connection& on, std::int64_t space);

    bool has_trigger(const std::string& id);
    // False where there is one, or a run, with this id.
    bool add_trigger(const run_trigger& what, std::int64_t now);
    bool remove_trigger(const std::string& id);
    std::vector<run_trigger> triggers(std::size_t limit);

    bool pause(const job_pause& what);
    bool resume_job(const std::string& job, std::int64_t now);
    std::vector<job_pause> pauses(std::size_t limit);

    // Fills in its times.
    void publish(job_entry& job, std::int64_t now);
    bool retire(const std::string& name, const std::string& node);
    std::vector<job_entry> jobs(const std::string& after, std::size_t limit);
    std::optional<job_entry> find_job(const std::string& name);

    void node_heartbeat(const node_entry& node, std::int64_t now);
    void node_leave(const std::string& id);
    std::vector<node_entry> nodes(std::int64_t now, std::size_t limit);

    audit_entry append_audit(const audit_draft& what, std::int64_t now);
    std::vector<audit_entry> audit(std::uint64_t before, std::size_t limit);

private:
    const std::int64_t space_;
    statement find_trigger_, add_trigger_, remove_trigger_, list_triggers_;
    statement add_pause_, remove_pause_, list_pauses_;
    statement put_job_, resume_job_, retire_job_, list_jobs_, find_job_;
    statement put_node_, forget_nodes_, remove_node_, list_nodes_;
    statement newest_audit_, add_audit_, list_audit_;
};

}  // namespace pawl::sqlite
