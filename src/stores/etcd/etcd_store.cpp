#include "stores/etcd/etcd_store.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "stores/etcd/client.hpp"
#include "stores/etcd/crew.hpp"
#include "stores/etcd/epochs.hpp"
#include "stores/etcd/examine.hpp"
#include "stores/etcd/lease_stock.hpp"
#include "stores/etcd/lease_stream.hpp"
#include "stores/etcd/lease_text.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/etcd/watch_board.hpp"
#include "stores/rules/rules.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace pawl::etcd {
namespace {

// How often a verb looks again when what it saw has changed before it could act.
constexpr int rounds_max = 16;
// Keys looked at by one transaction: etcd allows 128 operations, and the marker is one of them.
constexpr std::size_t look_max = 120;
// How many requests of one verb are under way at a time.
constexpr std::size_t steps_at_once = 4;
// How long a withdrawn claim is remembered, and for how long one etcd lease serves those memories.
constexpr std::int64_t withdrawn_seconds = 3600;
constexpr auto withdrawn_stretch = std::chrono::minutes{30};
// etcd looks for leases that have ended twice a second, so a key outlives its last second.
constexpr millis expiry_lag{500};
constexpr std::size_t sweep_every = 1024;

// One lease that this store was granted: what its end and its renewal need to know.
struct holding {
    fence_token token{};
    std::int64_t created = 0;  // the revision of the lock
    etcd_lease lease;
    instant granted{};  // when the answer was there
    std::string id;
    std::int64_t acquired = 0;
    std::string owner;
    std::optional<occurrence> done{};  // what the grant marked
};

// What lies in etcd of one key, all of one revision.
struct snapshot {
    std::int64_t revision = 0;
    std::optional<marker_text> marker;
    std::optional<wire::KeyValue> lock, pause, record, done;

    // Of a value of this namespace: its own token, or that of its revision.
    fence_token token_of(fence_token own, std::int64_t at) const noexcept {
        if (number(own) != 0 || !marker) return own;
        return fence_token{static_cast<std::uint64_t>(marker->born + at)};
    }
};

std::optional<wire::KeyValue> first_of(const wire::ResponseOp& response) {
    const auto& got = response.response_range();
    if (got.kvs_size() == 0) return std::nullopt;
    return got.kvs(0);
}

std::optional<marker_text> marker_of(const wire::ResponseOp& response) {
    const auto found = first_of(response);
    return found ? parse_marker(found->value()) : std::nullopt;
}

class etcd_store : public lease_store, public std::enable_shared_from_this<etcd_store> {
public:
    etcd_store(net::loop& where, std::shared_ptr<const etcd_settings> settings)
        : settings_{std::move(settings)},
          names_{settings_->common.name_space},
          client_{client::make(where, settings_)},
          renewals_{std::make_shared<lease_stream>(client_)},
          watches_{std::make_shared<watch_board>(client_)},
          leases_{std::make_shared<lease_stock>(client_, renewals_)},
          epochs_{std::make_shared<epochs>(client_, leases_, names_)} {}

    ~etcd_store() override {
        client_->close_from_anywhere();
        renewals_->close_from_anywhere();
        watches_->close_from_anywhere();
    }

    store_traits traits() const noexcept override {
        return {.strict_fencing = true,
                .notifies = true,
                .atomic_batch = false,
                .ttl_min = std::chrono::seconds{1},
                .ttl_step = std::chrono::seconds{1}};
    }

    async<verdict> acquire(claim wanted) override { return quietly(do_acquire(std::move(wanted))); }
    async<bool> withdraw(std::string key, std::string id) override {
        return quietly(do_withdraw(std::move(key), std::move(id)));
    }
    async<std::vector<renewal>> renew(std::span<const held> leases) override {
        return quietly(do_renew(leases));
    }
    async<bool> release(std::string key, fence_token token, farewell how) override {
        return quietly(do_release(std::move(key), token, how));
    }
    async<bool> evict(std::string key, fence_token token, millis delay) override {
        return quietly(do_evict(std::move(key), token, delay));
    }
    async<std::optional<record>> inspect(std::string key) override {
        return quietly(do_inspect(std::move(key)));
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return quietly(do_list(std::move(prefix), std::move(after), limit));
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        return quietly(do_wait(std::move(key), seen));
    }
    async<fence_verdict> fence(std::string resource, fence_token token, fence_rule rule) override {
        return quietly(do_fence(std::move(resource), token, rule));
    }
    async<examination> examine() override { return quietly(do_examine()); }

private:
    // A verb never throws, but awaiting anything in a cancelled coroutine does, unless told not to.
    template <class T>
    static async<T> quietly(async<T> verb) {
        const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
        co_await boost::asio::this_coro::throw_if_cancelled(false);
        auto answer = co_await std::move(verb);
        co_await boost::asio::this_coro::throw_if_cancelled(throws);
        co_return answer;
    }

    async<verdict> do_acquire(claim wanted);
    async<bool> do_withdraw(std::string key, std::string id);
    async<std::vector<renewal>> do_renew(std::span<const held> leases);
    async<bool> do_release(std::string key, fence_token token, farewell how);
    async<bool> do_evict(std::string key, fence_token token, millis delay);
    async<std::optional<record>> do_inspect(std::string key);
    async<page> do_list(std::string prefix, std::string after, std::size_t limit);
    async<void> do_wait(std::string key, fence_token seen);
    async<fence_verdict> do_fence(std::string resource, fence_token token, fence_rule rule);
    async<examination> do_examine();

    // An answer, or nothing when all is to be looked at again.
    template <class T>
    using again_or = std::optional<T>;
    struct attempt;

    async<again_or<verdict>> try_acquire(attempt& now);
    async<again_or<verdict>> refuse_by_time(const attempt& now);
    async<again_or<verdict>> explain(attempt& now, const wire::TxnResponse& got);
    async<again_or<verdict>> repeat(attempt& now, const wire::KeyValue& lock);
    async<again_or<verdict>> granted(attempt& now, const wire::TxnResponse& got);

    async<wire::TxnResponse> run(const transaction& what, effect may, instant deadline);
    async<snapshot> look(const std::string& key, instant deadline);
    async<millis> remaining(std::int64_t lease, instant deadline);
    async<bool> extend(const std::string& key, const wire::KeyValue& lock, millis ttl, bool bounded,
                       instant deadline);
    async<bool> move_lease(const std::string& key, const wire::KeyValue& lock, millis ttl,
                           instant deadline);
    async<millis> held_for(const std::string& key, fence_token token, std::int64_t acquired,
                           instant deadline);

    async<again_or<bool>> end_own(const std::string& key, fence_token token, const farewell& how,
                                  instant deadline);
    async<again_or<bool>> end_any(const std::string& key, fence_token token, const farewell& how,
                                  instant deadline);
    async<again_or<bool>> end_lapsed(const std::string& key, fence_token token, const farewell& how,
                                     const snapshot& seen, instant deadline);
    async<again_or<bool>> try_evict(const std::string& key, fence_token token, millis delay,
                                    instant deadline);
    async<std::int64_t> pause_lease(const farewell& how, millis elapsed, std::int64_t own,
                                    instant deadline);

    struct due;
    struct looks;
    async<void> look_at_due(std::span<const held> leases, std::vector<due>& all, instant deadline);
    static async<void> look_at_batch(std::shared_ptr<etcd_store> self, std::shared_ptr<looks> todo,
                                     std::size_t batch);
    async<renewal> renew_slowly(const held& lease, const due& seen, instant deadline);
    async<renewal> carry_on(const held& lease, const due& seen, millis ttl, instant deadline);

    // The key of etcd whose end a waiter waits for; none when it has ended already.
    std::optional<std::string> held_at(const snapshot& seen, const std::string& key,
                                       fence_token holder) const;
    result<record> describe(std::string key, const snapshot& seen) const;
    struct lasting;
    async<void> add_remaining(std::vector<record>& shown, std::vector<std::int64_t> leases,
                              instant deadline);
    static async<void> ask_remaining(std::shared_ptr<etcd_store> self,
                                     std::shared_ptr<lasting> todo, std::size_t index);
    const holding* own(const std::string& key, fence_token token) const;
    void remember(const std::string& key, holding what);
    failure unreadable(const std::string& key) const {
        return {errc::rejected, client_->present_place() + ": " + base::printable(key) +
                                    " is not pawl's: another program uses this name, choose "
                                    "namespace="};
    }
    failure contended() const {
        return {errc::unreachable, client_->present_place() + ": the key changes too often"};
    }
    static boost::asio::awaitable<bool> is_cancelled() {
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        co_return state.cancelled() != boost::asio::cancellation_type::none;
    }

    // Constant after construction
    const std::shared_ptr<const etcd_settings> settings_;
    const key_names names_;
    const std::shared_ptr<client> client_;
    const std::shared_ptr<lease_stream> renewals_;
    const std::shared_ptr<watch_board> watches_;
    const std::shared_ptr<lease_stock> leases_;
    const std::shared_ptr<epochs> epochs_;

    // On the loop only
    std::unordered_map<std::string, holding> own_;
    std::size_t remembered_ = 0;
    std::int64_t newest_revision_ = 0;
    std::int64_t trusted_since_ = 0;  // the birth whose quarantine is over
    etcd_lease withdrawn_lease_;
    instant withdrawn_until_{};
};

// ---- What the verbs share

async<wire::TxnResponse> etcd_store::run(const transaction& what, effect may, instant deadline) {
    auto got = co_await client_->ask<wire::TxnResponse>(method::txn, what.request(), may, deadline);
    if (got.has_value()) {
        newest_revision_ = std::max(newest_revision_, got->header().revision());
    } else if (is_lease_missing(got.error())) {
        // The cluster has forgotten a lease that we counted on; what else it forgot is to be seen.
        leases_->forget();
        epochs_->forget();
        withdrawn_until_ = {};
    }
    co_return got;
}

async<snapshot> etcd_store::look(const std::string& key, instant deadline) {
    transaction all;
    all.get(names_.marker).get(names_.lock + key).get(names_.pause + key);
    all.get(names_.record + key).get(names_.done + key);
    const auto got = co_await run(all, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (got->responses_size() != 5) co_return unreadable(key);
    snapshot seen;
    seen.revision = got->header().revision();
    seen.marker = marker_of(got->responses(0));
    seen.lock = first_of(got->responses(1));
    seen.pause = first_of(got->responses(2));
    seen.record = first_of(got->responses(3));
    seen.done = first_of(got->responses(4));
    co_return seen;
}

// What is left of an etcd lease, in the whole seconds that etcd tells.
async<millis> etcd_store::remaining(std::int64_t lease, instant deadline) {
    wire::LeaseTimeToLiveRequest request;
    request.set_id(lease);
    const auto got = co_await client_->ask<wire::LeaseTimeToLiveResponse>(
        method::lease_time_to_live, request, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (got->ttl() <= 0) co_return expiry_lag;
    co_return std::chrono::seconds{got->ttl()};
}

const holding* etcd_store::own(const std::string& key, fence_token token) const {
    const auto found = own_.find(key);
    return found != own_.end() && found->second.token == token ? &found->second : nullptr;
}

// Those that ran out unnoticed are swept out now and then.
void etcd_store::remember(const std::string& key, holding what) {
    if (++remembered_ % sweep_every == 0) {
        const auto now = lease_clock::now();
        std::erase_if(own_, [&](const auto& each) {
            const auto& lease = each.second.lease;
            return lease.surely_until() + std::chrono::seconds{lease.seconds} < now;
        });
    }
    own_.insert_or_assign(key, std::move(what));
}

// ---- Acquiring

// One claim while it goes on. In the frame of acquire().
struct etcd_store::attempt {
    explicit attempt(claim what) : wanted{std::move(what)} {}
    claim wanted;
    instant begun = lease_clock::now();
    instant deadline{};
    epoch in;
    etcd_lease lease;
    done_guess guess = done_guess::exists;
    std::int64_t acquired = 0;
    std::int64_t newest_before = 0;
};

async<verdict> etcd_store::do_acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto refused = rules::refuse_long_ttl(settings_->common.quarantine, wanted.ttl))
        co_return std::move(*refused);
    attempt now{std::move(wanted)};
    now.deadline = client_->deadline();
    for (int round = 0; round < rounds_max; ++round) {
        const auto answer = co_await try_acquire(now);
        if (answer.has_error()) {
            if (is_lease_missing(answer.error())) continue;
            co_return answer.error();
        }
        if (answer->has_value()) co_return **answer;
        const auto cancelled = co_await is_cancelled();
        if (cancelled || lease_clock::now() >= now.deadline) break;
    }
    co_return contended();
}

async<etcd_store::again_or<verdict>> etcd_store::try_acquire(attempt& now) {
    const auto in = co_await epochs_->current(now.deadline);
    if (in.has_error()) co_return in.error();
    now.in = *in;
    if (now.wanted.firing || settings_->common.quarantine) {
        auto refused = co_await refuse_by_time(now);
        if (refused.has_error() || refused->has_value()) co_return refused;
    }
    const auto lease = co_await leases_->take(now.wanted.ttl, now.begun, now.deadline);
    if (lease.has_error()) co_return lease.error();
    now.lease = *lease;
    const auto& clock = client_->facts().clock;
    now.acquired = std::chrono::floor<millis>(clock.likely(lease_clock::now())).count();
    now.newest_before = newest_revision_;
    const auto asked =
        acquire_transaction(names_, now.wanted, now.in, now.lease.id, now.acquired, now.guess);
    const auto got = co_await run(asked, effect::possible, now.deadline);
    if (got.has_error()) co_return got.error();
    if (got->succeeded()) co_return co_await granted(now, *got);
    leases_->give_back(now.lease);
    co_return co_await explain(now, *got);
}

// Rules 6 and 7, as far as they depend on the time of day.
async<etcd_store::again_or<verdict>> etcd_store::refuse_by_time(const attempt& now) {
    const auto& common = settings_->common;
    const bool young = common.quarantine && trusted_since_ != now.in.marker.born;
    if (!young && !now.wanted.firing) co_return std::nullopt;
    const auto clock = co_await client_->clock(now.deadline);
    if (clock.has_error()) co_return clock.error();
    const auto at = lease_clock::now();
    const micros born{now.in.marker.born};
    if (young) {
        const auto left = std::chrono::ceil<millis>(born + *common.quarantine +
                                                    2 * reading_width_max - clock->earliest(at));
        if (left.count() > 0)
            co_return verdict{busy{
                fence_token{}, {}, std::min(left, *common.quarantine), busy_reason::quarantined}};
        trusted_since_ = now.in.marker.born;
    }
    if (!now.wanted.firing) co_return std::nullopt;
    const auto due = number(*now.wanted.firing);
    // Early grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
    const auto granted_to =
        (std::chrono::ceil<millis>(born + 2 * reading_width_max) + common.max_skew).count();
    if (common.quarantine && due < granted_to)
        co_return verdict{already_done{occurrence{granted_to}}};
    const auto ahead =
        std::chrono::ceil<millis>(micros{millis{due}} - clock->latest(at)) - common.max_skew;
    if (ahead.count() > 0) co_return verdict{busy{fence_token{}, {}, ahead, busy_reason::early}};
    co_return std::nullopt;
}

async<etcd_store::again_or<verdict>> etcd_store::granted(attempt& now,
                                                         const wire::TxnResponse& got) {
    const auto revision = got.header().revision();
    const bool same = got.header().cluster_id() == now.in.marker.cluster;
    if (!same || revision <= now.newest_before) {
        // A backup was put in its place: what was granted since it was made is forgotten.
        newest_revision_ = revision;
        leases_->revoke(now.lease.id);
        leases_->forget();
        const auto begun = co_await epochs_->begin_anew(now.in, now.deadline);
        if (begun.has_error()) co_return failure{errc::outcome_unknown, begun.error().detail};
        co_return std::nullopt;
    }
    holding mine;
    mine.token = now.in.token_at(revision);
    mine.created = revision;
    mine.lease = now.lease;
    mine.granted = lease_clock::now();
    mine.id = encode_id(now.wanted.id);
    mine.acquired = now.acquired;
    mine.owner = now.wanted.owner;
    if (now.wanted.mode == delivery::at_most_once) mine.done = now.wanted.firing;
    grant won{now.wanted.key, mine.token, now.wanted.ttl};
    remember(now.wanted.key, std::move(mine));
    co_return verdict{std::move(won)};
}

// Why a claim was not granted, from what its transaction read instead.
async<etcd_store::again_or<verdict>> etcd_store::explain(attempt& now,
                                                         const wire::TxnResponse& got) {
    const auto key = now.wanted.key;
    if (got.responses_size() != 5) co_return unreadable(key);
    const auto lock = first_of(got.responses(0)), pause = first_of(got.responses(1)),
               withdrawn = first_of(got.responses(2)), done = first_of(got.responses(3)),
               marker = first_of(got.responses(4));
    if (!marker || marker->mod_revision() != now.in.marker_revision) {
        epochs_->forget();
        co_return std::nullopt;
    }
    if (lock) {
        const auto text = parse_lock(lock->value());
        if (!text) co_return unreadable(names_.lock + key);
        if (!withdrawn && text->id == encode_id(now.wanted.id))
            co_return co_await repeat(now, *lock);
        const auto left = co_await remaining(lock->lease(), now.deadline);
        if (left.has_error()) co_return left.error();
        const auto token =
            number(text->token) != 0 ? text->token : now.in.token_at(lock->create_revision());
        co_return verdict{busy{token, text->owner, *left, busy_reason::held}};
    }
    if (pause) {
        const auto left = co_await remaining(pause->lease(), now.deadline);
        if (left.has_error()) co_return left.error();
        co_return verdict{busy{fence_token{}, {}, *left, busy_reason::lingering}};
    }
    // Rule 2: a claim that was withdrawn is dead, however late it arrives.
    if (withdrawn) co_return verdict{busy{fence_token{}, {}, millis{1}, busy_reason::held}};
    if (now.wanted.firing && done) {
        const auto last = parse_done(done->value());
        if (!last) co_return unreadable(names_.done + key);
        if (number(*last) >= number(*now.wanted.firing)) co_return verdict{already_done{*last}};
    }
    now.guess = done ? done_guess::exists : done_guess::missing;
    co_return std::nullopt;
}

// Rule 2: the same grant again, and its end moves forward.
async<etcd_store::again_or<verdict>> etcd_store::repeat(attempt& now, const wire::KeyValue& lock) {
    const auto text = parse_lock(lock.value());
    const auto token =
        number(text->token) != 0 ? text->token : now.in.token_at(lock.create_revision());
    if (own(now.wanted.key, token) == nullptr) {
        holding mine;
        mine.token = token;
        mine.created = lock.create_revision();
        mine.lease = {lock.lease(), 0, now.begun};
        const auto elapsed = co_await held_for(now.wanted.key, token, text->acquired, now.deadline);
        if (elapsed.has_error()) co_return elapsed.error();
        mine.granted = lease_clock::now() - *elapsed;
        mine.id = text->id;
        mine.acquired = text->acquired;
        mine.owner = text->owner;
        remember(now.wanted.key, std::move(mine));
    }
    const auto extended =
        co_await extend(now.wanted.key, lock, now.wanted.ttl, false, now.deadline);
    if (extended.has_error()) co_return extended.error();
    if (!*extended) co_return std::nullopt;
    co_return verdict{grant{now.wanted.key, token, now.wanted.ttl}};
}

// How long a key has been held: by our own clock where we were there, else by that of a node.
async<millis> etcd_store::held_for(const std::string& key, fence_token token, std::int64_t acquired,
                                   instant deadline) {
    if (const auto* mine = own(key, token))
        co_return std::chrono::floor<millis>(lease_clock::now() - mine->granted);
    const auto clock = co_await client_->clock(deadline);
    if (clock.has_error()) co_return clock.error();
    const auto now = std::chrono::floor<millis>(clock->likely(lease_clock::now()));
    co_return std::max(now - millis{acquired}, millis{0});
}

// ---- Extending

// False when the lease of the lock is gone, or the lock is another by now. `bounded`: its end may
// not move further than `ttl`.
async<bool> etcd_store::extend(const std::string& key, const wire::KeyValue& lock, millis ttl,
                               bool bounded, instant deadline) {
    const auto wanted = seconds_for(ttl);
    wire::LeaseTimeToLiveRequest request;
    request.set_id(lock.lease());
    const auto left = co_await client_->ask<wire::LeaseTimeToLiveResponse>(
        method::lease_time_to_live, request, effect::none, deadline);
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

async<std::vector<renewal>> etcd_store::do_renew(std::span<const held> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto refused = rules::refuse_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*refused);
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
        if (slow.has_error()) co_return failure{errc::outcome_unknown, slow.error().detail};
        answers.push_back(*slow);
    }
    co_return answers;
}

// The keys of a renewal that are looked at.
struct etcd_store::looks {
    std::vector<std::string> keys;
    std::vector<std::optional<wire::KeyValue>> locks;
    std::optional<marker_text> marker;
    instant deadline{};
};

// That etcd keeps a lease alive says nothing about its key: another may have taken that away.
async<void> etcd_store::look_at_due(std::span<const held> leases, std::vector<due>& all,
                                    instant deadline) {
    const auto todo = std::make_shared<looks>();
    for (const auto& lease : leases) todo->keys.push_back(names_.lock + lease.key);
    todo->locks.resize(leases.size());
    todo->deadline = deadline;
    const auto batches = (leases.size() + look_max - 1) / look_max;
    crew_step step = [self = shared_from_this(), todo](std::size_t batch) {
        return look_at_batch(self, todo, batch);
    };
    const auto looked = co_await do_together(client_->executor(), batches, steps_at_once,
                                             std::move(step), deadline);
    if (looked.has_error()) co_return looked.error();
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].marker = todo->marker;
        all[i].lock = std::move(todo->locks[i]);
    }
    co_return result<void>{};
}

async<void> etcd_store::look_at_batch(std::shared_ptr<etcd_store> self, std::shared_ptr<looks> todo,
                                      std::size_t batch) {
    const auto begin = batch * look_max;
    const auto end = std::min(begin + look_max, todo->keys.size());
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
// in its lifetime, or lapsed.
async<renewal> etcd_store::renew_slowly(const held& lease, const due& seen, instant deadline) {
    if (number(lease.token) == 0 || !seen.marker) co_return renewal::lost;
    snapshot known;
    known.marker = seen.marker;
    const auto text = seen.lock ? parse_lock(seen.lock->value()) : std::nullopt;
    if (seen.lock && !text) co_return unreadable(names_.lock + lease.key);
    if (text && known.token_of(text->token, seen.lock->create_revision()) != lease.token)
        co_return renewal::lost;
    if (!text && lease.if_lapsed != lapse::extend_if_unclaimed) co_return renewal::lost;
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

// Under the same token, if nobody took the key since it lapsed.
async<renewal> etcd_store::carry_on(const held& lease, const due&, millis ttl, instant deadline) {
    const auto seen = co_await look(lease.key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto last = seen->record ? parse_record(seen->record->value()) : std::nullopt;
    if (!last || last->how != record_text::state::granted || seen->lock || seen->pause ||
        seen->token_of(last->token, seen->record->mod_revision()) != lease.token)
        co_return renewal::lost;
    const auto fresh = co_await leases_->grant(seconds_for(ttl), deadline);
    if (fresh.has_error()) co_return fresh.error();
    const auto* mine = own(lease.key, lease.token);
    lock_text again{mine != nullptr ? mine->id : std::string{}, lease.token, last->acquired,
                    last->owner};
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

// ---- Ending

async<bool> etcd_store::do_release(std::string key, fence_token token, farewell how) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto own_answer = co_await end_own(key, token, how, deadline);
    if (own_answer.has_error()) {
        if (!is_lease_missing(own_answer.error())) co_return own_answer.error();
    } else if (own_answer->has_value()) {
        co_return **own_answer;
    }
    for (int round = 0; round < rounds_max && number(token) != 0; ++round) {
        const auto answer = co_await end_any(key, token, how, deadline);
        if (answer.has_error()) {
            if (is_lease_missing(answer.error())) continue;
            co_return answer.error();
        }
        if (answer->has_value()) co_return **answer;
        const auto cancelled = co_await is_cancelled();
        if (cancelled || lease_clock::now() >= deadline) co_return contended();
    }
    if (number(token) == 0) co_return false;
    co_return contended();
}

// The etcd lease that keeps a key which nobody holds any more; 0: it is free at once.
async<std::int64_t> etcd_store::pause_lease(const farewell& how, millis elapsed, std::int64_t own,
                                            instant deadline) {
    if (how.at_least == farewell::until_expiry) co_return own;
    const auto left = how.at_least - elapsed;
    if (left.count() <= 0) co_return 0;
    const auto lease = co_await leases_->grant(seconds_for(left), deadline);
    if (lease.has_error()) co_return lease.error();
    co_return lease->id;
}

// A lease that this store was granted ends by one transaction, without a look at it.
async<etcd_store::again_or<bool>> etcd_store::end_own(const std::string& key, fence_token token,
                                                      const farewell& how, instant deadline) {
    const auto* known = own(key, token);
    if (known == nullptr) co_return std::nullopt;
    const auto mine = *known;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    const auto held = std::chrono::floor<millis>(lease_clock::now() - mine.granted);
    const auto pause = co_await pause_lease(how, held, mine.lease.id, deadline);
    if (pause.has_error()) co_return pause.error();
    ending end{mine.created,
               {record_text::state::ended, token, mine.acquired, mine.owner},
               *pause,
               how.done};
    // What the grant marked as done is kept as long as the record that is written now.
    if (!end.done && held > epochs_->stretch()) end.done = mine.done;
    const auto asked = end_transaction(names_, key, *in, end);
    const auto got = co_await run(asked, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    own_.erase(key);
    if (!got->succeeded()) co_return std::nullopt;
    if (*pause != mine.lease.id) leases_->give_back(mine.lease);
    co_return true;
}

async<etcd_store::again_or<bool>> etcd_store::end_any(const std::string& key, fence_token token,
                                                      const farewell& how, instant deadline) {
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto text = seen->lock ? parse_lock(seen->lock->value()) : std::nullopt;
    if (seen->lock && !text) co_return unreadable(names_.lock + key);
    if (!text || seen->token_of(text->token, seen->lock->create_revision()) != token)
        co_return co_await end_lapsed(key, token, how, *seen, deadline);
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    millis elapsed{0};
    if (how.at_least.count() > 0) {
        const auto held = co_await held_for(key, token, text->acquired, deadline);
        if (held.has_error()) co_return held.error();
        elapsed = *held;
    }
    const auto pause = co_await pause_lease(how, elapsed, seen->lock->lease(), deadline);
    if (pause.has_error()) co_return pause.error();
    const ending end{seen->lock->create_revision(),
                     {record_text::state::ended, token, text->acquired, text->owner},
                     *pause,
                     how.done};
    const auto asked = end_transaction(names_, key, *in, end);
    const auto got = co_await run(asked, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    if (*pause != seen->lock->lease()) leases_->revoke(seen->lock->lease());
    co_return true;
}

// The work is done whether or not the lease outlived it: the token proves who says so.
async<etcd_store::again_or<bool>> etcd_store::end_lapsed(const std::string& key, fence_token token,
                                                         const farewell& how, const snapshot& seen,
                                                         instant deadline) {
    const auto last = seen.record ? parse_record(seen.record->value()) : std::nullopt;
    const auto last_revision = seen.record ? seen.record->mod_revision() : 0;
    if (!how.done || !last || seen.token_of(last->token, last_revision) != token) co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    transaction raise;
    raise.if_changed_at(names_.record + key, last_revision);
    raise.nested(raise_done(names_, key, *in, *how.done));
    const auto got = co_await run(raise, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    co_return false;
}

async<bool> etcd_store::do_evict(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    if (number(token) == 0) co_return false;
    const auto deadline = client_->deadline();
    for (int round = 0; round < rounds_max; ++round) {
        const auto answer = co_await try_evict(key, token, delay, deadline);
        if (answer.has_error()) {
            if (is_lease_missing(answer.error())) continue;
            co_return answer.error();
        }
        if (answer->has_value()) co_return **answer;
        const auto cancelled = co_await is_cancelled();
        if (cancelled || lease_clock::now() >= deadline) break;
    }
    co_return contended();
}

async<etcd_store::again_or<bool>> etcd_store::try_evict(const std::string& key, fence_token token,
                                                        millis delay, instant deadline) {
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto text = seen->lock ? parse_lock(seen->lock->value()) : std::nullopt;
    if (seen->lock && !text) co_return unreadable(names_.lock + key);
    if (!text || seen->token_of(text->token, seen->lock->create_revision()) != token)
        co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    std::int64_t pause = 0;
    if (delay.count() > 0) {
        const auto left = co_await remaining(seen->lock->lease(), deadline);
        if (left.has_error()) co_return left.error();
        const auto lease = co_await leases_->grant(seconds_for(std::min(delay, *left)), deadline);
        if (lease.has_error()) co_return lease.error();
        pause = lease->id;
    }
    // The record's revision, above every token so far, burns the token of the evicted.
    const ending end{seen->lock->create_revision(),
                     {record_text::state::evicted, {}, text->acquired, text->owner},
                     pause,
                     std::nullopt};
    const auto asked = end_transaction(names_, key, *in, end);
    const auto got = co_await run(asked, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    if (const auto* mine = own(key, token); mine != nullptr) own_.erase(key);
    leases_->revoke(seen->lock->lease());
    co_return true;
}

async<bool> etcd_store::do_withdraw(std::string key, std::string id) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    if (lease_clock::now() >= withdrawn_until_) {
        const auto lease = co_await leases_->grant(withdrawn_seconds, deadline);
        if (lease.has_error()) co_return lease.error();
        withdrawn_lease_ = *lease;
        withdrawn_until_ = lease_clock::now() + withdrawn_stretch;
    }
    // From here on it is refused; whether it was granted before is seen in the same step.
    transaction kill;
    kill.put(names_.withdrawn + encode_id(id), key, withdrawn_lease_.id);
    kill.get(names_.lock + key);
    const auto got = co_await run(kill, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    const auto lock = got->responses_size() == 2 ? first_of(got->responses(1)) : std::nullopt;
    const auto text = lock ? parse_lock(lock->value()) : std::nullopt;
    if (!text || text->id != encode_id(id)) co_return false;
    const auto token =
        number(text->token) != 0 ? text->token : in->token_at(lock->create_revision());
    const ending end{lock->create_revision(),
                     {record_text::state::ended, token, text->acquired, text->owner},
                     0,
                     std::nullopt};
    const auto asked = end_transaction(names_, key, *in, end);
    const auto ended = co_await run(asked, effect::possible, deadline);
    if (ended.has_error()) co_return ended.error();
    if (const auto* mine = own(key, token); mine != nullptr) own_.erase(key);
    if (ended->succeeded()) leases_->revoke(lock->lease());
    co_return ended->succeeded();
}

// ---- Looking

// The lease that a key is kept by, 0 for none.
std::int64_t keeper_of(const snapshot& seen) {
    if (seen.lock) return seen.lock->lease();
    return seen.pause ? seen.pause->lease() : 0;
}

// All but what is left of it.
result<record> etcd_store::describe(std::string key, const snapshot& seen) const {
    record shown;
    shown.key = std::move(key);
    if (seen.record) {
        const auto last = parse_record(seen.record->value());
        if (!last) return unreadable(names_.record + shown.key);
        shown.owner = last->owner;
        shown.acquired_at = last->acquired;
        shown.last_token = seen.token_of(last->token, seen.record->mod_revision());
    }
    if (seen.done) shown.last_done = parse_done(seen.done->value());
    if (seen.lock) {
        const auto text = parse_lock(seen.lock->value());
        if (!text) return unreadable(names_.lock + shown.key);
        shown.owner = text->owner;
        shown.acquired_at = text->acquired;
        shown.holder = seen.token_of(text->token, seen.lock->create_revision());
        shown.last_token = std::max(shown.last_token, shown.holder);
    }
    return shown;
}

// What is left of each lease; etcd tells it one by one.
struct etcd_store::lasting {
    std::vector<std::int64_t> leases;
    std::vector<millis> left;
    instant deadline{};
};

async<void> etcd_store::add_remaining(std::vector<record>& shown, std::vector<std::int64_t> leases,
                                      instant deadline) {
    const auto todo = std::make_shared<lasting>();
    todo->left.resize(leases.size());
    todo->leases = std::move(leases);
    todo->deadline = deadline;
    crew_step step = [self = shared_from_this(), todo](std::size_t index) {
        return ask_remaining(self, todo, index);
    };
    const auto asked = co_await do_together(client_->executor(), todo->leases.size(),
                                            4 * steps_at_once, std::move(step), deadline);
    if (asked.has_error()) co_return asked.error();
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i].remaining = todo->left[i];
    co_return result<void>{};
}

async<void> etcd_store::ask_remaining(std::shared_ptr<etcd_store> self,
                                      std::shared_ptr<lasting> todo, std::size_t index) {
    if (todo->leases[index] == 0) co_return result<void>{};
    const auto left = co_await self->remaining(todo->leases[index], todo->deadline);
    if (left.has_error()) co_return left.error();
    todo->left[index] = *left;
    co_return result<void>{};
}

async<std::optional<record>> etcd_store::do_inspect(std::string key) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    if (!seen->lock && !seen->pause && !seen->record && !seen->done)
        co_return std::optional<record>{};
    auto shown = describe(key, *seen);
    if (shown.has_error()) co_return shown.error();
    if (const auto keeper = keeper_of(*seen); keeper != 0) {
        const auto left = co_await remaining(keeper, deadline);
        if (left.has_error()) co_return left.error();
        shown->remaining = *left;
    }
    co_return std::optional<record>{*shown};
}

async<page> etcd_store::do_list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const auto deadline = client_->deadline();
    page found;
    if (after > prefix && !after.starts_with(prefix)) co_return found;
    const auto from = after >= prefix && !after.empty() ? after + '\0' : prefix;
    const std::string* const places[] = {&names_.lock, &names_.pause, &names_.record, &names_.done};
    transaction look;
    look.get(names_.marker);
    for (const auto* place : places)
        look.get_range(*place + from, end_of_prefix(*place + prefix), limit + 1);
    const auto got = co_await run(look, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (got->responses_size() != 5) co_return unreadable(names_.record);
    // Each answer is whole up to its last key, so the first `limit` of them all are.
    std::map<std::string, snapshot> merged;
    std::optional<wire::KeyValue> snapshot::* const parts[] = {&snapshot::lock, &snapshot::pause,
                                                               &snapshot::record, &snapshot::done};
    const auto marker = marker_of(got->responses(0));
    for (int i = 0; i < 4; ++i)
        for (const auto& each : got->responses(i + 1).response_range().kvs()) {
            auto& one = merged[each.key().substr(places[i]->size())];
            one.marker = marker;
            one.*parts[i] = each;
        }
    std::vector<std::int64_t> keepers;
    for (const auto& [key, seen] : merged) {
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            break;
        }
        auto shown = describe(key, seen);
        if (shown.has_error()) co_return shown.error();
        found.records.push_back(std::move(*shown));
        keepers.push_back(keeper_of(seen));
    }
    const auto added = co_await add_remaining(found.records, std::move(keepers), deadline);
    if (added.has_error()) co_return added.error();
    co_return found;
}

// ---- Waiting

std::optional<std::string> etcd_store::held_at(const snapshot& seen, const std::string& key,
                                               fence_token holder) const {
    if (seen.lock) {
        const auto text = parse_lock(seen.lock->value());
        if (!text || seen.token_of(text->token, seen.lock->create_revision()) != holder)
            return std::nullopt;
        return names_.lock + key;
    }
    if (number(holder) == 0 && seen.pause) return names_.pause + key;
    return std::nullopt;
}

async<void> etcd_store::do_wait(std::string key, fence_token holder) {
    const auto self = shared_from_this();
    for (;;) {
        const auto deadline = client_->deadline();
        const auto seen = co_await look(key, deadline);
        auto cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        if (seen.has_error()) co_return seen.error();
        const auto place = held_at(*seen, key, holder);
        if (!place) co_return result<void>{};
        watch mine{watches_, *place, seen->revision + 1};
        const auto placed = co_await mine.placed(deadline);
        if (placed.has_error()) co_return placed.error();
        if (*placed > seen->revision) {
            // Something has changed meanwhile, and it may have been this.
            const auto now = co_await look(key, deadline);
            if (now.has_error()) co_return now.error();
            if (held_at(*now, key, holder) != place) co_return result<void>{};
        }
        cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        const auto ended = co_await mine.deleted();
        cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        if (ended.has_error()) co_return ended.error();
        if (*ended) co_return result<void>{};
    }
}

// ---- The guard

async<fence_verdict> etcd_store::do_fence(std::string resource, fence_token token,
                                          fence_rule rule) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto name = names_.fence + resource;
    const auto value = encode_fence(token);
    bool known = true;
    for (int round = 0; round < rounds_max; ++round) {
        transaction raise;
        if (known)
            raise.if_below(name, value);
        else
            raise.if_created_at(name, 0);
        raise.put(name, value).otherwise_get(name);
        const auto got = co_await run(raise, effect::possible, deadline);
        if (got.has_error()) co_return got.error();
        if (got->succeeded()) co_return fence_verdict{true, token};
        const auto found = got->responses_size() == 1 ? first_of(got->responses(0)) : std::nullopt;
        known = found.has_value();
        if (!known) continue;
        auto newest = parse_fence(found->value()).value_or(fence_token{});
        if (number(newest) == 0) co_return unreadable(name);
        if (number(token) > number(newest)) continue;
        co_return rules::check_fence(newest, token, rule);
    }
    co_return contended();
}

async<examination> etcd_store::do_examine() {
    const auto self = shared_from_this();
    co_return co_await examine_cluster(client_, names_);
}

}  // namespace

std::shared_ptr<lease_store> make_etcd_store(net::loop& where, etcd_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<etcd_store>(where,
                                        std::make_shared<const etcd_settings>(std::move(settings)));
}

}  // namespace pawl::etcd
