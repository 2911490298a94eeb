#include "engines/postgresql/journal/journal_rows.hpp"
#include "engines/postgresql/journal/postgresql_journal.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace pawl::postgresql {
namespace {

namespace rules = journals;

constexpr auto above_all = std::numeric_limits<std::int64_t>::max();

}  // namespace

// ---- The control state

async<control_state> postgresql_journal::read_control_state() {
    auto asked = call(text_->control_state);
    asked.add_count(static_cast<std::int32_t>(control_entries_max));
    return ask_for(std::move(asked), control_state_in, "journal_board_v1");
}

async<bool> postgresql_journal::add_trigger(run_trigger what) {
    auto asked = call(text_->add_trigger);
    asked.add_bytes(what.id).add_bytes(what.job).add(std::int64_t{what.partition});
    asked.add_bytes(rules::pack(what.arguments));
    asked.add_flag(what.starts_from == checkpoint_source::last_saved).add_bytes(what.by);
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::remove_trigger(std::string id) {
    auto asked = call(text_->remove_trigger);
    asked.add_bytes(id);
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::pause_job(std::string job, std::string reason, std::string by) {
    auto asked = call(text_->pause);
    asked.add_bytes(job).add_bytes(reason).add_bytes(by);
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::resume_job(std::string job) {
    auto asked = call(text_->resume_job);
    asked.add_bytes(job);
    return ask_for_flag(std::move(asked));
}

// ---- Jobs and nodes

async<std::vector<job_entry>> postgresql_journal::publish(std::vector<job_entry> jobs) {
    // A name that is given twice counts as its last.
    std::map<std::string, job_entry*, std::less<>> last;
    for (auto& each : jobs) last[each.name] = &each;
    std::vector<std::string_view> names, schedules, zones, definitions, nodes;
    std::vector<std::int64_t> partitions;
    for (const auto& [name, each] : last) {
        names.push_back(name);
        schedules.push_back(each->schedule);
        zones.push_back(each->zone);
        partitions.push_back(each->partitions);
        definitions.push_back(each->definition);
        nodes.push_back(each->node);
    }
    auto asked = call(text_->publish);
    asked.add(names).add(schedules).add(zones).add(partitions).add(definitions).add(nodes);
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->columns() != 3) co_return unexpected("journal_publish_v1");
    for (int row = 0; row < got->count(); ++row)
        if (const auto known = last.find(got->bytes(row, 0)); known != last.end()) {
            known->second->since = got->integer(row, 1);
            known->second->published_at = got->integer(row, 2);
        }
    for (auto& each : jobs) each = *last.at(each.name);
    co_return jobs;
}

async<std::size_t> postgresql_journal::retire(std::vector<std::string> names, std::string node) {
    const std::vector<std::string_view> all{names.begin(), names.end()};
    auto asked = call(text_->retire);
    asked.add(all).add_bytes(node);
    return ask_for_count(std::move(asked));
}

async<std::vector<job_entry>> postgresql_journal::list_jobs(std::string after, std::size_t limit) {
    auto asked = call(text_->jobs);
    asked.add_bytes(after).add_flag(false);
    asked.add_count(static_cast<std::int32_t>(limit));
    return ask_for(std::move(asked), jobs_in, "journal_jobs_v1");
}

async<std::optional<job_entry>> postgresql_journal::find_job(std::string name) {
    auto asked = call(text_->jobs);
    asked.add_bytes(name).add_flag(true).add_count(1);
    auto asking = ask_for(std::move(asked), jobs_in, "journal_jobs_v1");
    auto found = co_await std::move(asking);
    if (found.has_error()) co_return found.error();
    if (found->empty()) co_return std::optional<job_entry>{};
    co_return std::optional<job_entry>{std::move(found->front())};
}

async<void> postgresql_journal::node_heartbeat(node_entry me) {
    auto asked = call(text_->node);
    asked.add_bytes(me.id).add_bytes(me.name).add_bytes(me.version);
    asked.add_bytes(me.address).add(std::int64_t{me.running});
    asked.add(std::int64_t{me.running_max}).add(std::int64_t{me.jobs});
    asked.add_flag(me.draining);
    return ask_for_effect(std::move(asked));
}

async<void> postgresql_journal::node_leave(std::string id) {
    auto asked = call(text_->node_leaves);
    asked.add_bytes(id);
    return ask_for_effect(std::move(asked));
}

async<std::vector<node_entry>> postgresql_journal::list_nodes() {
    auto asked = call(text_->nodes);
    asked.add(std::int64_t{rules::node_memory.count()});
    asked.add_count(static_cast<std::int32_t>(page_limit_max));
    return ask_for(std::move(asked), nodes_in, "journal_nodes_v1");
}

// ---- The audit

// Until no other writer has come between the look at the newest entry and the one that follows it.
async<audit_entry> postgresql_journal::append_audit(audit_draft what) {
    const auto give_up = lease_clock::now() + settings_->common.timeout;
    do {
        auto trying = try_audit(what);
        auto entry = co_await std::move(trying);
        if (entry.has_error()) co_return entry.error();
        if (*entry) co_return std::move(**entry);
    } while (lease_clock::now() < give_up);
    co_return failure{errc::unreachable, place_ + ": others write to the audit all the time"};
}

async<std::optional<audit_entry>> postgresql_journal::try_audit(const audit_draft& what) {
    auto looking = pool_->ask(call(text_->audit_head));
    const auto head = co_await std::move(looking);
    if (head.has_error()) co_return head.error();
    if (head->count() != 1 || head->columns() != 3) co_return unexpected("journal_audit_head_v1");
    const std::string newest{head->bytes(0, 2)};
    auto entry = rules::next_entry(static_cast<std::uint64_t>(head->integer(0, 1)), newest, what,
                                   head->integer(0, 0));
    auto asked = call(text_->audit);
    asked.add(static_cast<std::int64_t>(entry.sequence)).add(entry.at).add_bytes(entry.actor);
    asked.add_bytes(entry.action).add_bytes(entry.target).add_bytes(entry.detail);
    asked.add_text(entry.previous).add_text(entry.hash);
    auto asking = ask_for_flag(std::move(asked));
    const auto added = co_await std::move(asking);
    if (added.has_error()) co_return added.error();
    if (!*added) co_return std::optional<audit_entry>{};
    co_return std::optional<audit_entry>{std::move(entry)};
}

async<std::vector<audit_entry>> postgresql_journal::list_audit(std::uint64_t before,
                                                               std::size_t limit) {
    auto asked = call(text_->list_audit);
    asked.add(before == 0 ? above_all
                          : static_cast<std::int64_t>(std::min<std::uint64_t>(before, above_all)));
    asked.add_count(static_cast<std::int32_t>(limit));
    return ask_for(std::move(asked), audit_in, "journal_list_audit_v1");
}

}  // namespace pawl::postgresql
