#include "engines/memory/journal/run_map.hpp"

#include "base/ensure.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <iterator>

namespace pawl::memory {
namespace {

bool fits(const run_filter& which, const run_record& run) {
    return (!which.job || *which.job == run.job) &&
           (!which.status || *which.status == run.status) &&
           (!which.node || *which.node == run.node);
}

}  // namespace

const kept_run* run_map::find(const std::string& id) const {
    const auto known = ids_.find(id);
    return known == ids_.end() ? nullptr : &runs_.at(known->second);
}

const kept_run* run_map::find_occurrence(const std::string& job, std::uint32_t partition,
                                         pawl::occurrence occurrence) const {
    const auto known = occurrences_.find({job, partition, number(occurrence)});
    return known == occurrences_.end() ? nullptr : &runs_.at(known->second);
}

void run_map::index(place at, const run_record& run) {
    jobs_[run.job].insert(at);
    nodes_[run.node].insert(at);
    statuses_[run.status].insert(at);
}

void run_map::forget(place at, const run_record& run) {
    const auto take = [at](auto& from, const auto& key) {
        const auto found = from.find(key);
        found->second.erase(at);
        if (found->second.empty()) from.erase(found);
    };
    take(jobs_, run.job);
    take(nodes_, run.node);
    take(statuses_, run.status);
}

void run_map::add_event(kept_run& run, const std::optional<run_event>& event) {
    if (!event) return;
    auto& events = run.events;
    if (!events.empty() && journals::repeats(events.back(), *event)) return;
    events.push_back(*event);
    if (events.size() > run_events_max) events.erase(events.begin() + 1);
}

void run_map::insert(journals::run_row row, const std::optional<run_event>& event) {
    const auto at = ++last_;
    base::ensure(ids_.emplace(row.record.id, at).second);
    if (const auto& run = row.record; run.occurrence)
        base::ensure(
            occurrences_
                .emplace(occurrence_name{run.job, run.partition, number(*run.occurrence)}, at)
                .second);
    index(at, row.record);
    auto& kept = runs_[at];
    kept.row = std::move(row);
    add_event(kept, event);
}

void run_map::update(const journals::run_row& row, const std::optional<run_event>& event) {
    const auto at = ids_.at(row.record.id);
    auto& kept = runs_.at(at);
    forget(at, kept.row.record);
    index(at, row.record);
    kept.row = row;
    add_event(kept, event);
}

void run_map::append_output(const std::string& id, const journals::output_plan& plan,
                            std::string bytes) {
    auto& kept = runs_.at(ids_.at(id));
    kept.row.record.output_size = plan.size;
    bytes.erase(0, plan.skip);
    if (!bytes.empty()) kept.output.push_back({plan.offset, std::move(bytes)});
    std::erase_if(kept.output, [&](const kept_chunk& chunk) {
        return chunk.offset + chunk.bytes.size() <= plan.floor;
    });
}

const run_map::places* run_map::narrowest(const run_filter& which) const {
    static const places none;
    const places* chosen = nullptr;
    const auto consider = [&](const auto& from, const auto& key) {
        const auto found = from.find(key);
        const auto* these = found == from.end() ? &none : &found->second;
        if (chosen == nullptr || these->size() < chosen->size()) chosen = these;
    };
    if (which.job) consider(jobs_, *which.job);
    if (which.node) consider(nodes_, *which.node);
    if (which.status) consider(statuses_, *which.status);
    return chosen;
}

run_page run_map::list(const run_filter& which, place before, std::size_t limit) const {
    run_page page;
    place last = 0;
    // False when the page is full, and there is one more.
    const auto take = [&](place at, const run_record& run) {
        if (!fits(which, run)) return true;
        if (page.records.size() == limit) {
            page.next = journals::cursor_at(last);
            return false;
        }
        page.records.push_back(run);
        last = at;
        return true;
    };
    if (const auto* chosen = narrowest(which)) {
        for (auto at = chosen->lower_bound(before); at != chosen->begin();)
            if (--at; !take(*at, runs_.at(*at).row.record)) break;
    } else {
        for (auto at = runs_.lower_bound(before); at != runs_.begin();)
            if (--at; !take(at->first, at->second.row.record)) break;
    }
    return page;
}

std::vector<const run_record*> run_map::with_status(
    run_status status, std::size_t limit,
    const std::function<bool(const kept_run&)>& wanted) const {
    std::vector<const run_record*> found;
    const auto these = statuses_.find(status);
    if (these == statuses_.end()) return found;
    for (const auto at : these->second) {
        if (found.size() == limit) break;
        const auto& run = runs_.at(at);
        if (wanted(run)) found.push_back(&run.row.record);
    }
    return found;
}

void run_map::remove(place at) {
    const auto found = runs_.find(at);
    const auto& run = found->second.row.record;
    forget(at, run);
    ids_.erase(run.id);
    if (run.occurrence) occurrences_.erase({run.job, run.partition, number(*run.occurrence)});
    runs_.erase(found);
}

std::size_t run_map::prune(const std::string& job, std::size_t keep, std::int64_t ended_before,
                           std::size_t limit) {
    const auto known = jobs_.find(job);
    if (known == jobs_.end()) return 0;
    std::vector<place> over;
    for (const auto at : known->second)
        if (is_finished(runs_.at(at).row.record.status)) over.push_back(at);
    std::size_t gone = 0;
    for (std::size_t i = 0; i < over.size() && gone < limit; ++i) {
        const auto& run = runs_.at(over[i]).row.record;
        if (over.size() - i <= keep && run.completed_at.value_or(0) >= ended_before) continue;
        remove(over[i]);
        ++gone;
    }
    return gone;
}

}  // namespace pawl::memory
