// Renewal of many leases: one conditional write each from the state that is remembered, and a look
// only where that was changed by another process.
#include "engines/cas/store/cas_store.hpp"

#include "net/for_each_bounded.hpp"

#include <algorithm>

namespace pawl::cas {
namespace {

constexpr std::size_t batches_at_once = 4;
constexpr std::size_t looks_at_once = 8;

}  // namespace

// Steps may outlive the verb, so they share what they work on.
struct cas_store::beat {
    explicit beat(std::span<const held_lease> all) : leases{all.begin(), all.end()} {}

    std::vector<held_lease> leases;
    instant until{};
    int clock_jumps = 0;  // when the changes were planned
    std::vector<renewal> answers = std::vector(leases.size(), renewal::unknown);
    std::vector<std::optional<failure>> failures =
        std::vector<std::optional<failure>>(leases.size());
    std::vector<change> changes{};
    std::vector<std::size_t> changed{};  // whose lease each change is
    std::vector<instant> granted{};      // when it was granted
    std::vector<std::size_t> alone{};    // those that have to be looked at
    std::size_t batch_size = 1;
};

void cas_store::plan(const held_lease& lease, std::size_t index, beat& into) {
    const auto* mine = records_->find(lease.key);
    const auto bounds = records_->known_clock();
    if (mine != nullptr && mine->holder == lease.token) {
        auto record = read_lease(lease.key, mine->stands);
        if (record.has_value() &&
            record->renew(lease, rounded(lease.ttl), age_of(lease.key, lease.token), bounds)) {
            record_name name{record_kind::lease, lease.key};
            into.changes.emplace_back(
                std::move(name), record->text(records_->fresh_nonce(), bounds), mine->stands.at);
            into.changes.back().asks_time = true;
            into.changed.push_back(index);
            into.granted.push_back(mine->granted);
            return;
        }
    }
    into.alone.push_back(index);
}

async<void> cas_store::renew_batch(std::shared_ptr<beat> all, std::size_t batch) {
    const auto first = batch * all->batch_size;
    const auto size = std::min(all->batch_size, all->changes.size() - first);
    const auto part = std::span<const change>{all->changes}.subspan(first, size);
    const auto got = co_await records_->write_many(part, all->until);
    for (std::size_t i = 0; i < size; ++i) {
        const auto index = all->changed[first + i];
        if (got.has_error() || (*got)[i].has_error()) {
            all->failures[index] = got.has_error() ? got.error() : (*got)[i].error();
            continue;
        }
        const auto& answer = *(*got)[i];
        const auto* done = std::get_if<written>(&answer);
        // Planned by a clock that stood still, or without a word of what time it is, it may be
        // over.
        if (done == nullptr || tells_no_time(answer) ||
            records_->clock_jumps() != all->clock_jumps) {
            all->alone.push_back(index);
            continue;
        }
        all->answers[index] = renewal::renewed;
        records_->remember(part[i], done->at, all->granted[first + i]);
    }
    co_return result<void>{};
}

async<void> cas_store::renew_alone(std::shared_ptr<beat> all, std::size_t which) {
    const auto index = all->alone[which];
    const auto& lease = all->leases[index];
    int jumps = 0;
    lease_step step = [&](lease_rules& record, const clock_bounds& now) {
        jumps = records_->clock_jumps();
        const auto age = age_of(lease.key, lease.token);
        if (record.kept.state.last_token < lease.token) space_->doubt();
        const bool done = record.renew(lease, rounded(lease.ttl), age, now);
        return rules::end_effect{done, done};
    };
    auto deciding = amend_lease(lease.key, std::nullopt, std::move(step), all->until);
    const auto renewed = co_await std::move(deciding);
    if (renewed.has_error())
        all->failures[index] = renewed.error();
    else if (!*renewed)
        all->answers[index] = renewal::lost;
    // Decided by a clock that stood still, it may be over: the next beat tells.
    else if (records_->clock_jumps() == jumps)
        all->answers[index] = renewal::renewed;
    co_return result<void>{};
}

async<std::vector<renewal>> cas_store::do_renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    const auto all = std::make_shared<beat>(leases);
    for (const auto& lease : all->leases)
        if (auto rejected = rules::reject_long_ttl(settings_.common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    if (all->leases.empty()) co_return std::vector<renewal>{};
    const auto open = co_await space_->ready();
    if (open.has_error()) co_return open.error();
    all->until = *open;
    all->clock_jumps = records_->clock_jumps();
    for (std::size_t i = 0; i < all->leases.size(); ++i) plan(all->leases[i], i, *all);
    const auto able = records_->traits().batch_max;
    all->batch_size = able > 1 ? able : std::max<std::size_t>(all->changes.size(), 1);
    const auto batches = (all->changes.size() + all->batch_size - 1) / all->batch_size;
    net::bounded_step batch = [self, all](std::size_t i) { return self->renew_batch(all, i); };
    auto writing = net::for_each_bounded(batches, batches_at_once, std::move(batch));
    const auto wrote = co_await std::move(writing);
    if (wrote.has_error()) co_return wrote.error();
    net::bounded_step look = [self, all](std::size_t i) { return self->renew_alone(all, i); };
    auto looking = net::for_each_bounded(all->alone.size(), looks_at_once, std::move(look));
    const auto looked = co_await std::move(looking);
    if (looked.has_error()) co_return looked.error();
    // The store is out of reach for all of them, and not one record for its own lease.
    const auto failed = [](const auto& each) { return each.has_value(); };
    if (std::all_of(all->failures.begin(), all->failures.end(), failed))
        co_return *all->failures.front();
    co_return std::move(all->answers);
}

}  // namespace pawl::cas
