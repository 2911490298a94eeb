// What nodes and users leave each other: triggers, pauses, and what a reader of them has to know.
#include "engines/cas/journal/cas_journal.hpp"
#include "engines/rules/journal/fair_order.hpp"
#include "engines/rules/journal/unreadable.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pawl::cas {
namespace {

constexpr std::size_t entries_a_page = 1000;
constexpr int numbers_tried_max = 8;

enum class control_kind { cancel, orphan, pause, trigger, other };

struct control_scope {
    control_kind kind;
    std::string_view prefix;
};
constexpr std::array scopes{control_scope{control_kind::cancel, keys::cancels},
                            control_scope{control_kind::orphan, keys::orphans},
                            control_scope{control_kind::pause, keys::pauses},
                            control_scope{control_kind::trigger, keys::triggers}};

control_scope scope_of(std::string_view key) {
    for (const auto& one : scopes)
        if (key.starts_with(one.prefix)) return one;
    return {control_kind::other, {}};
}

// The key behind all of a kind.
std::string end_of(std::string_view prefix) {
    auto end = std::string{prefix.substr(0, prefix.size() - 1)};
    return end + '0';
}

}  // namespace

// An index entry as it was listed.
struct cas_journal::control_entry {
    std::string key{};
    std::string version{};
    index_entry says{};
};

struct cas_journal::control_reading {
    control_state all{};
    // In their order, and those of all pages: which of them are read depends on all.
    control_entries triggers{};
    control_entries orphans{};

    std::size_t count(control_kind kind) const {
        if (kind == control_kind::cancel) return all.cancels.size();
        if (kind == control_kind::orphan) return all.orphans.size();
        return kind == control_kind::pause ? all.pauses.size() : all.triggers.size();
    }
    bool is_full(control_kind kind) const { return count(kind) >= control_entries_max; }
};

// What an entry says, as far as the truth says so. False: nothing, and it will not either.
bool cas_journal::take_control(control_reading& into, const std::string& key,
                               const index_entry& entry, run_place truth) const {
    const auto kind = scope_of(key).kind;
    if (kind == control_kind::trigger) {
        if (!truth.trigger || truth.trigger->number != entry.number) return false;
        if (!into.is_full(kind)) into.all.triggers.push_back(std::move(truth.trigger->what));
        return true;
    }
    if (!truth.run || truth.run->number != entry.number) return false;
    const auto& run = truth.run->row.record;
    if (kind == control_kind::cancel) {
        if (run.cancel_requested && run.status == run_status::started && !into.is_full(kind))
            into.all.cancels.push_back(run.id);
        return !is_finished(run.status);
    }
    if (!journals::is_orphan(run)) return false;
    if (!into.is_full(kind)) {
        into.all.orphans.push_back(std::move(truth.run->row.record));
        std::string{}.swap(into.all.orphans.back().checkpoint);
    }
    return true;
}

async<void> cas_journal::take_page(std::shared_ptr<control_reading> into, listing page,
                                   instant until) {
    control_entries entries;
    for (auto& [key, stands] : page.records) {
        const auto kind = scope_of(key).kind;
        if (kind == control_kind::other || into->is_full(kind)) continue;
        if (kind == control_kind::pause) {
            auto pause = parse_pause(stands.text);
            if (pause.has_error())
                pause = journals::unreadable_pause(key.substr(keys::pauses.size()),
                                                   pause.error().detail);
            into->all.pauses.push_back(std::move(*pause));
            continue;
        }
        auto entry = parse_index_entry(stands.text);
        if (entry.has_error()) continue;
        auto& list = kind == control_kind::trigger  ? into->triggers
                     : kind == control_kind::orphan ? into->orphans
                                                    : entries;
        list.push_back({std::move(key), std::move(stands.at), std::move(*entry)});
    }
    auto taking = take_entries(into, std::move(entries), until);
    co_return co_await std::move(taking);
}

// They are looked at together.
async<void> cas_journal::take_entries(std::shared_ptr<control_reading> into,
                                      control_entries entries, instant until) {
    std::vector<std::string> wanted;
    wanted.reserve(entries.size());
    for (const auto& one : entries) wanted.push_back(one.says.key);
    auto reading = records_->read_many(std::move(wanted), until);
    const auto truths = co_await std::move(reading);
    if (truths.has_error()) co_return truths.error();
    std::vector<place_and_version> gone;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& [key, version, entry] = entries[i];
        auto there = parse_at(entry.key, (*truths)[i]);
        // It is there, so its entry stays.
        if (there.has_error()) continue;
        seen version_only;
        version_only.at = version;
        records_->remember(key, std::move(version_only));
        const bool stands = take_control(*into, key, entry, std::move(*there));
        if (!stands && is_old(entry.at)) gone.emplace_back(key, version);
    }
    auto tidying = records_->tidy(std::move(gone), until);
    co_await std::move(tidying);
    co_return result<void>{};
}

// Of each job its oldest, then of each its second: as many as there is room for.
// REQUIRES: all are of one kind.
async<void> cas_journal::take_fairly(std::shared_ptr<control_reading> into, control_entries all,
                                     instant until) {
    if (all.empty()) co_return result<void>{};
    const auto kind = scope_of(all.front().key).kind;
    std::vector<std::string_view> jobs;
    jobs.reserve(all.size());
    for (const auto& one : all) jobs.push_back(one.says.job);
    const auto order = journals::fair_order(jobs);
    for (std::size_t next = 0; next < order.size() && !into->is_full(kind);) {
        control_entries some;
        for (; next < order.size() && some.size() < entries_a_page; ++next)
            some.push_back(all[order[next]]);
        auto taking = take_entries(into, std::move(some), until);
        const auto taken = co_await std::move(taking);
        if (taken.has_error()) co_return taken.error();
    }
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) places[all[i].says.id] = i;
    const auto is_older = [&](const auto& a, const auto& b) { return places[a.id] < places[b.id]; };
    if (kind == control_kind::trigger)
        std::sort(into->all.triggers.begin(), into->all.triggers.end(), is_older);
    else
        std::sort(into->all.orphans.begin(), into->all.orphans.end(), is_older);
    co_return result<void>{};
}

async<control_state> cas_journal::read_control_state() {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto into = std::make_shared<control_reading>();
    std::string after;
    for (bool more = true; more;) {
        auto listing_them =
            records_->list(std::string{keys::control}, after, entries_a_page, until);
        auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        if (more) after = page->records.back().first;
        auto taking = take_page(into, std::move(*page), until);
        const auto taken = co_await std::move(taking);
        if (taken.has_error()) co_return taken.error();
        const auto scope = scope_of(after);
        if (scope.kind == control_kind::other || !into->is_full(scope.kind)) continue;
        more = more && scope.kind != control_kind::trigger;
        after = end_of(scope.prefix);
    }
    auto choosing_triggers = take_fairly(into, std::move(into->triggers), until);
    const auto triggers = co_await std::move(choosing_triggers);
    if (triggers.has_error()) co_return triggers.error();
    auto choosing_orphans = take_fairly(into, std::move(into->orphans), until);
    const auto orphans = co_await std::move(choosing_orphans);
    if (orphans.has_error()) co_return orphans.error();
    co_return std::move(into->all);
}

// Puts it where nodes look; it counts once the trigger is there.
async<std::uint64_t> cas_journal::announce(std::shared_ptr<waiting_trigger> waiting,
                                           instant until) {
    for (int tried = 0; tried < numbers_tried_max; ++tried) {
        const auto number = records_->fresh_number();
        if (number.has_error()) co_return number.error();
        const auto now = records_->time();
        if (now.has_error()) co_return now.error();
        const auto& what = waiting->what;
        const index_entry entry{keys::run(what.id), what.id, what.job, *number, *now, *now};
        auto creating = records_->create(keys::oldest_first(keys::triggers, *number),
                                         encode(entry, records_->fresh_nonce()), until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        waiting->what.at = *now;
        if (*created) co_return *number;
    }
    co_return records_->too_slow();
}

async<bool> cas_journal::add_trigger(run_trigger what) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto waiting = std::make_shared<waiting_trigger>();
    waiting->what = std::move(what);
    const auto key = keys::run(waiting->what.id);
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        if (!stands.at.empty()) co_return decision<bool>{false};
        if (waiting->number == 0) {
            auto announcing = announce(waiting, until);
            const auto number = co_await std::move(announcing);
            if (number.has_error()) co_return number.error();
            waiting->number = *number;
        }
        decision<bool> made{true};
        made.text = encode(*waiting, nonce);
        co_return made;
    };
    auto adding = records_->amend<bool>(key, std::nullopt, until, std::move(decide));
    const auto added = co_await std::move(adding);
    if (added.has_value() && !*added && waiting->number != 0) {
        auto tidying = records_->tidy(keys::oldest_first(keys::triggers, waiting->number), until);
        co_await std::move(tidying);
    }
    if (added.has_error()) co_return added.error();
    co_return *added;
}

async<bool> cas_journal::remove_trigger(std::string id) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto key = keys::run(id);
    std::uint64_t number = 0;
    auto removing = records_->remove(
        key,
        [&](const seen& stands) -> result<bool> {
            const auto there = parse_at(key, stands);
            if (there.has_error()) return there.error();
            number = there->trigger ? there->trigger->number : 0;
            return there->trigger.has_value();
        },
        until);
    const auto removed = co_await std::move(removing);
    if (removed.has_error()) co_return removed.error();
    if (!*removed) co_return false;
    auto tidying = records_->tidy(keys::oldest_first(keys::triggers, number), until);
    co_await std::move(tidying);
    co_return true;
}

async<bool> cas_journal::pause_job(std::string job, std::string reason, std::string by) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto now = records_->time();
    if (now.has_error()) co_return now.error();
    const job_pause pause{job, std::move(reason), std::move(by), *now};
    auto creating = records_->create(std::string{keys::pauses} + job,
                                     encode(pause, records_->fresh_nonce()), until);
    co_return co_await std::move(creating);
}

async<bool> cas_journal::resume_job(std::string job) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto key = std::string{keys::pauses} + job;
    auto reading = records_->read(key, until);
    const auto paused = co_await std::move(reading);
    if (paused.has_error()) co_return paused.error();
    if (paused->at.empty()) co_return false;
    // First: as long as the job is paused, nothing goes by it.
    auto raising = raise_since(job, until);
    const auto raised = co_await std::move(raising);
    if (raised.has_error()) co_return raised.error();
    // A pause that has come meanwhile is another one, which is not to be taken back.
    auto removing = records_->remove(
        key, [&](const seen& stands) -> result<bool> { return stands.text == paused->text; },
        until);
    co_return co_await std::move(removing);
}

}  // namespace pawl::cas
