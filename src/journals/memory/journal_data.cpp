#include "journals/memory/journal_data.hpp"

#include "journals/rules/audit_chain.hpp"
#include "journals/rules/texts.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace pawl::memory {
namespace {

std::int64_t now() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

}  // namespace

std::shared_ptr<journal_data> journal_data::of(const std::string& name) {
    static std::mutex registry_mutex;
    static std::map<std::string, std::shared_ptr<journal_data>> registry;
    const std::lock_guard lock{registry_mutex};
    auto& found = registry[name];
    if (!found) found = std::make_shared<journal_data>();
    return found;
}

std::optional<journals::run_row> journal_data::row_of(const std::string& id) const {
    const auto* known = runs_.find(id);
    if (known == nullptr) return std::nullopt;
    return known->row;
}

void journal_data::write(const journals::begin_decision& decided) {
    if (decided.write == journals::begin_write::insert) runs_.insert(decided.row, decided.event);
    if (decided.write == journals::begin_write::update) runs_.update(decided.row, decided.event);
}

bool journal_data::write(const journals::run_row& row, const journals::change& what) {
    if (what.written) runs_.update(row, what.event);
    return what.answer;
}

result<beginning> journal_data::begin(const run_start& start) {
    const std::lock_guard lock{mutex_};
    const auto* found = start.firing ? runs_.find_firing(start.job, start.partition, *start.firing)
                                     : runs_.find(start.id);
    std::optional<journals::run_row> known;
    if (found != nullptr) known = found->row;
    const auto trigger = trigger_ids_.find(start.id);
    const bool waits = trigger != trigger_ids_.end();
    const auto& saved = saved_[{start.job, start.partition}];
    auto decided = journals::begin(known, start, waits, saved.text, now());
    if (decided.has_error()) return decided.error();
    if (decided->write == journals::begin_write::insert && runs_.find(start.id) != nullptr)
        return journals::id_taken(start.id);
    if (start.answers_trigger && waits) {
        triggers_.erase(trigger->second);
        trigger_ids_.erase(trigger);
    }
    write(*decided);
    return std::move(decided->answer);
}

std::vector<beat> journal_data::heartbeat(std::span<const run_mark> runs) {
    const std::lock_guard lock{mutex_};
    const auto at = now();
    std::vector<beat> answers;
    answers.reserve(runs.size());
    for (const auto& each : runs) {
        auto row = row_of(each.id);
        answers.push_back(row ? journals::heartbeat(*row, each.token, at) : beat::stale);
        if (answers.back() != beat::stale) runs_.update(*row, std::nullopt);
    }
    return answers;
}

bool journal_data::checkpoint(const run_mark& who, std::string text) {
    const std::lock_guard lock{mutex_};
    auto row = row_of(who.id);
    if (!row) return false;
    auto& saved = saved_[{row->record.job, row->record.partition}];
    const auto what = journals::checkpoint(*row, who.token, std::move(text), saved, now());
    return write(*row, what);
}

bool journal_data::append_output(const run_mark& who, std::uint64_t offset, std::string bytes,
                                 std::uint64_t limit) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find(who.id);
    if (known == nullptr || !journals::is_writable(known->row, who.token)) return false;
    const auto plan =
        journals::plan_output(known->row.record.output_size, offset, bytes.size(), limit);
    runs_.append_output(who.id, plan, std::move(bytes));
    return true;
}

bool journal_data::note(const run_mark& who, const std::string& kind, const std::string& text) {
    const std::lock_guard lock{mutex_};
    const auto row = row_of(who.id);
    return row && write(*row, journals::note(*row, who.token, kind, text, now()));
}

result<bool> journal_data::next_attempt(const run_mark& who, const run_end& last) {
    const std::lock_guard lock{mutex_};
    auto row = row_of(who.id);
    if (!row) return false;
    const auto what = journals::next_attempt(*row, who.token, last, now());
    if (what.has_error()) return what.error();
    return write(*row, *what);
}

bool journal_data::finish(const run_mark& who, const run_end& how) {
    const std::lock_guard lock{mutex_};
    auto row = row_of(who.id);
    if (!row) return false;
    const auto what = journals::finish(*row, who.token, how, now());
    return write(*row, what);
}

result<bool> journal_data::skip(const run_start& what, const std::string& reason) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find_firing(what.job, what.partition, *what.firing);
    if (known != nullptr)
        return known->row.record.id == what.id && known->row.record.status == run_status::skipped;
    if (runs_.find(what.id) != nullptr) return journals::id_taken(what.id);
    write(journals::skip(what, reason, now()));
    return true;
}

std::optional<run_record> journal_data::find_run(const std::string& id) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find(id);
    if (known == nullptr) return std::nullopt;
    return known->row.record;
}

std::optional<run_record> journal_data::find_firing(const std::string& job, std::uint32_t partition,
                                                    occurrence firing) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find_firing(job, partition, firing);
    if (known == nullptr) return std::nullopt;
    return known->row.record;
}

run_page journal_data::list_runs(const run_filter& which, std::uint64_t before, std::size_t limit) {
    const std::lock_guard lock{mutex_};
    return runs_.list(which, before, limit);
}

std::vector<run_event> journal_data::history(const std::string& id) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find(id);
    return known == nullptr ? std::vector<run_event>{} : known->events;
}

std::optional<output_part> journal_data::read_output(const std::string& id, std::uint64_t offset,
                                                     std::size_t bytes_max) {
    const std::lock_guard lock{mutex_};
    const auto* known = runs_.find(id);
    if (known == nullptr) return std::nullopt;
    output_part part;
    part.size = known->row.record.output_size;
    part.over = is_over(known->row.record.status);
    part.offset = std::max(offset, part.size);
    for (const auto& chunk : known->output) {
        if (chunk.offset + chunk.bytes.size() <= offset) continue;
        if (part.bytes.empty()) part.offset = std::max(offset, chunk.offset);
        const auto next = part.offset + part.bytes.size();
        if (chunk.offset > next || part.bytes.size() >= bytes_max) break;
        part.bytes.append(chunk.bytes, static_cast<std::size_t>(next - chunk.offset),
                          bytes_max - part.bytes.size());
    }
    return part;
}

bool journal_data::request_cancel(const std::string& id, const std::string& by) {
    const std::lock_guard lock{mutex_};
    auto row = row_of(id);
    if (!row) return false;
    const auto what = journals::request_cancel(*row, by, now());
    return write(*row, what);
}

std::vector<run_record> journal_data::stale_runs(std::size_t limit, std::size_t skip) {
    const std::lock_guard lock{mutex_};
    const auto at = now();
    return runs_.with_status(run_status::started, limit, [at, &skip](const kept_run& run) {
        if (!journals::is_silent(run.row, at)) return false;
        if (skip == 0) return true;
        --skip;
        return false;
    });
}

bool journal_data::judge(const run_mark& who, const run_end& how) {
    const std::lock_guard lock{mutex_};
    auto row = row_of(who.id);
    if (!row) return false;
    const auto what = journals::judge(*row, who.token, how, now());
    return write(*row, what);
}

std::size_t journal_data::prune(const std::string& job, std::size_t keep, millis keep_for,
                                std::size_t limit) {
    const std::lock_guard lock{mutex_};
    return runs_.prune(job, keep, keep_for.count() == 0 ? 0 : now() - keep_for.count(), limit);
}

board journal_data::read_board() {
    const std::lock_guard lock{mutex_};
    board all;
    for (const auto& [job, pause] : pauses_)
        if (all.pauses.size() < board_entries_max) all.pauses.push_back(pause);
    for (const auto& [place, trigger] : triggers_)
        if (all.triggers.size() < board_entries_max) all.triggers.push_back(trigger);
    const auto cancelled =
        runs_.with_status(run_status::started, board_entries_max,
                          [](const kept_run& run) { return run.row.record.cancel_requested; });
    for (const auto& run : cancelled) all.cancels.push_back(run.id);
    all.orphans =
        runs_.with_status(run_status::abandoned, board_entries_max,
                          [](const kept_run& run) { return journals::is_orphan(run.row.record); });
    return all;
}

bool journal_data::add_trigger(run_trigger what) {
    const std::lock_guard lock{mutex_};
    if (runs_.find(what.id) != nullptr) return false;
    if (!trigger_ids_.emplace(what.id, last_trigger_ + 1).second) return false;
    what.at = now();
    triggers_.emplace(++last_trigger_, std::move(what));
    return true;
}

bool journal_data::remove_trigger(const std::string& id) {
    const std::lock_guard lock{mutex_};
    const auto known = trigger_ids_.find(id);
    if (known == trigger_ids_.end()) return false;
    triggers_.erase(known->second);
    trigger_ids_.erase(known);
    return true;
}

bool journal_data::pause(const std::string& job, const std::string& reason, const std::string& by) {
    const std::lock_guard lock{mutex_};
    return pauses_.emplace(job, job_pause{job, reason, by, now()}).second;
}

bool journal_data::unpause(const std::string& job) {
    const std::lock_guard lock{mutex_};
    return pauses_.erase(job) > 0;
}

std::vector<job_entry> journal_data::publish(std::vector<job_entry> jobs) {
    const std::lock_guard lock{mutex_};
    const auto at = now();
    for (auto& each : jobs) {
        auto& known = jobs_[each.name];
        const bool same = known.since != 0 && known.schedule == each.schedule &&
                          known.zone == each.zone && known.partitions == each.partitions;
        each.since = same ? known.since : at;
        each.published_at = at;
        known = each;
    }
    return jobs;
}

std::size_t journal_data::retire(const std::vector<std::string>& names, const std::string& node) {
    const std::lock_guard lock{mutex_};
    std::size_t gone = 0;
    for (const auto& name : names) {
        const auto known = jobs_.find(name);
        if (known == jobs_.end() || known->second.node != node) continue;
        jobs_.erase(known);
        ++gone;
    }
    return gone;
}

std::vector<job_entry> journal_data::list_jobs(const std::string& after, std::size_t limit) {
    const std::lock_guard lock{mutex_};
    std::vector<job_entry> found;
    for (auto at = jobs_.upper_bound(after); at != jobs_.end() && found.size() < limit; ++at)
        found.push_back(at->second);
    return found;
}

std::optional<job_entry> journal_data::find_job(const std::string& name) {
    const std::lock_guard lock{mutex_};
    const auto known = jobs_.find(name);
    if (known == jobs_.end()) return std::nullopt;
    return known->second;
}

void journal_data::node_beat(node_entry me) {
    const std::lock_guard lock{mutex_};
    const auto at = now();
    std::erase_if(nodes_, [at](const auto& each) {
        return at - each.second.last_seen > journals::node_memory.count();
    });
    auto& known = nodes_[me.id];
    me.started_at = known.started_at == 0 ? at : known.started_at;
    me.last_seen = at;
    known = std::move(me);
}

void journal_data::node_leave(const std::string& id) {
    const std::lock_guard lock{mutex_};
    nodes_.erase(id);
}

std::vector<node_entry> journal_data::list_nodes() {
    const std::lock_guard lock{mutex_};
    const auto at = now();
    std::vector<node_entry> found;
    for (const auto& [id, node] : nodes_) {
        if (at - node.last_seen > journals::node_memory.count()) continue;
        found.push_back(node);
        found.back().age = millis{std::max<std::int64_t>(at - node.last_seen, 0)};
    }
    std::sort(found.begin(), found.end(), [](const node_entry& a, const node_entry& b) {
        return std::tie(a.name, a.id) < std::tie(b.name, b.id);
    });
    if (found.size() > page_limit_max) found.resize(page_limit_max);
    return found;
}

audit_entry journal_data::append_audit(const audit_draft& what) {
    const std::lock_guard lock{mutex_};
    const auto& before = audit_.empty() ? journals::chain_start() : audit_.back().hash;
    audit_.push_back(journals::next_entry(audit_.size(), before, what, now()));
    return audit_.back();
}

std::vector<audit_entry> journal_data::list_audit(std::uint64_t before, std::size_t limit) {
    const std::lock_guard lock{mutex_};
    std::vector<audit_entry> found;
    auto at = before == 0 ? audit_.size() : std::min<std::size_t>(audit_.size(), before - 1);
    while (at > 0 && found.size() < limit) found.push_back(audit_[--at]);
    return found;
}

}  // namespace pawl::memory
