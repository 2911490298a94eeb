// How runs go: the truth first, by which they are gone, and then what belonged to them.
#include "engines/cas/journal/cas_journal.hpp"

#include "net/for_each_bounded.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace pawl::cas {
namespace {

constexpr std::size_t entries_a_page = 1000;
// How far behind those that are kept the oldest are looked for.
constexpr int pages_behind_max = 4;
// Of those that are kept, how many are looked at for their age.
constexpr std::size_t aged_max = 4096;
constexpr std::size_t parts_a_page = 16;
constexpr std::size_t removed_at_once = 4;
// A command waits for it as it ends.
constexpr int timeouts_to_remove = 2;

}  // namespace

struct cas_journal::removal {
    std::vector<index_entry> entries{};  // of those that may go, as far as they are over
    std::int64_t ended_before = std::numeric_limits<std::int64_t>::max();
    std::size_t removed = 0;
    instant until{};
};

// The newest first.
struct cas_journal::excess {
    std::vector<index_entry> behind{};  // those that are kept
    std::deque<index_entry> aged{};     // kept for their number, but may have ended too long ago
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
    const auto until = self->records_->deadline();
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
    if (state->row.record.completed_at.value_or(0) >= all->ended_before) co_return result<void>{};
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

// By their numbers.
async<std::unordered_set<std::uint64_t>> cas_journal::active_runs(std::string job) {
    std::unordered_set<std::uint64_t> numbers;
    std::string after;
    for (bool more = true; more;) {
        auto listing_them =
            records_->list(std::string{keys::active}, after, entries_a_page, records_->deadline());
        const auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        if (more) after = page->records.back().first;
        for (const auto& entry : entries_of(*page, job)) numbers.insert(entry.number);
    }
    co_return numbers;
}

// By the indexes alone, page by page, each within a timeout of its own: those that are kept may be
// a million. What a lost process left in an index counts as a run.
async<cas_journal::excess> cas_journal::find_excess(std::string job, std::size_t keep,
                                                    std::int64_t ended_before) {
    auto looking = active_runs(job);
    const auto active = co_await std::move(looking);
    if (active.has_error()) co_return active.error();
    excess found;
    std::size_t over = 0;
    int pages_behind = 0;
    std::string after;
    for (bool more = true; more && pages_behind < pages_behind_max;) {
        auto listing_them =
            records_->list(keys::runs_of(job), after, entries_a_page, records_->deadline());
        const auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        if (more) after = page->records.back().first;
        for (auto& entry : entries_of(*page, std::nullopt)) {
            if (over >= keep) {
                found.behind.push_back(std::move(entry));
                continue;
            }
            if (active->contains(entry.number)) continue;
            ++over;
            // None ends before it began.
            if (journal_records::time_of(entry.number) >= ended_before) continue;
            found.aged.push_back(std::move(entry));
            if (found.aged.size() > aged_max) found.aged.pop_front();
        }
        if (!found.behind.empty()) ++pages_behind;
    }
    co_return found;
}

async<std::size_t> cas_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                      std::size_t limit) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto time = records_->time();
    if (time.has_error()) co_return time.error();
    const auto ended_before =
        keep_for.count() == 0 ? std::numeric_limits<std::int64_t>::min() : *time - keep_for.count();
    auto finding = find_excess(std::move(job), keep, ended_before);
    auto found = co_await std::move(finding);
    if (found.has_error()) co_return found.error();
    const auto all = std::make_shared<removal>();
    all->until = records_->now() + timeouts_to_remove * (records_->deadline() - records_->now());
    auto removing = remove_oldest(all, std::move(found->behind), limit);
    auto removed = co_await std::move(removing);
    if (removed.has_value()) {
        all->ended_before = ended_before;
        std::vector<index_entry> aged{std::move_iterator{found->aged.begin()},
                                      std::move_iterator{found->aged.end()}};
        auto removing_aged = remove_oldest(all, std::move(aged), limit);
        removed = co_await std::move(removing_aged);
    }
    if (removed.has_error() && all->removed == 0) co_return removed.error();
    co_return all->removed;
}

}  // namespace pawl::cas
