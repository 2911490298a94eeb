// Runs as others see them: one, pages of them, those that became stale.
#include "engines/cas/journal/cas_journal.hpp"

#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

constexpr int looks_max = 4;
constexpr std::size_t entries_a_look = 100;
// A page is given as it is when so many entries were looked at, or most of the time is used up.
constexpr std::size_t entries_a_page_max = 5000;
constexpr int share_of_the_time_kept = 4;

bool fits(const run_filter& which, const run_record& run) {
    return (!which.job || *which.job == run.job) &&
           (!which.status || *which.status == run.status) &&
           (!which.node || *which.node == run.node);
}

// The index with the fewest runs among which all of these are.
std::string index_for(const run_filter& which) {
    if (which.status && !is_finished(*which.status)) return std::string{keys::active};
    return which.job ? keys::runs_of(*which.job) : std::string{keys::all_runs};
}

}  // namespace

bool cas_journal::is_old(std::int64_t at) const {
    const auto now = records_->time();
    return now.has_value() && *now - at > hint_ages_in.count();
}

// Each in its place, without those that are not what the entry says.
async<std::vector<cas_journal::found_run>> cas_journal::truths_of(std::vector<index_entry> entries,
                                                                  instant until) {
    std::vector<std::string> wanted;
    wanted.reserve(entries.size());
    for (const auto& each : entries) wanted.push_back(each.key);
    auto reading = records_->read_many(std::move(wanted), until);
    auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    std::vector<found_run> runs;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto there = parse_at(entries[i].key, (*stands)[i]);
        found_run found;
        found.is_unreadable = there.has_error();
        found.key = std::move(entries[i].key);
        found.stands = std::move((*stands)[i]);
        if (there.has_value() && there->run && there->run->number == entries[i].number)
            found.state = std::move(there->run);
        runs.push_back(std::move(found));
    }
    co_return runs;
}

async<std::optional<run_record>> cas_journal::show(std::string id, instant until) {
    for (int looks = 0; looks < looks_max; ++looks) {
        auto finding = find(id, until);
        auto found = co_await std::move(finding);
        if (found.has_error()) co_return found.error();
        if (!found->state) co_return std::optional<run_record>{};
        auto looking = checkpoint_of(*found->state, until);
        auto text = co_await std::move(looking);
        if (text.has_error()) co_return text.error();
        if (!*text) continue;
        std::optional<run_record> run{std::move(found->state->row.record)};
        run->checkpoint = std::move(**text);
        co_return run;
    }
    co_return records_->too_slow();
}

async<std::vector<run_record>> cas_journal::complete(std::vector<run_state> runs, instant until) {
    std::vector<std::string> wanted;
    for (const auto& each : runs)
        if (!each.apart.empty()) wanted.push_back(keys::checkpoint(each.number, each.apart));
    auto reading = records_->read_many(std::move(wanted), until);
    const auto texts = co_await std::move(reading);
    if (texts.has_error()) co_return texts.error();
    std::vector<run_record> all;
    std::size_t next = 0;
    for (auto& each : runs) {
        auto run = std::move(each.row.record);
        if (!each.apart.empty()) {
            const auto& stands = (*texts)[next++];
            if (!stands.at.empty()) {
                // Who goes on from one that cannot be read is told.
                auto text = parse_checkpoint(stands.text);
                if (text.has_value()) run.checkpoint = std::move(*text);
            } else {
                // The run has saved another meanwhile.
                auto showing = show(run.id, until);
                auto anew = co_await std::move(showing);
                if (anew.has_error()) co_return anew.error();
                if (*anew) run.checkpoint = std::move((*anew)->checkpoint);
            }
        }
        all.push_back(std::move(run));
    }
    co_return all;
}

async<std::optional<run_record>> cas_journal::find_run(std::string id) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto showing = show(std::move(id), until);
    co_return co_await std::move(showing);
}

async<std::optional<run_record>> cas_journal::find_occurrence(std::string job,
                                                              std::uint32_t partition,
                                                              occurrence when) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto key = keys::due(job, partition, when);
    auto reading = records_->read(key, until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    auto there = parse_at(key, *stands);
    if (there.has_error()) co_return there.error();
    if (!there->run) co_return std::optional<run_record>{};
    std::vector<run_state> one{std::move(*there->run)};
    auto completing = complete(std::move(one), until);
    auto all = co_await std::move(completing);
    if (all.has_error()) co_return all.error();
    co_return std::optional{std::move(all->front())};
}

// Those entries of a page of an index that may fit.
std::vector<index_entry> cas_journal::entries_of(const listing& page,
                                                 const std::optional<std::string>& job) {
    std::vector<index_entry> entries;
    for (const auto& [key, stands] : page.records) {
        auto entry = parse_index_entry(stands.text);
        if (entry.has_value() && (!job || entry->job == *job)) entries.push_back(std::move(*entry));
    }
    return entries;
}

async<run_page> cas_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto enough = until - (until - records_->now()) / share_of_the_time_kept;
    const auto index = index_for(which);
    std::string behind;
    if (!after.empty()) {
        const auto place = journals::place_of(after);
        if (place.has_error()) co_return place.error();
        behind = keys::newest_first(index, *place);
    }
    run_page page;
    std::vector<run_state> runs;
    std::size_t looked = 0;
    for (bool more = true; more && page.next.empty();) {
        const auto size = std::min(entries_a_look, limit + 1);
        auto listing_them = records_->list(index, behind, size, until);
        const auto part = co_await std::move(listing_them);
        if (part.has_error()) co_return part.error();
        more = part->more && !part->records.empty();
        if (!part->records.empty()) behind = part->records.back().first;
        const auto entries = entries_of(*part, which.job);
        auto reading = truths_of(entries, until);
        auto truths = co_await std::move(reading);
        if (truths.has_error()) co_return truths.error();
        for (std::size_t i = 0; i < truths->size() && page.next.empty(); ++i) {
            auto& found = (*truths)[i];
            if (found.is_gone() && is_old(entries[i].at)) {
                auto sweeping = sweep(entries[i], until);
                co_await std::move(sweeping);
            }
            if (!found.state || !fits(which, found.state->row.record)) continue;
            if (runs.size() == limit)
                page.next = journals::cursor_at(runs.back().number);
            else
                runs.push_back(std::move(*found.state));
        }
        looked += part->records.size();
        const bool is_long = looked >= entries_a_page_max || records_->now() >= enough;
        if (more && page.next.empty() && is_long && !entries.empty())
            page.next = journals::cursor_at(entries.back().number);
    }
    auto completing = complete(std::move(runs), until);
    auto all = co_await std::move(completing);
    if (all.has_error()) co_return all.error();
    page.records = std::move(*all);
    co_return page;
}

async<std::vector<run_event>> cas_journal::history(std::string id) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto finding = find(std::move(id), until);
    auto found = co_await std::move(finding);
    if (found.has_error()) co_return found.error();
    if (!found->state) co_return std::vector<run_event>{};
    auto& state = *found->state;
    if (!state.begun) co_return std::move(state.events);
    auto listing_them = records_->list_all(keys::history(state.number), until);
    const auto pages = co_await std::move(listing_them);
    if (pages.has_error()) co_return pages.error();
    const auto first_here = state.event_count - state.events.size() + 1;
    std::vector<run_event> events{*state.begun};
    const auto add = [&](std::uint64_t at, const run_event& event) {
        if (at > 1 && at + run_events_max > state.event_count + 1) events.push_back(event);
    };
    for (const auto& [key, stands] : *pages) {
        const auto page = parse_events(stands.text);
        if (page.has_error()) co_return records_->unreadable(key, page.error());
        for (std::size_t i = 0; i < page->events.size(); ++i)
            if (page->first + i < first_here) add(page->first + i, page->events[i]);
    }
    for (std::size_t i = 0; i < state.events.size(); ++i) add(first_here + i, state.events[i]);
    co_return events;
}

async<std::vector<run_record>> cas_journal::stale_runs(std::size_t limit, std::size_t skip) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    std::vector<run_state> stale;
    std::string after;
    for (bool more = true; more && stale.size() < limit;) {
        auto listing_them = records_->list(std::string{keys::active}, after, entries_a_look, until);
        const auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        if (more) after = page->records.back().first;
        const auto time = records_->time();
        if (time.has_error()) co_return time.error();
        const auto surely = *time - records_->blur().count();
        std::vector<index_entry> entries;
        std::vector<place_and_version> where;
        for (const auto& [key, stands] : page->records) {
            auto entry = parse_index_entry(stands.text);
            if (entry.has_error() || entry->stale_after >= surely) continue;
            where.emplace_back(key, stands.at);
            entries.push_back(std::move(*entry));
        }
        auto reading = truths_of(entries, until);
        auto truths = co_await std::move(reading);
        if (truths.has_error()) co_return truths.error();
        std::vector<place_and_version> gone;
        for (std::size_t i = 0; i < truths->size(); ++i) {
            if ((*truths)[i].is_unreadable) continue;
            auto& state = (*truths)[i].state;
            const bool is_active = state && !is_finished(state->row.record.status);
            if (!is_active && is_old(entries[i].at)) gone.push_back(where[i]);
            if (!is_active || !journals::is_stale(state->row, surely)) continue;
            // Who judges it takes its hint away.
            seen hint;
            hint.at = where[i].second;
            records_->remember(where[i].first, std::move(hint));
            if (skip > 0)
                --skip;
            else if (stale.size() < limit)
                stale.push_back(std::move(*state));
        }
        auto tidying = records_->tidy(std::move(gone), until);
        co_await std::move(tidying);
    }
    auto completing = complete(std::move(stale), until);
    co_return co_await std::move(completing);
}

}  // namespace pawl::cas
