#include "engines/mysql/journal/mysql_journal.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/sql_rows.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace pawl::mysql {
namespace {

namespace rules = journals;

constexpr std::uint64_t above_all = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t micros_per_milli = 1000;

// What a job takes in the text beside its own bytes, which stand there in hexadecimal, the name
// twice.
std::size_t bytes_in_text(const job_entry& job) {
    constexpr std::size_t literals = 256;
    return 2 * (2 * job.name.size() + job.schedule.size() + job.zone.size() +
                job.definition.size() + job.node.size()) +
           literals;
}

std::string micros_text(std::int64_t at) { return std::to_string(at * micros_per_milli); }

}  // namespace

// ---- The control state

async<control_state> mysql_journal::read_control_state() {
    auto text = journal_statements::all().control_state.with(
        {{"run", orphan_columns()},
         {"space", space_},
         {"limit", std::to_string(control_entries_max)}});
    auto got = co_await ask(std::move(text), 1, "a look at the control state");
    if (got.has_error()) co_return got.error();
    auto found = rules::control_state_in(got->answers[0]);
    if (!found) co_return unexpected("a look at the control state");
    co_return std::move(*found);
}

async<bool> mysql_journal::add_trigger(run_trigger what) {
    auto text = journal_statements::all().add_trigger.with(
        {{"space", space_},
         {"id", literal(what.id)},
         {"job", literal(what.job)},
         {"part", std::to_string(what.partition)},
         {"arguments", literal(rules::pack(what.arguments))},
         {"inherits", what.starts_from == checkpoint_source::last_saved ? "1" : "0"},
         {"by", literal(what.by)}});
    const auto got = co_await ask(std::move(text), 4, "a trigger");
    if (got.has_error()) co_return got.error();
    co_return got->answers[1].affected == 1 && got->answers[2].affected == 0;
}

async<bool> mysql_journal::remove_trigger(std::string id) {
    auto text =
        journal_statements::all().remove_trigger.with({{"space", space_}, {"id", literal(id)}});
    const auto got = co_await ask(std::move(text), 1, "a trigger");
    if (got.has_error()) co_return got.error();
    co_return got->answers[0].affected > 0;
}

async<bool> mysql_journal::pause_job(std::string job, std::string reason, std::string by) {
    auto text = journal_statements::all().pause.with(
        {{"space", space_}, {"job", literal(job)}, {"why", literal(reason)}, {"by", literal(by)}});
    const auto got = co_await ask(std::move(text), 1, "a pause");
    if (got.has_error()) co_return got.error();
    co_return got->answers[0].affected == 1;
}

async<bool> mysql_journal::resume_job(std::string job) {
    auto text =
        journal_statements::all().resume_job.with({{"space", space_}, {"job", literal(job)}});
    const auto got = co_await ask(std::move(text), 4, "a pause");
    if (got.has_error()) co_return got.error();
    co_return got->answers[1].affected > 0;
}

// ---- Jobs and nodes

async<std::vector<job_entry>> mysql_journal::publish(std::vector<job_entry> jobs) {
    // A name that is given twice counts as its last. Written in the order of the names, so that two
    // who publish the same never wait for each other in a circle.
    std::map<std::string, job_entry*, std::less<>> last;
    for (auto& each : jobs) last[each.name] = &each;
    std::vector<job_entry*> batch;
    std::size_t bytes = 0;
    for (const auto& [name, each] : last) {
        // As much as the server takes in one text: usually all.
        if (!batch.empty() && bytes + bytes_in_text(*each) > pool_->facts().packet_max / 2) {
            const auto published = co_await publish_batch(std::move(batch));
            if (published.has_error()) co_return published.error();
            batch.clear();
            bytes = 0;
        }
        bytes += bytes_in_text(*each);
        batch.push_back(each);
    }
    if (!batch.empty()) {
        const auto published = co_await publish_batch(std::move(batch));
        if (published.has_error()) co_return published.error();
    }
    for (auto& each : jobs) each = *last.at(each.name);
    co_return jobs;
}

async<void> mysql_journal::publish_batch(std::vector<job_entry*> jobs) {
    std::string values, names;
    std::map<std::string_view, job_entry*> by_name;
    for (auto* each : jobs) {
        const auto name = literal(each->name);
        values +=
            (values.empty() ? "" : ",") + journal_statements::all().published.with(
                                              {{"space", space_},
                                               {"name", name},
                                               {"schedule", literal(each->schedule)},
                                               {"zone", literal(each->zone)},
                                               {"partitions", std::to_string(each->partitions)},
                                               {"definition", literal(each->definition)},
                                               {"node", literal(each->node)}});
        names += (names.empty() ? "" : ",") + name;
        by_name[each->name] = each;
    }
    auto text = journal_statements::all().publish.with(
        {{"space", space_}, {"values", values}, {"names", names}});
    auto got = co_await ask(std::move(text), 4, "a publication");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[2];
    while (row.next())
        if (const auto known = by_name.find(row.text(0)); known != by_name.end()) {
            known->second->since = row.integer(1);
            known->second->published_at = row.integer(2);
        }
    co_return result<void>{};
}

async<std::size_t> mysql_journal::retire(std::vector<std::string> names, std::string node) {
    std::string all;
    for (const auto& each : names) all += (all.empty() ? "" : ",") + literal(each);
    auto text = journal_statements::all().retire.with(
        {{"space", space_}, {"names", all}, {"node", literal(node)}});
    const auto got = co_await ask(std::move(text), 1, "jobs that retire");
    if (got.has_error()) co_return got.error();
    co_return static_cast<std::size_t>(got->answers[0].affected);
}

async<std::vector<job_entry>> mysql_journal::ask_for_jobs(std::string which, std::size_t limit) {
    auto text = journal_statements::all().jobs.with(
        {{"space", space_}, {"which", which}, {"limit", std::to_string(limit)}});
    auto got = co_await ask(std::move(text), 1, "a list of jobs");
    if (got.has_error()) co_return got.error();
    co_return rules::all_of(got->answers[0], rules::job_at<answer>);
}

async<std::vector<job_entry>> mysql_journal::list_jobs(std::string after, std::size_t limit) {
    auto which = journal_statements::all().job_behind.with({{"name", literal(after)}});
    return ask_for_jobs(std::move(which), limit);
}

async<std::optional<job_entry>> mysql_journal::find_job(std::string name) {
    auto which = journal_statements::all().job_named.with({{"name", literal(name)}});
    auto found = co_await ask_for_jobs(std::move(which), 1);
    if (found.has_error()) co_return found.error();
    if (found->empty()) co_return std::optional<job_entry>{};
    co_return std::optional<job_entry>{std::move(found->front())};
}

async<void> mysql_journal::node_heartbeat(node_entry me) {
    const auto& all = journal_statements::all();
    auto text = all.node.with({{"space", space_},
                               {"id", literal(me.id)},
                               {"name", literal(me.name)},
                               {"version", literal(me.version)},
                               {"address", literal(me.address)},
                               {"running", std::to_string(me.running)},
                               {"running_max", std::to_string(me.running_max)},
                               {"jobs", std::to_string(me.jobs)},
                               {"draining", me.draining ? "1" : "0"}});
    const auto got = co_await ask(std::move(text), 1, "a node's beat");
    if (got.has_error()) co_return got.error();
    if (got->answers[0].affected != 1) co_return result<void>{};
    // Nodes come rarely; what fails here is done when the next one comes.
    auto forgetting = all.forget_nodes.with({{"space", space_}});
    static_cast<void>(co_await ask(std::move(forgetting), 1, "nodes that are gone"));
    co_return result<void>{};
}

async<void> mysql_journal::node_leave(std::string id) {
    auto text =
        journal_statements::all().node_leaves.with({{"space", space_}, {"id", literal(id)}});
    const auto got = co_await ask(std::move(text), 1, "a node that leaves");
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

async<std::vector<node_entry>> mysql_journal::list_nodes() {
    auto text = journal_statements::all().nodes.with(
        {{"space", space_},
         {"memory_us", micros_text(rules::node_memory.count())},
         {"limit", std::to_string(page_limit_max)}});
    auto got = co_await ask(std::move(text), 1, "a list of nodes");
    if (got.has_error()) co_return got.error();
    co_return rules::all_of(got->answers[0], rules::node_at<answer>);
}

// ---- The audit

// Until no other writer has come between the look at the newest entry and the one that follows it.
async<audit_entry> mysql_journal::append_audit(audit_draft what) {
    const auto give_up = lease_clock::now() + settings_->common.timeout;
    do {
        auto entry = co_await try_audit(what);
        if (entry.has_error()) co_return entry.error();
        if (*entry) co_return std::move(**entry);
    } while (lease_clock::now() < give_up);
    co_return failure{errc::unreachable, place_ + ": others write to the audit all the time"};
}

async<std::optional<audit_entry>> mysql_journal::try_audit(const audit_draft& what) {
    const auto& all = journal_statements::all();
    auto looking = all.audit_head.with({{"space", space_}});
    auto head = co_await ask(std::move(looking), 2, "a look at the audit");
    if (head.has_error()) co_return head.error();
    if (!head->answers[0].next()) co_return unexpected("a look at the audit");
    const auto now = head->answers[0].integer(0);
    auto& newest = head->answers[1];
    std::uint64_t sequence = 0;
    std::string hash;
    if (newest.next()) {
        sequence = static_cast<std::uint64_t>(newest.integer(0));
        hash = newest.text(1);
    }
    auto entry = rules::next_entry(sequence, hash, what, now);
    auto text = all.audit.with({{"space", space_},
                                {"sequence", std::to_string(entry.sequence)},
                                {"at_us", micros_text(entry.at)},
                                {"actor", literal(entry.actor)},
                                {"action", literal(entry.action)},
                                {"target", literal(entry.target)},
                                {"detail", literal(entry.detail)},
                                {"previous", "'" + entry.previous + "'"},
                                {"hash", "'" + entry.hash + "'"}});
    const auto added = co_await ask(std::move(text), 1, "the audit");
    if (added.has_error()) co_return added.error();
    if (added->answers[0].affected != 1) co_return std::optional<audit_entry>{};
    co_return std::optional<audit_entry>{std::move(entry)};
}

async<std::vector<audit_entry>> mysql_journal::list_audit(std::uint64_t before, std::size_t limit) {
    const auto first = before == 0 ? above_all : std::min(before, above_all);
    auto text = journal_statements::all().list_audit.with(
        {{"space", space_}, {"before", std::to_string(first)}, {"limit", std::to_string(limit)}});
    auto got = co_await ask(std::move(text), 1, "a list of the audit");
    if (got.has_error()) co_return got.error();
    co_return rules::all_of(got->answers[0], rules::audit_at<answer>);
}

}  // namespace pawl::mysql
