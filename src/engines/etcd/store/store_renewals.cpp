#include "engines/etcd/store/etcd_store.hpp"
#include "net/for_each_bounded.hpp"

#include <pawl/spi/rules.hpp>

#include <algorithm>
#include <utility>

namespace pawl::etcd {

// False when the lease of the lock is gone, or the lock is another by now. `bounded`: its end may
// not move further than `ttl`.
async<bool> etcd_store::extend(const std::string& key, const wire::KeyValue& lock, millis ttl,
                               bool bounded, instant deadline) {
    const auto wanted = seconds_for(ttl);
    const auto left = co_await time_to_live(lock.lease(), deadline);
    if (left.has_error()) co_return left.error();
    if (left->ttl() <= 0 && left->grantedttl() == 0) co_return false;
    if (!bounded && left->grantedttl() >= wanted) {
        const auto sent = lease_clock::now();
        const auto seconds = co_await renewals_->keep_alive(lock.lease(), deadline);
        if (seconds.has_error()) co_return seconds.error();
        const auto found = own_.find(key);
        if (found != own_.end() && found->second.lease.id == lock.lease())
            found->second.lease = {lock.lease(), *seconds, sent};
        co_return *seconds > 0;
    }
    if (left->ttl() >= wanted) co_return true;
    co_return co_await move_lease(key, lock, ttl, deadline);
}

async<bool> etcd_store::move_lease(const std::string& key, const wire::KeyValue& lock, millis ttl,
                                   instant deadline) {
    const auto longer = co_await leases_->grant(seconds_for(ttl), deadline);
    if (longer.has_error()) co_return longer.error();
    transaction move;
    move.if_created_at(names_.lock + key, lock.create_revision());
    move.if_attached_to(names_.lock + key, lock.lease());
    move.attach(names_.lock + key, longer->id);
    const auto moved = co_await run(move, effect::possible, deadline);
    if (moved.has_error()) co_return moved.error();
    if (!moved->succeeded()) {
        leases_->revoke(longer->id);
        co_return false;
    }
    leases_->revoke(lock.lease());
    const auto found = own_.find(key);
    if (found != own_.end() && found->second.created == lock.create_revision())
        found->second.lease = *longer;
    co_return true;
}

// One lease of a renewal: what we know of it, and what etcd says.
struct etcd_store::due {
    std::int64_t lease = 0;  // asked for in the stream; 0: not
    std::int64_t seconds = 0;
    std::optional<marker_text> marker;
    std::optional<wire::KeyValue> lock;
};

async<std::vector<renewal>> etcd_store::do_renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    std::vector<renewal> answers;
    if (leases.empty()) co_return answers;
    const auto deadline = client_->deadline();
    const auto stands = co_await client_->ready(deadline);
    if (stands.has_error()) co_return failure{errc::outcome_unknown, stands.error().detail};
    const auto sent = lease_clock::now();
    std::vector<due> all(leases.size());
    std::vector<std::int64_t> asked;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        const auto* mine = own(leases[i].key, leases[i].token);
        const bool plain = mine != nullptr && leases[i].max_lifetime.count() == 0 &&
                           seconds_for(leases[i].ttl) <= mine->lease.seconds;
        if (plain) asked.push_back(all[i].lease = mine->lease.id);
    }
    beat together{renewals_};
    together.begin(asked);
    const auto looked = co_await look_at_due(leases, all, deadline);
    if (looked.has_error()) co_return failure{errc::outcome_unknown, looked.error().detail};
    const auto seconds = co_await together.ended(deadline);
    if (seconds.has_error()) co_return seconds.error();
    std::size_t next = 0;
    std::optional<failure> why;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        auto& one = all[i];
        if (one.lease != 0) one.seconds = (*seconds)[next++];
        const auto* mine = own(leases[i].key, leases[i].token);
        const bool still = mine != nullptr && one.lock &&
                           mine->created == one.lock->create_revision() &&
                           one.lock->lease() == one.lease;
        if (one.lease != 0 && still && one.seconds > 0) {
            own_[leases[i].key].lease.refreshed = sent;
            answers.push_back(renewal::renewed);
            continue;
        }
        const auto slow = co_await renew_slowly(leases[i], one, deadline);
        if (slow.has_error()) why = failure{errc::outcome_unknown, slow.error().detail};
        answers.push_back(slow.has_error() ? renewal::unknown : *slow);
    }
    // Rule 11: what cannot be renewed is unknown for itself alone.
    const auto unknown = std::count(answers.begin(), answers.end(), renewal::unknown);
    if (why && unknown == std::ssize(answers)) co_return std::move(*why);
    co_return answers;
}

// The keys of a renewal that are looked at.
struct etcd_store::looks {
    std::vector<std::string> keys;
    std::vector<std::optional<wire::KeyValue>> locks;
    std::optional<marker_text> marker;
    std::size_t at_once = look_max;
    instant deadline{};
};

bool etcd_store::looks_at_fewer(const failure& why, std::size_t used) {
    if (!is_transaction_too_long(why)) return false;
    if (used > look_size_) return true;
    if (look_size_ <= look_min) return false;
    look_size_ = std::max(look_size_ / 2, look_min);
    return true;
}

// That etcd keeps a lease alive says nothing about its key: another may have taken that away.
async<void> etcd_store::look_at_due(std::span<const held_lease> leases, std::vector<due>& all,
                                    instant deadline) {
    const auto todo = std::make_shared<looks>();
    for (const auto& lease : leases) todo->keys.push_back(names_.lock + lease.key);
    todo->locks.resize(leases.size());
    todo->deadline = deadline;
    for (;;) {
        todo->at_once = look_size_;
        const auto batches = (leases.size() + todo->at_once - 1) / todo->at_once;
        net::bounded_step step = [self = shared_from_this(), todo](std::size_t batch) {
            return look_at_batch(self, todo, batch);
        };
        auto looking = net::for_each_bounded(batches, steps_at_once, std::move(step), deadline);
        const auto looked = co_await std::move(looking);
        if (looked.has_value()) break;
        if (!looks_at_fewer(looked.error(), todo->at_once)) co_return looked.error();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].marker = todo->marker;
        all[i].lock = std::move(todo->locks[i]);
    }
    co_return result<void>{};
}

async<void> etcd_store::look_at_batch(std::shared_ptr<etcd_store> self, std::shared_ptr<looks> todo,
                                      std::size_t batch) {
    const auto begin = batch * todo->at_once;
    const auto end = std::min(begin + todo->at_once, todo->keys.size());
    transaction look;
    look.get(self->names_.marker);
    for (auto i = begin; i < end; ++i) look.get(todo->keys[i]);
    const auto got = co_await self->run(look, effect::none, todo->deadline);
    if (got.has_error()) co_return got.error();
    if (static_cast<std::size_t>(got->responses_size()) != end - begin + 1)
        co_return self->unreadable(self->names_.lock);
    todo->marker = marker_of(got->responses(0));
    for (auto i = begin; i < end; ++i)
        todo->locks[i] = first_of(got->responses(static_cast<int>(i - begin + 1)));
    co_return result<void>{};
}

// Rule 3, for a lease that cannot simply be kept alive: of another TTL, of another process, bounded
// in its lifetime, or expired.
async<renewal> etcd_store::renew_slowly(const held_lease& lease, const due& seen,
                                        instant deadline) {
    if (number(lease.token) == 0 || !seen.marker) co_return renewal::lost;
    snapshot known;
    known.marker = seen.marker;
    const auto text = seen.lock ? parse_lock(seen.lock->value()) : std::nullopt;
    if (seen.lock && !text) co_return unreadable(names_.lock + lease.key);
    if (text && known.token_of(text->token, seen.lock->create_revision()) != lease.token)
        co_return renewal::lost;
    if (!text && lease.if_expired != expired_renewal::extend_if_unclaimed) co_return renewal::lost;
    auto ttl = lease.ttl;
    bool bounded = false;
    if (lease.max_lifetime.count() > 0) {
        auto acquired = text ? text->acquired : 0;
        if (!text) {
            const auto before = co_await look(lease.key, deadline);
            if (before.has_error()) co_return before.error();
            const auto last = before->record ? parse_record(before->record->value()) : std::nullopt;
            if (!last) co_return renewal::lost;
            acquired = last->acquired;
        }
        const auto elapsed = co_await held_for(lease.key, lease.token, acquired, deadline);
        if (elapsed.has_error()) co_return elapsed.error();
        const auto left = lease.max_lifetime - *elapsed;
        if (left.count() <= 0) co_return renewal::lost;
        bounded = left < ttl + std::chrono::seconds{2};
        ttl = std::min(ttl, left);
    }
    if (!text) co_return co_await carry_on(lease, seen, ttl, deadline);
    const auto extended = co_await extend(lease.key, *seen.lock, ttl, bounded, deadline);
    if (extended.has_error()) co_return extended.error();
    co_return *extended ? renewal::renewed : renewal::lost;
}

// Under the same token, if no other process took the key since it expired.
async<renewal> etcd_store::carry_on(const held_lease& lease, const due&, millis ttl,
                                    instant deadline) {
    const auto seen = co_await look(lease.key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto last = seen->record ? parse_record(seen->record->value()) : std::nullopt;
    if (!last || last->how != record_text::state::granted || seen->lock || seen->pause ||
        seen->token_of(last->token, seen->record->mod_revision()) != lease.token)
        co_return renewal::lost;
    const auto fresh = co_await leases_->grant(seconds_for(ttl), deadline);
    if (fresh.has_error()) co_return fresh.error();
    const lock_text again{last->id, lease.token, last->acquired, last->owner};
    transaction take;
    take.if_created_at(names_.lock + lease.key, 0).if_created_at(names_.pause + lease.key, 0);
    take.if_changed_at(names_.record + lease.key, seen->record->mod_revision());
    take.put(names_.lock + lease.key, encode(again), fresh->id);
    const auto got = co_await run(take, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) {
        leases_->revoke(fresh->id);
        co_return renewal::lost;
    }
    const auto found = own_.find(lease.key);
    if (found != own_.end() && found->second.token == lease.token) {
        found->second.created = got->header().revision();
        found->second.lease = *fresh;
    }
    co_return renewal::renewed;
}

}  // namespace pawl::etcd
