// How runs go: the truth first, by which they are gone, and then what belonged to them.
#include "engines/cas/journal/cas_journal.hpp"

#include "net/for_each_bounded.hpp"

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

constexpr std::size_t entries_a_look = 100;
constexpr std::size_t parts_a_page = 16;
constexpr std::size_t removed_at_once = 4;

}  // namespace

struct cas_journal::removal {
    std::vector<index_entry> entries{};  // of those that may go, as far as they are over
    std::size_t removed = 0;
    instant until{};
};

// All that belongs to a run that is not there. The job's entry goes last: while it stands, this is
// done again.
boost::asio::awaitable<void> cas_journal::sweep(index_entry entry, instant until) {
    // Behind those before: one that is not pawl's stays where it is.
    for (std::string after;;) {
        auto listing_them = records_->list(keys::parts(entry.number), after, parts_a_page, until);
        const auto parts = co_await std::move(listing_them);
        if (parts.has_error()) co_return;
        if (parts->records.empty()) break;
        after = parts->records.back().first;
        std::vector<place_and_version> gone;
        for (const auto& [key, stands] : parts->records) gone.emplace_back(key, stands.at);
        auto tidying = records_->tidy(std::move(gone), until);
        const bool went = co_await std::move(tidying);
        if (!went) co_return;
    }
    const auto id_key = keys::run(entry.id);
    if (entry.key != id_key) {
        auto reading = records_->read_many({id_key, entry.key}, until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return;
        const auto by_id = parse_at(id_key, stands->front());
        const auto there = parse_at(entry.key, stands->back());
        if (by_id.has_error() || there.has_error()) co_return;
        const bool has_another = !there->run || there->run->row.record.id != entry.id;
        if (has_another && by_id->elsewhere == entry.key) {
            std::vector<place_and_version> gone{{id_key, stands->front().at}};
            auto tidying = records_->tidy(std::move(gone), until);
            const bool went = co_await std::move(tidying);
            if (!went) co_return;
        }
    }
    for (const auto& index : {std::string{keys::all_runs}, keys::runs_of(entry.job)}) {
        auto tidying = records_->tidy(keys::newest_first(index, entry.number), until);
        const bool went = co_await std::move(tidying);
        if (!went) co_return;
    }
}

async<void> cas_journal::remove_run(std::shared_ptr<cas_journal> self, std::shared_ptr<removal> all,
                                    std::size_t which) {
    const auto entry = all->entries[which];
    const auto until = all->until;
    std::vector<index_entry> one{entry};
    auto reading = self->truths_of(std::move(one), until);
    const auto found = co_await std::move(reading);
    if (found.has_error()) co_return found.error();
    const auto& state = found->front().state;
    if (found->front().is_gone() && self->is_old(entry.at)) {
        auto sweeping = self->sweep(entry, until);
        co_await std::move(sweeping);
    }
    if (!state || !is_finished(state->row.record.status)) co_return result<void>{};
    auto settling = self->settle_saved(*state, until);
    const auto settled = co_await std::move(settling);
    if (settled.has_error()) co_return settled.error();
    auto removing = self->records_->remove(
        entry.key,
        [&](const seen& stands) -> result<bool> {
            const auto there = self->parse_at(entry.key, stands);
            if (there.has_error()) return there.error();
            return there->run && there->run->number == entry.number &&
                   is_finished(there->run->row.record.status);
        },
        until);
    const auto removed = co_await std::move(removing);
    if (removed.has_error()) co_return removed.error();
    if (!*removed) co_return result<void>{};
    ++all->removed;
    self->places_.erase(entry.id);
    auto sweeping = self->sweep(entry, until);
    co_await std::move(sweeping);
    co_return result<void>{};
}

// From the oldest, until so many are gone.
async<void> cas_journal::remove_oldest(std::shared_ptr<removal> all,
                                       std::vector<index_entry> entries, std::size_t limit) {
    const auto self = shared_from_this();
    while (!entries.empty() && all->removed < limit && records_->now() < all->until) {
        const auto size = std::min(entries.size(), limit - all->removed);
        all->entries.assign(entries.rbegin(), entries.rbegin() + static_cast<std::ptrdiff_t>(size));
        entries.resize(entries.size() - size);
        net::bounded_step step = [self, all](std::size_t which) {
            return remove_run(self, all, which);
        };
        auto removing = net::for_each_bounded(size, removed_at_once, std::move(step));
        const auto removed = co_await std::move(removing);
        if (removed.has_error()) co_return removed.error();
    }
    co_return result<void>{};
}

async<std::size_t> cas_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                      std::size_t limit) {
    const auto self = shared_from_this();
    const auto all = std::make_shared<removal>();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    all->until = *ready;
    auto listing_them = records_->list_all(keys::runs_of(job), all->until);
    auto records = co_await std::move(listing_them);
    if (records.has_error()) co_return records.error();
    listing whole;
    whole.records = std::move(*records);
    auto entries = entries_of(whole, std::nullopt);
    const auto time = records_->time();
    if (time.has_error()) co_return time.error();
    const auto ended_before = keep_for.count() == 0 ? 0 : *time - keep_for.count();
    // Those that are kept for their number, of which some may be too old.
    std::vector<index_entry> old;
    std::size_t over = 0, looked = 0;
    while (over < keep && looked < entries.size()) {
        const auto size = std::min(entries_a_look, entries.size() - looked);
        const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(looked);
        std::vector<index_entry> some{begin, begin + static_cast<std::ptrdiff_t>(size)};
        auto reading = truths_of(some, all->until);
        const auto truths = co_await std::move(reading);
        if (truths.has_error()) co_return truths.error();
        for (std::size_t i = 0; i < size && over < keep; ++i, ++looked) {
            const auto& state = (*truths)[i].state;
            if ((*truths)[i].is_gone() && is_old(some[i].at)) old.push_back(some[i]);
            if (!state || !is_finished(state->row.record.status)) continue;
            ++over;
            if (state->row.record.completed_at.value_or(0) < ended_before) old.push_back(some[i]);
        }
    }
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(looked));
    auto removing = remove_oldest(all, std::move(entries), limit);
    auto removed = co_await std::move(removing);
    if (removed.has_value()) {
        auto removing_old = remove_oldest(all, std::move(old), limit);
        removed = co_await std::move(removing_old);
    }
    if (removed.has_error() && all->removed == 0) co_return removed.error();
    co_return all->removed;
}

}  // namespace pawl::cas
