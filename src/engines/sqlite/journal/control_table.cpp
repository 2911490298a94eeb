#include "engines/sqlite/journal/control_table.hpp"

#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/sql_rows.hpp"
#include "engines/rules/journal/texts.hpp"

#include <limits>

namespace pawl::sqlite {
namespace {

std::int64_t count_of(std::size_t limit) { return static_cast<std::int64_t>(limit); }

}  // namespace

control_table::control_table(connection& on, std::int64_t space)
    : noted_statements{on},
      space_{space},
      find_trigger_{on, sql("trigger_find")},
      add_trigger_{on, sql("trigger_add")},
      remove_trigger_{on, sql("trigger_remove")},
      list_triggers_{on, sql("trigger_list")},
      add_pause_{on, sql("pause_add")},
      remove_pause_{on, sql("pause_remove")},
      list_pauses_{on, sql("pause_list")},
      put_job_{on, sql("job_put")},
      resume_job_{on, sql("job_resume")},
      retire_job_{on, sql("job_retire")},
      list_jobs_{on, sql("job_list")},
      find_job_{on, sql("job_find")},
      put_node_{on, sql("node_put")},
      forget_nodes_{on, sql("node_forget")},
      remove_node_{on, sql("node_remove")},
      list_nodes_{on, sql("node_list")},
      newest_audit_{on, sql("audit_newest")},
      add_audit_{on, sql("audit_add")},
      list_audit_{on, sql("audit_list")} {}

bool control_table::has_trigger(const std::string& id) {
    find_trigger_.start(space_, id);
    const bool found = row(find_trigger_);
    find_trigger_.reset();
    return found;
}

bool control_table::add_trigger(const run_trigger& what, std::int64_t now) {
    const auto arguments = journals::pack(what.arguments);
    const std::int64_t last_saved = what.starts_from == checkpoint_source::last_saved ? 1 : 0;
    return wrote(add_trigger_, space_, what.id, what.job, std::int64_t{what.partition}, arguments,
                 last_saved, what.by, now);
}

bool control_table::remove_trigger(const std::string& id) {
    return wrote(remove_trigger_, space_, id);
}

std::vector<run_trigger> control_table::triggers(std::size_t limit) {
    std::vector<run_trigger> found;
    list_triggers_.start(space_, count_of(limit));
    while (row(list_triggers_)) {
        auto& what = found.emplace_back();
        what.id = list_triggers_.text(0);
        what.job = list_triggers_.text(1);
        what.partition = static_cast<std::uint32_t>(list_triggers_.integer(2));
        what.arguments = journals::unpack(list_triggers_.text(3)).value_or(what.arguments);
        what.starts_from = list_triggers_.integer(4) != 0 ? checkpoint_source::last_saved
                                                          : checkpoint_source::none;
        what.by = list_triggers_.text(5);
        what.at = list_triggers_.integer(6);
    }
    list_triggers_.reset();
    return found;
}

bool control_table::pause(const job_pause& what) {
    return wrote(add_pause_, space_, what.job, what.reason, what.by, what.at);
}

bool control_table::resume_job(const std::string& job, std::int64_t now) {
    if (!wrote(remove_pause_, space_, job)) return false;
    run(resume_job_, space_, job, now);
    return true;
}

std::vector<job_pause> control_table::pauses(std::size_t limit) {
    std::vector<job_pause> found;
    list_pauses_.start(space_, count_of(limit));
    while (row(list_pauses_))
        found.push_back({list_pauses_.text(0), list_pauses_.text(1), list_pauses_.text(2),
                         list_pauses_.integer(3)});
    list_pauses_.reset();
    return found;
}

void control_table::publish(job_entry& job, std::int64_t now) {
    put_job_.start(space_, job.name, job.schedule, job.zone, std::int64_t{job.partitions},
                   job.definition, job.node, now);
    while (row(put_job_)) job.since = put_job_.integer(0);
    put_job_.reset();
    job.published_at = now;
}

bool control_table::retire(const std::string& name, const std::string& node) {
    return wrote(retire_job_, space_, name, node);
}

std::vector<job_entry> control_table::jobs(const std::string& after, std::size_t limit) {
    std::vector<job_entry> found;
    list_jobs_.start(space_, after, count_of(limit));
    while (row(list_jobs_)) found.push_back(journals::job_at(list_jobs_));
    list_jobs_.reset();
    return found;
}

std::optional<job_entry> control_table::find_job(const std::string& name) {
    std::optional<job_entry> found;
    find_job_.start(space_, name);
    if (row(find_job_)) found = journals::job_at(find_job_);
    find_job_.reset();
    return found;
}

void control_table::node_heartbeat(const node_entry& node, std::int64_t now) {
    run(put_node_, space_, node.id, node.name, node.version, node.address, now,
        std::int64_t{node.running}, std::int64_t{node.running_max}, std::int64_t{node.jobs},
        std::int64_t{node.draining ? 1 : 0});
    run(forget_nodes_, space_, now - journals::node_memory.count());
}

void control_table::node_leave(const std::string& id) { run(remove_node_, space_, id); }

std::vector<node_entry> control_table::nodes(std::int64_t now, std::size_t limit) {
    std::vector<node_entry> found;
    list_nodes_.start(space_, now - journals::node_memory.count(), count_of(limit), now);
    while (row(list_nodes_)) found.push_back(journals::node_at(list_nodes_));
    list_nodes_.reset();
    return found;
}

audit_entry control_table::append_audit(const audit_draft& what, std::int64_t now) {
    std::uint64_t sequence = 0;
    std::string hash;
    newest_audit_.start(space_);
    if (row(newest_audit_)) {
        sequence = static_cast<std::uint64_t>(newest_audit_.integer(0));
        hash = newest_audit_.text(1);
    }
    newest_audit_.reset();
    auto entry = journals::next_entry(sequence, hash, what, now);
    run(add_audit_, space_, static_cast<std::int64_t>(entry.sequence), entry.at, entry.actor,
        entry.action, entry.target, entry.detail, entry.previous, entry.hash);
    return entry;
}

std::vector<audit_entry> control_table::audit(std::uint64_t before, std::size_t limit) {
    constexpr auto above_all = std::numeric_limits<std::int64_t>::max();
    const bool from_newest = before == 0 || before > static_cast<std::uint64_t>(above_all);
    std::vector<audit_entry> found;
    list_audit_.start(space_, from_newest ? above_all : static_cast<std::int64_t>(before),
                      count_of(limit));
    while (row(list_audit_)) found.push_back(journals::audit_at(list_audit_));
    list_audit_.reset();
    return found;
}

}  // namespace pawl::sqlite
