// What becomes of leases: renewed, let go, taken away.
#include "base/duration.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"
#include "net/for_each_bounded.hpp"

#include <algorithm>

namespace pawl::zookeeper {
namespace {

// Renewed by one transaction, which names each key twice: a server takes requests of up to 1 MiB
// (jute.maxbuffer).
constexpr std::size_t renew_batch_max = 128;

// Looked for in the tree at a time, where each is read behind a sync: all leases of a process whose
// session has ended are, within one beat.
constexpr std::size_t searches_at_once = 16;

// What the rules left of a record, with what they do not know about.
lease_record record_of(const rules::lease_record& state, const lease_record& before,
                       std::int64_t now) {
    lease_record after = before;
    if (number(state.holder) == 0) {
        const auto until = std::chrono::ceil<millis>(state.until).count();
        after.lease.clear();
        after.claim_id.clear();
        after.cooldown_until = until > now ? until : 0;
    }
    after.last_token = state.last_token;
    after.last_done = state.last_done;
    return after;
}

// Not of the ensemble, or the way there.
bool is_of_a_record(const failure& why) {
    return why.code == errc::rejected || why.code == errc::unsupported;
}

}  // namespace

// ---- Renewal

// One lease on its way through renew().
struct zookeeper_store::renewing {
    renewing(std::size_t place, const held_lease& lease, std::shared_ptr<lease_end> end)
        : place{place}, lease{&lease}, end{std::move(end)}, guard{this->end} {}

    std::size_t place;  // among the answers
    const held_lease* lease;
    std::shared_ptr<lease_end> end;
    int version = 0;      // of the record
    millis ttl{};         // to be written
    bool extends = true;  // else what is left is longer already
    expiry_schedule::renewing guard;
};

// Leases that are not renewed where this process knows them to be, but looked for.
struct zookeeper_store::searched {
    std::vector<held_lease> leases;
    std::vector<renewal> answers;
    bool is_batch = false;
    instant until{};
};

async<std::vector<renewal>> zookeeper_store::renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    std::vector<renewal> answers(leases.size(), renewal::lost);
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    const auto until = deadline();
    std::unordered_map<session_ptr, std::vector<std::vector<renewing>>> mine;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        auto one = renewing_of(i, leases[i]);
        if (one) {
            auto& batches = mine[one->end->where];
            if (batches.empty() || batches.back().size() >= renew_batch_max) {
                batches.emplace_back();
                batches.back().reserve(std::min(renew_batch_max, leases.size() - i));
            }
            batches.back().push_back(std::move(*one));
        } else if (may_be_found(leases[i])) {
            others.push_back(i);
        }
    }
    for (auto& [where, batches] : mine) {
        const auto done = co_await renew_held(where, std::move(batches), answers, until);
        if (done.has_error()) co_return done.error();
        others.insert(others.end(), done->begin(), done->end());
    }
    const auto all = std::make_shared<searched>();
    for (const auto i : others) all->leases.push_back(leases[i]);
    all->answers.resize(others.size(), renewal::unknown);
    all->is_batch = leases.size() > 1;
    all->until = until;
    net::bounded_step step = [self, all](std::size_t i) { return renew_searched(self, all, i); };
    auto searching = net::for_each_bounded(others.size(), searches_at_once, std::move(step), until);
    const auto done = co_await std::move(searching);
    if (done.has_error()) co_return done.error();
    for (std::size_t i = 0; i < others.size(); ++i) answers[others[i]] = all->answers[i];
    co_return answers;
}

async<void> zookeeper_store::renew_searched(std::shared_ptr<zookeeper_store> self,
                                            std::shared_ptr<searched> all, std::size_t index) {
    const auto found = co_await self->renew_found(all->leases[index], all->until);
    if (found.has_value()) all->answers[index] = *found;
    // One that cannot be read says nothing of the others, where there are any.
    else if (!all->is_batch || !is_of_a_record(found.error()))
        co_return found.error();
    co_return result<void>{};
}

// One that this process knows to hold, and to be renewed where it is.
std::optional<zookeeper_store::renewing> zookeeper_store::renewing_of(std::size_t place,
                                                                      const held_lease& lease) {
    const auto* known = expiries_->find(lease.key);
    const auto now = lease_clock::now();
    if (known == nullptr || known->record.token != lease.token || known->until() <= now ||
        known->where()->is_dead() || lease.ttl > known->where()->usable_ttl())
        return std::nullopt;
    auto end = now + lease.ttl;
    if (lease.max_lifetime.count() > 0)
        end = std::min<instant>(end, known->acquired + lease.max_lifetime);
    if (end <= now) return std::nullopt;
    renewing one{place, lease, known->end};
    one.version = known->version;
    one.ttl = std::chrono::ceil<millis>(end - now);
    one.extends = end > known->until();
    return one;
}

// Whether to look in the tree for one that is not renewed so: not for one that is known to be over.
bool zookeeper_store::may_be_found(const held_lease& lease) {
    if (number(lease.token) == 0) return false;
    const auto* known = expiries_->find(lease.key);
    if (known == nullptr || known->record.token != lease.token) return true;
    const auto now = lease_clock::now();
    if (lease.max_lifetime.count() > 0 && known->acquired + lease.max_lifetime <= now) return false;
    const bool over = known->until() <= now || known->where()->is_dead();
    return !over || lease.if_expired == expired_renewal::extend_if_unclaimed;
}

// All batches at once, each a transaction that happens or does not. Where one does not, a lease of
// it is gone, or its record was written since: all others are asked again. Gives back those to look
// at one by one.
async<std::vector<std::size_t>> zookeeper_store::renew_held(
    session_ptr where, std::vector<std::vector<renewing>> batches, std::vector<renewal>& answers,
    instant until) {
    std::vector<std::size_t> expired;
    while (!batches.empty()) {
        std::vector<request> asked;
        for (auto& batch : batches) {
            std::vector<operation> steps;
            steps.reserve(2 * batch.size());
            for (auto& one : batch) {
                // However another came to be granted the key, it has written the record.
                steps.emplace_back(operation::kind::check, parent_of(one.end->path), "",
                                   one.version);
                if (one.extends)
                    steps.emplace_back(operation::kind::set, one.end->path,
                                       std::to_string(one.ttl.count()));
                else
                    steps.emplace_back(operation::kind::check, one.end->path);
            }
            asked.emplace_back(std::move(steps));
        }
        // The lease may have begun anew at any moment since.
        const auto sent = lease_clock::now();
        const auto got = co_await where->ask_all(std::move(asked), until);
        if (got.has_error()) co_return got.error();
        std::vector<std::vector<renewing>> again;
        for (std::size_t b = 0; b < batches.size(); ++b) {
            if (!(*got)[b].done()) {
                again.push_back(std::move(batches[b]));
                continue;
            }
            for (auto& one : batches[b]) {
                answers[one.place] = renewal::renewed;
                if (one.extends && !one.end->cancelled)
                    expiries_->move(*one.end, std::max(one.end->until, sent + one.ttl));
            }
        }
        batches.clear();
        for (auto& batch : again) {
            const auto gone = co_await drop_changed(where, batch, until);
            if (gone.has_error()) co_return gone.error();
            for (const auto i : *gone) expired.push_back(i);
            if (!batch.empty()) batches.push_back(std::move(batch));
        }
    }
    co_return expired;
}

// A lease that this session does not see any more is gone for good: it has seen its own writes.
async<std::vector<std::size_t>> zookeeper_store::drop_changed(session_ptr where,
                                                              std::vector<renewing>& batch,
                                                              instant until) {
    std::vector<request> asked;
    const auto count = batch.size();
    asked.emplace_back(request::kind::sync, tree_->paths().root());
    for (const auto& one : batch) {
        asked.emplace_back(request::kind::exists, one.end->path);
        asked.emplace_back(request::kind::exists, parent_of(one.end->path));
    }
    const auto got = co_await where->ask_all(std::move(asked), until);
    if (got.has_error()) co_return got.error();
    std::vector<std::size_t> expired;
    std::vector<renewing> left;
    for (std::size_t i = 0; i < count; ++i) {
        auto& one = batch[i];
        const auto& record = (*got)[2 * i + 2];
        if ((*got)[2 * i + 1].done()) {
            if (record.done() && record.stat.version == one.version)
                left.push_back(std::move(one));
            else
                expired.push_back(one.place);
            continue;
        }
        if (one.lease->if_expired == expired_renewal::extend_if_unclaimed)
            expired.push_back(one.place);
        if (const auto* known = expiries_->find(one.lease->key);
            known != nullptr && known->end == one.end)
            expiries_->forget(one.lease->key);
    }
    batch = std::move(left);
    co_return expired;
}

// A lease that this process did not take, or lost: everything is in the tree.
async<renewal> zookeeper_store::renew_found(held_lease lease, instant until) {
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    do {
        auto seen = co_await tree_->look(**through, lease.key, ensemble::freshness::synced, until);
        if (seen.has_error()) co_return seen.error();
        forget_what_is_over(lease.key, *seen);
        auto wall = now_for(*seen);
        if (lease.max_lifetime.count() > 0 || !seen->alive) {
            const auto read = co_await tree_->read_clock(**through, until);
            if (read.has_error()) co_return read.error();
            wall = *read;
        }
        auto state = state_of(*seen, wall);
        const rules::store_time now{millis{wall}, millis{wall}};
        if (!seen->exists || !rules::renew(state, lease, now)) co_return renewal::lost;
        const auto ttl = std::chrono::ceil<millis>(state.until - now.elapsed);
        const auto kept = co_await keep(lease.key, *seen, ttl, until);
        if (kept.has_error()) co_return kept.error();
        if (*kept) co_return renewal::renewed;
    } while (lease_clock::now() < until);
    co_return too_slow("the renewal");
}

// The same lease under the same token, with so much time; where its session cannot carry that, or
// is not ours, it moves to one that can.
zookeeper_store::attempt<bool> zookeeper_store::keep(const std::string& key, const view& seen,
                                                     millis ttl, instant until) {
    auto where = seen.alive ? tree_->session_with(seen.owner) : nullptr;
    if (where && where->usable_ttl() >= ttl) {
        auto kept = co_await keep_in_place(where, key, seen, ttl, until);
        co_return kept;
    }
    const auto other = co_await tree_->session_for(ttl, until);
    if (other.has_error()) co_return other.error();
    if ((*other)->usable_ttl() < ttl)
        co_return failure{
            errc::rejected,
            tree_->place() + ": a lease of " + base::format_duration(ttl) +
                " needs a longer session than the " +
                base::format_duration((*other)->granted_timeout()) +
                " that the server grants: shorten the TTL or raise maxSessionTimeout"};
    auto moved = co_await move_lease(*other, key, seen, ttl, until);
    co_return moved;
}

zookeeper_store::attempt<bool> zookeeper_store::keep_in_place(const session_ptr& where,
                                                              const std::string& key,
                                                              const view& seen, millis ttl,
                                                              instant until) {
    using kind = operation::kind;
    const auto path = tree_->lease_path(key, seen);
    own_lease mine;
    mine.record = seen.record;
    mine.version = seen.version;
    mine.origin = seen.origin;
    mine.acquired = lease_clock::now();
    if (const auto* known = expiries_->find(key); known != nullptr && known->path() == path)
        mine.acquired = known->acquired;
    mine.end = expiries_->end_of(path);
    if (!mine.end) mine.end = expiries_->add(where, key, path, until + ttl);
    const expiry_schedule::renewing guard{mine.end};
    std::vector<operation> steps;
    steps.emplace_back(kind::check, tree_->paths().record_of(key), "", seen.version);
    steps.emplace_back(kind::set, path, std::to_string(ttl.count()));
    request ask{std::move(steps)};
    const auto sent = lease_clock::now();
    const auto done = co_await where->ask(std::move(ask), until);
    if (done.has_error()) co_return done.error();
    if (!done->done()) co_return std::optional<bool>{};
    expiries_->move(*mine.end, sent + ttl);
    expiries_->hold(key, std::move(mine));
    co_return std::optional<bool>{true};
}

zookeeper_store::attempt<bool> zookeeper_store::move_lease(const session_ptr& where,
                                                           const std::string& key, const view& seen,
                                                           millis ttl, instant until) {
    using kind = operation::kind;
    const auto record = tree_->paths().record_of(key);
    const auto old_path = tree_->lease_path(key, seen);
    own_lease mine;
    mine.record = seen.record;
    mine.record.lease = fresh_lease_name();
    const auto path = record + "/" + mine.record.lease;
    mine.acquired = lease_clock::now();
    if (const auto* known = expiries_->find(key); known != nullptr && known->path() == old_path)
        mine.acquired = known->acquired;
    std::vector<operation> steps;
    steps.emplace_back(kind::set, record, text_of(mine.record), seen.version);
    mine.origin = tie_to(steps, record, seen);
    if (seen.alive) steps.emplace_back(kind::remove, old_path);
    steps.emplace_back(kind::create_ephemeral, path, std::to_string(ttl.count()));
    mine.end = expiries_->add(where, key, path, until + ttl);
    const auto sent = lease_clock::now();
    auto making = make_lease(where, std::move(steps), mine.end, until);
    const auto done = co_await std::move(making);
    if (done.has_error()) co_return done.error();
    if (!done->done()) co_return std::optional<bool>{};
    tree_->note_clock(done->stat);
    if (seen.alive) expiries_->cancel(old_path);
    mine.version = done->stat.version;
    expiries_->move(*mine.end, sent + ttl);
    expiries_->hold(key, std::move(mine));
    co_return std::optional<bool>{true};
}

// ---- Letting go

async<bool> zookeeper_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    if (how.min_hold.count() == 0) {
        const auto done = co_await release_held(key, token, how, deadline());
        if (done.has_error()) co_return done.error();
        if (*done) co_return **done;
    }
    const decision decide = [&](rules::lease_record& state, const rules::store_time& now) {
        const auto done = rules::release(state, token, how, now);
        return effect{done.changed, done.was_holder};
    };
    const auto need = how.min_hold.count() > 0 ? clock_need::exact : clock_need::estimate;
    co_return co_await change(std::move(key), need, absence::nothing, decide);
}

// What this process took it knows by heart: one transaction, which fails if it is not so any more.
zookeeper_store::attempt<bool> zookeeper_store::release_held(const std::string& key,
                                                             fence_token token,
                                                             const release_options& how,
                                                             instant until) {
    const auto* known = expiries_->find(key);
    if (known == nullptr || known->record.token != token || known->where()->is_dead() ||
        !known->where()->is_connected() || known->until() <= lease_clock::now())
        co_return std::optional<bool>{};
    using kind = operation::kind;
    const auto where = known->where();
    const auto path = known->path();
    remembered last{{}, tree_->generation(), lease_clock::now()};
    last.seen.exists = true;
    last.seen.origin = known->origin;
    last.seen.record = known->record;
    last.seen.record.lease.clear();
    last.seen.record.claim_id.clear();
    auto& last_done = last.seen.record.last_done;
    if (how.done && token == known->record.last_token &&
        (!last_done || number(*last_done) < number(*how.done)))
        last_done = how.done;
    std::vector<operation> steps;
    steps.reserve(2);
    steps.emplace_back(kind::set, tree_->paths().record_of(key), text_of(last.seen.record),
                       known->version);
    steps.emplace_back(kind::remove, path);
    request ask{std::move(steps)};
    const auto done = co_await where->ask(std::move(ask), until);
    if (done.has_error()) co_return done.error();
    if (!done->done()) co_return std::optional<bool>{};
    tree_->note_clock(done->stat);
    if (const auto* still = expiries_->find(key); still != nullptr && still->path() == path)
        expiries_->forget(key);
    last.seen.version = done->stat.version;
    // Without an origin it would not be told from a later one.
    if (last.seen.origin.empty()) co_return std::optional<bool>{true};
    if (remembered_.size() >= remembered_max) remembered_.clear();
    remembered_.insert_or_assign(key, std::move(last));
    co_return std::optional<bool>{true};
}

async<bool> zookeeper_store::withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    const decision decide = [&](rules::lease_record& state, const rules::store_time& now) {
        const auto did = rules::withdraw(state, given_up, now);
        return effect{did.changed, did.was_holder};
    };
    auto key = given_up.key;
    co_return co_await change(std::move(key), clock_need::estimate, absence::tombstone, decide);
}

async<bool> zookeeper_store::force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    const decision decide = [&](rules::lease_record& state, const rules::store_time& now) {
        const bool held = rules::force_release(state, token, delay, now);
        return effect{held, held};
    };
    const auto need = delay.count() > 0 ? clock_need::exact : clock_need::estimate;
    co_return co_await change(std::move(key), need, absence::nothing, decide);
}

// ---- Changing a record by the rules

async<bool> zookeeper_store::change(std::string key, clock_need need, absence if_absent,
                                    const decision& decide) {
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    remembered_.erase(key);
    do {
        const auto done = co_await try_change(**through, key, need, if_absent, decide, until);
        if (done.has_error()) co_return done.error();
        if (*done) co_return **done;
    } while (lease_clock::now() < until);
    co_return too_slow("the record");
}

zookeeper_store::attempt<bool> zookeeper_store::try_change(session& through, const std::string& key,
                                                           clock_need need, absence if_absent,
                                                           const decision& decide, instant until) {
    using kind = operation::kind;
    auto seen = co_await tree_->look(through, key, ensemble::freshness::synced, until);
    if (seen.has_error()) co_return seen.error();
    if (!seen->exists) {
        if (if_absent == absence::nothing) co_return std::optional<bool>{false};
        auto left = co_await leave_tombstone(through, key, until);
        co_return left;
    }
    const bool still_there = seen->alive;
    forget_what_is_over(key, *seen);
    auto wall = now_for(*seen);
    if (need == clock_need::exact) {
        const auto read = co_await tree_->read_clock(through, until);
        if (read.has_error()) co_return read.error();
        wall = *read;
    }
    auto state = state_of(*seen, wall);
    const auto decided = decide(state, rules::store_time{millis{wall}, millis{wall}});
    if (!decided.changed && if_absent == absence::nothing)
        co_return std::optional<bool>{decided.answer};
    const auto after = record_of(state, seen->record, wall);
    const auto path = seen->record.lease.empty() ? "" : tree_->lease_path(key, *seen);
    const bool ends = after.lease.empty() && still_there;
    std::vector<operation> steps;
    const auto record = tree_->paths().record_of(key);
    steps.emplace_back(kind::set, record, text_of(after), seen->version);
    const auto origin = tie_to(steps, record, *seen);
    // With its version: a renewal that comes between the look and this one moves the end that the
    // cooldown of a forced release was counted from, and no version of the record.
    if (ends) steps.emplace_back(kind::remove, path, "", seen->lease_version);
    request ask{std::move(steps)};
    const auto done = co_await through.ask(std::move(ask), until);
    if (done.has_error()) co_return done.error();
    if (!done->done()) co_return std::optional<bool>{};
    tree_->note_clock(done->stat);
    if (ends) {
        const auto* known = expiries_->find(key);
        if (known != nullptr && known->path() == path)
            expiries_->forget(key);
        else
            expiries_->cancel(path);
    } else if (auto* known = expiries_->find(key); known != nullptr && known->path() == path) {
        known->version = done->stat.version;
        known->record = after;
        known->origin = origin;
    }
    co_return std::optional<bool>{decided.answer};
}

// A claim that is still on its way would make the record: it finds one that it did not expect.
zookeeper_store::attempt<bool> zookeeper_store::leave_tombstone(session& through,
                                                                const std::string& key,
                                                                instant until) {
    using kind = operation::kind;
    const auto path = tree_->paths().record_of(key);
    std::vector<operation> steps;
    steps.emplace_back(kind::create, path, text_of(lease_record{}));
    tie_to(steps, path, view{});
    request ask{std::move(steps)};
    const auto made = co_await through.ask(std::move(ask), until);
    if (made.has_error()) co_return made.error();
    if (made->done()) co_return std::optional<bool>{false};
    if (made->code == finding_code::no_node) {
        const auto parent = co_await tree_->make_parent(through, path, until);
        if (parent.has_error()) co_return parent.error();
    }
    co_return std::optional<bool>{};
}

}  // namespace pawl::zookeeper
