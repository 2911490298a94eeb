#include "engines/memory/journal/memory_journal.hpp"

#include "engines/memory/journal/journal_data.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/job_rules.hpp"
#include "engines/rules/journal/node_list.hpp"
#include "engines/rules/journal/texts.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::memory {
namespace {

// The verbs run on the loop; the data's mutex is for the journals on other loops. Each holds it
// from its beginning to its end, and waits for nothing else.
class memory_journal final : public journal {
public:
    explicit memory_journal(std::shared_ptr<journal_data> data) : data_{std::move(data)} {}

#include "engines/rules/journal/verbs.inc"

private:
    // Step: journals::change(journals::run_row&, std::int64_t now), on the run's row if there is
    // one.
    template <class Step>
    result<bool> change(const std::string& id, Step step) {
        const std::lock_guard lock{data_->mutex};
        auto row = data_->row_of(id);
        if (!row) return false;
        const result<journals::change> did = step(*row, data_->now());
        if (did.has_error()) return did.error();
        if (did->written) data_->runs.update(*row, did->event);
        return did->answer;
    }

    // Constant after construction
    const std::shared_ptr<journal_data> data_;
};

async<begin_result> memory_journal::begin(run_start start) {
    const std::lock_guard lock{data_->mutex};
    const auto* found = start.occurrence ? data_->runs.find_occurrence(start.job, start.partition,
                                                                       *start.occurrence)
                                         : data_->runs.find(start.id);
    std::optional<journals::run_row> known;
    if (found != nullptr) known = found->row;
    const auto trigger = data_->trigger_ids.find(start.id);
    const bool waits = trigger != data_->trigger_ids.end();
    const auto& saved = data_->saved[{start.job, start.partition}];
    auto decided = journals::begin(known, start, waits, saved.text, data_->now());
    if (decided.has_error()) co_return decided.error();
    if (decided->write == journals::begin_write::insert && data_->runs.find(start.id) != nullptr)
        co_return journals::id_taken(start.id);
    if (start.consumes_trigger && waits) {
        data_->triggers.erase(trigger->second);
        data_->trigger_ids.erase(trigger);
    }
    data_->write(*decided);
    co_return std::move(decided->answer);
}

async<std::vector<heartbeat_result>> memory_journal::heartbeat(std::span<const run_ref> runs) {
    const std::lock_guard lock{data_->mutex};
    const auto at = data_->now();
    std::vector<heartbeat_result> answers;
    answers.reserve(runs.size());
    for (const auto& each : runs) {
        auto row = data_->row_of(each.id);
        answers.push_back(row ? journals::heartbeat(*row, each.token, at)
                              : heartbeat_result::stale);
        if (answers.back() != heartbeat_result::stale) data_->runs.update(*row, std::nullopt);
    }
    co_return answers;
}

async<bool> memory_journal::checkpoint(run_ref who, std::string text) {
    co_return change(who.id, [&](journals::run_row& row, std::int64_t at) {
        auto& saved = data_->saved[{row.record.job, row.record.partition}];
        return journals::checkpoint(row, who.token, std::move(text), saved, at);
    });
}

async<bool> memory_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                          std::uint64_t limit) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find(who.id);
    if (known == nullptr || !journals::is_writable(known->row, who.token)) co_return false;
    const auto plan =
        journals::plan_output(known->row.record.output_size, offset, bytes.size(), limit);
    data_->runs.append_output(who.id, plan, std::move(bytes));
    co_return true;
}

async<bool> memory_journal::add_event(run_ref who, std::string kind, std::string text) {
    co_return change(who.id, [&](journals::run_row& row, std::int64_t at) {
        return journals::add_event(row, who.token, kind, text, at);
    });
}

async<bool> memory_journal::next_attempt(run_ref who, run_end last) {
    co_return change(who.id, [&](journals::run_row& row, std::int64_t at) {
        return journals::next_attempt(row, who.token, last, at);
    });
}

async<bool> memory_journal::finish(run_ref who, run_end how) {
    co_return change(who.id, [&](journals::run_row& row, std::int64_t at) {
        return journals::finish(row, who.token, how, at);
    });
}

async<bool> memory_journal::skip(run_start what, std::string reason) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find_occurrence(what.job, what.partition, *what.occurrence);
    if (known != nullptr)
        co_return known->row.record.id == what.id &&
            known->row.record.status == run_status::skipped;
    if (data_->runs.find(what.id) != nullptr) co_return journals::id_taken(what.id);
    data_->write(journals::skip(what, reason, data_->now()));
    co_return true;
}

async<std::optional<run_record>> memory_journal::find_run(std::string id) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find(id);
    if (known == nullptr) co_return std::nullopt;
    co_return known->row.record;
}

async<std::optional<run_record>> memory_journal::find_occurrence(std::string job,
                                                                 std::uint32_t partition,
                                                                 pawl::occurrence occurrence) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find_occurrence(job, partition, occurrence);
    if (known == nullptr) co_return std::nullopt;
    co_return known->row.record;
}

async<run_page> memory_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    const auto before = journals::place_of(after).value();
    const std::lock_guard lock{data_->mutex};
    co_return data_->runs.list(which, before, limit);
}

async<std::vector<run_event>> memory_journal::history(std::string id) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find(id);
    co_return known == nullptr ? std::vector<run_event>{} : known->events;
}

async<std::optional<output_part>> memory_journal::read_output(std::string id, std::uint64_t offset,
                                                              std::size_t bytes_max) {
    const std::lock_guard lock{data_->mutex};
    const auto* known = data_->runs.find(id);
    if (known == nullptr) co_return std::nullopt;
    output_part part;
    part.size = known->row.record.output_size;
    part.over = is_finished(known->row.record.status);
    part.offset = std::max(offset, part.size);
    for (const auto& chunk : known->output) {
        if (chunk.offset + chunk.bytes.size() <= offset) continue;
        if (part.bytes.empty()) part.offset = std::max(offset, chunk.offset);
        const auto next = part.offset + part.bytes.size();
        if (chunk.offset > next || part.bytes.size() >= bytes_max) break;
        part.bytes.append(chunk.bytes, static_cast<std::size_t>(next - chunk.offset),
                          bytes_max - part.bytes.size());
    }
    co_return part;
}

async<bool> memory_journal::request_cancel(std::string id, std::string by) {
    co_return change(id, [&](journals::run_row& row, std::int64_t at) {
        return journals::request_cancel(row, by, at);
    });
}

async<std::vector<run_record>> memory_journal::stale_runs(std::size_t limit, std::size_t skip) {
    const std::lock_guard lock{data_->mutex};
    const auto at = data_->now();
    const auto stale =
        data_->runs.with_status(run_status::started, limit, [at, &skip](const kept_run& run) {
            if (!journals::is_stale(run.row, at)) return false;
            if (skip == 0) return true;
            --skip;
            return false;
        });
    std::vector<run_record> found;
    for (const auto* run : stale) found.push_back(*run);
    co_return found;
}

async<bool> memory_journal::end_stale(run_ref who, run_end how) {
    co_return change(who.id, [&](journals::run_row& row, std::int64_t at) {
        return journals::judge(row, who.token, how, at);
    });
}

async<std::size_t> memory_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                         std::size_t limit) {
    const std::lock_guard lock{data_->mutex};
    co_return data_->runs.prune(job, keep,
                                keep_for.count() == 0 ? 0 : data_->now() - keep_for.count(), limit);
}

async<control_state> memory_journal::read_control_state() {
    const std::lock_guard lock{data_->mutex};
    control_state all;
    for (const auto& [job, pause] : data_->pauses)
        if (all.pauses.size() < control_entries_max) all.pauses.push_back(pause);
    all.triggers = data_->first_triggers(control_entries_max);
    const auto cancelled = data_->runs.with_status(
        run_status::started, control_entries_max,
        [](const kept_run& run) { return run.row.record.cancel_requested; });
    for (const auto* run : cancelled) all.cancels.push_back(run->id);
    all.orphans = data_->first_orphans(control_entries_max);
    co_return all;
}

async<bool> memory_journal::add_trigger(run_trigger what) {
    const std::lock_guard lock{data_->mutex};
    if (data_->runs.find(what.id) != nullptr) co_return false;
    if (!data_->trigger_ids.emplace(what.id, data_->last_trigger + 1).second) co_return false;
    what.at = data_->now();
    data_->triggers.emplace(++data_->last_trigger, std::move(what));
    co_return true;
}

async<bool> memory_journal::remove_trigger(std::string id) {
    const std::lock_guard lock{data_->mutex};
    const auto known = data_->trigger_ids.find(id);
    if (known == data_->trigger_ids.end()) co_return false;
    data_->triggers.erase(known->second);
    data_->trigger_ids.erase(known);
    co_return true;
}

async<bool> memory_journal::pause_job(std::string job, std::string reason, std::string by) {
    const std::lock_guard lock{data_->mutex};
    co_return data_->pauses.emplace(job, job_pause{job, reason, by, data_->now()}).second;
}

async<bool> memory_journal::resume_job(std::string job) {
    const std::lock_guard lock{data_->mutex};
    if (data_->pauses.erase(job) == 0) co_return false;
    const auto known = data_->jobs.find(job);
    if (known != data_->jobs.end())
        known->second.since = std::max(known->second.since, data_->now());
    co_return true;
}

async<std::vector<job_entry>> memory_journal::publish(std::vector<job_entry> jobs) {
    const std::lock_guard lock{data_->mutex};
    const auto at = data_->now();
    for (auto& each : jobs) {
        auto& known = data_->jobs[each.name];
        const bool same = known.since != 0 && journals::has_gone_on(known, each);
        each.since = same ? known.since : at;
        each.published_at = at;
        known = each;
    }
    co_return jobs;
}

async<std::size_t> memory_journal::retire(std::vector<std::string> names, std::string node) {
    const std::lock_guard lock{data_->mutex};
    std::size_t gone = 0;
    for (const auto& name : names) {
        const auto known = data_->jobs.find(name);
        if (known == data_->jobs.end() || known->second.node != node) continue;
        data_->jobs.erase(known);
        ++gone;
    }
    co_return gone;
}

async<std::vector<job_entry>> memory_journal::list_jobs(std::string after, std::size_t limit) {
    const std::lock_guard lock{data_->mutex};
    std::vector<job_entry> found;
    for (auto at = data_->jobs.upper_bound(after); at != data_->jobs.end() && found.size() < limit;
         ++at)
        found.push_back(at->second);
    co_return found;
}

async<std::optional<job_entry>> memory_journal::find_job(std::string name) {
    const std::lock_guard lock{data_->mutex};
    const auto known = data_->jobs.find(name);
    if (known == data_->jobs.end()) co_return std::nullopt;
    co_return known->second;
}

async<void> memory_journal::node_heartbeat(node_entry me) {
    const std::lock_guard lock{data_->mutex};
    const auto at = data_->now();
    std::erase_if(data_->nodes, [at](const auto& each) {
        return at - each.second.last_seen > journals::node_memory.count();
    });
    auto& known = data_->nodes[me.id];
    me.started_at = known.started_at == 0 ? at : known.started_at;
    me.last_seen = at;
    known = std::move(me);
    co_return result<void>{};
}

async<void> memory_journal::node_leave(std::string id) {
    const std::lock_guard lock{data_->mutex};
    data_->nodes.erase(id);
    co_return result<void>{};
}

async<std::vector<node_entry>> memory_journal::list_nodes() {
    const std::lock_guard lock{data_->mutex};
    const auto at = data_->now();
    std::vector<node_entry> found;
    for (const auto& [id, node] : data_->nodes) {
        if (at - node.last_seen > journals::node_memory.count()) continue;
        found.push_back(node);
        found.back().age = millis{std::max<std::int64_t>(at - node.last_seen, 0)};
    }
    journals::shorten(found);
    co_return found;
}

async<audit_entry> memory_journal::append_audit(audit_draft what) {
    const std::lock_guard lock{data_->mutex};
    const auto& before = data_->audit.empty() ? journals::chain_start() : data_->audit.back().hash;
    data_->audit.push_back(journals::next_entry(data_->audit.size(), before, what, data_->now()));
    co_return data_->audit.back();
}

async<std::vector<audit_entry>> memory_journal::list_audit(std::uint64_t before,
                                                           std::size_t limit) {
    const std::lock_guard lock{data_->mutex};
    std::vector<audit_entry> found;
    auto at =
        before == 0 ? data_->audit.size() : std::min<std::size_t>(data_->audit.size(), before - 1);
    while (at > 0 && found.size() < limit) found.push_back(data_->audit[--at]);
    co_return found;
}

}  // namespace

std::shared_ptr<journal> make_memory_journal(net::loop&, const std::string& name, store_settings) {
    return make_memory_journal(journal_data::of(name));
}

std::shared_ptr<journal> make_memory_journal(std::shared_ptr<journal_data> data) {
    return std::make_shared<memory_journal>(std::move(data));
}

}  // namespace pawl::memory
