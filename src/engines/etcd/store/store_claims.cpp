#include "engines/etcd/store/etcd_store.hpp"

#include <pawl/spi/rules.hpp>

#include <algorithm>
#include <utility>

namespace pawl::etcd {

// One claim while it goes on. In the frame of acquire().
struct etcd_store::attempt {
    explicit attempt(claim what) : wanted{std::move(what)} {}
    claim wanted;
    instant begun = lease_clock::now();
    instant deadline{};
    store_down unconnected = wanted.on_store_down;
    request_limits limits() const { return {deadline, unconnected}; }
    epoch in;
    etcd_lease lease;
    grant_terms terms;
    fence_token last{};  // the highest of this key, as far as we were told
    std::int64_t newest_before = 0;
};

async<acquire_result<grant>> etcd_store::do_acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, wanted.ttl))
        co_return std::move(*rejected);
    attempt now{std::move(wanted)};
    now.deadline = client_->deadline();
    auto asking = in_rounds<acquire_result<grant>>(now.deadline, [&] { return try_acquire(now); });
    co_return co_await std::move(asking);
}

async<etcd_store::again_or<acquire_result<grant>>> etcd_store::try_acquire(attempt& now) {
    const auto in = co_await epochs_->current(now.limits());
    if (in.has_error()) co_return in.error();
    now.in = *in;
    if (settings_->common.quarantine && micros{now.in.marker.proved} < trusted_from(now.in.marker))
        co_return co_await wait_out_quarantine(now);
    if (now.wanted.occurrence) {
        auto rejected = co_await reject_by_time(now);
        if (rejected.has_error() || rejected->has_value()) co_return rejected;
    }
    const auto lease = co_await leases_->take(now.wanted.ttl, now.begun, now.limits());
    if (lease.has_error()) co_return lease.error();
    now.lease = *lease;
    const auto& clock = client_->facts().clock;
    now.terms.lease = now.lease.id;
    now.terms.acquired = std::chrono::floor<millis>(clock.likely(lease_clock::now())).count();
    now.terms.token = mint(now);
    now.newest_before = newest_revision_;
    const auto asked = acquire_transaction(names_, now.wanted, now.in, now.terms);
    const auto got = co_await run(asked, effect::possible, now.limits());
    if (got.has_error()) co_return got.error();
    if (got->succeeded()) co_return co_await granted(now, *got);
    leases_->give_back(now.lease);
    co_return co_await explain(now, *got);
}

// Rule 1. The transaction that grants it demands that the token is above the record's.
fence_token etcd_store::mint(const attempt& now) const {
    const auto clock = client_->facts().clock.likely(lease_clock::now());
    const auto floor = std::max(now.last, *now.in.marker.floor);
    return fence_token{std::max(number(floor) + 1,
                                static_cast<std::uint64_t>(std::max(clock, micros{0}).count()))};
}

// When a clock that has come so far says that the quarantine is over, however it was read.
micros etcd_store::trusted_from(const marker_text& marker) const {
    return micros{marker.born} + *settings_->common.quarantine + 2 * reading_width_max;
}

// Rule 7. That it is over is recorded, or the next process, whose reading of the clock is
// another, would begin to doubt it again.
async<etcd_store::again_or<acquire_result<grant>>> etcd_store::wait_out_quarantine(
    const attempt& now) {
    const auto clock = co_await client_->clock(now.limits());
    if (clock.has_error()) co_return clock.error();
    const auto earliest = clock->earliest(lease_clock::now());
    const auto left = std::chrono::ceil<millis>(trusted_from(now.in.marker) - earliest);
    if (left.count() > 0)
        co_return acquire_result<grant>{busy{fence_token{},
                                             {},
                                             std::min(left, *settings_->common.quarantine),
                                             busy_reason::quarantined}};
    const auto proved = co_await epochs_->prove(now.in, earliest, now.deadline);
    if (proved.has_error()) co_return proved.error();
    co_return std::nullopt;
}

// Rules 6 and 7, as far as an occurrence depends on the time of day.
async<etcd_store::again_or<acquire_result<grant>>> etcd_store::reject_by_time(const attempt& now) {
    const auto& common = settings_->common;
    const auto clock = co_await client_->clock(now.limits());
    if (clock.has_error()) co_return clock.error();
    const auto due = number(*now.wanted.occurrence);
    // Early grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
    const micros born{now.in.marker.born};
    const auto granted_to =
        (std::chrono::ceil<millis>(born + 2 * reading_width_max) + common.max_skew).count();
    if (common.quarantine && due < granted_to)
        co_return acquire_result<grant>{already_done{occurrence{granted_to}}};
    const auto latest = clock->latest(lease_clock::now());
    const auto ahead = std::chrono::ceil<millis>(micros{millis{due}} - latest) - common.max_skew;
    if (ahead.count() > 0)
        co_return acquire_result<grant>{busy{fence_token{}, {}, ahead, busy_reason::early}};
    co_return std::nullopt;
}

async<etcd_store::again_or<acquire_result<grant>>> etcd_store::granted(
    attempt& now, const wire::TxnResponse& got) {
    const auto revision = got.header().revision();
    const bool same = got.header().cluster_id() == now.in.marker.cluster;
    if (!same || revision <= now.newest_before) {
        // A backup was put in its place: what was granted since it was made is forgotten.
        newest_revision_ = revision;
        leases_->revoke(now.lease.id);
        leases_->forget();
        now.terms.record = any_record;
        now.last = {};
        const auto begun = co_await epochs_->begin_anew(now.in, newest_token_, now.deadline);
        if (begun.has_error()) co_return failure{errc::outcome_unknown, begun.error().detail};
        co_return std::nullopt;
    }
    granted_lease mine;
    mine.token = now.terms.token;
    mine.created = revision;
    mine.lease = now.lease;
    mine.granted = lease_clock::now();
    mine.id = encode_id(now.wanted.id);
    mine.acquired = now.terms.acquired;
    mine.owner = now.wanted.owner;
    if (now.wanted.delivery == delivery::at_most_once) mine.done = now.wanted.occurrence;
    newest_token_ = std::max(newest_token_, mine.token);
    grant won{now.wanted.key, mine.token, now.wanted.ttl};
    remember(now.wanted.key, std::move(mine));
    co_return acquire_result<grant>{std::move(won)};
}

// Why a claim was not granted, from what its transaction read instead.
async<etcd_store::again_or<acquire_result<grant>>> etcd_store::explain(
    attempt& now, const wire::TxnResponse& got) {
    const auto key = now.wanted.key;
    if (got.responses_size() != 6) co_return unreadable(key);
    const auto lock = first_of(got.responses(0)), pause = first_of(got.responses(1)),
               withdrawn = first_of(got.responses(2)), done = first_of(got.responses(3)),
               record = first_of(got.responses(4)), marker = first_of(got.responses(5));
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
        const auto token = now.in.marker.token_of(text->token, lock->create_revision());
        co_return acquire_result<grant>{busy{token, text->owner, *left, busy_reason::held}};
    }
    if (pause) {
        const auto left = co_await remaining(pause->lease(), now.deadline);
        if (left.has_error()) co_return left.error();
        co_return acquire_result<grant>{busy{fence_token{}, {}, *left, busy_reason::cooldown}};
    }
    // Rule 2: a claim that was withdrawn is dead, however late it arrives.
    if (withdrawn)
        co_return acquire_result<grant>{busy{fence_token{}, {}, millis{1}, busy_reason::held}};
    now.terms.record = record ? any_record : 0;
    bool repeated = false;
    if (record) {
        const auto last = parse_record(record->value());
        if (!last) co_return unreadable(names_.record + key);
        now.last = now.in.marker.token_of(last->token, record->mod_revision());
        repeated = last->how == record_text::state::granted && last->id == encode_id(now.wanted.id);
    }
    now.terms.guess = done ? done_guess::exists : done_guess::missing;
    if (now.wanted.occurrence && done) {
        const auto last = parse_done(done->value());
        if (!last) co_return unreadable(names_.done + key);
        // Rule 2: an answer that was lost is asked for again, and what it marked is its own.
        if (repeated && *last == *now.wanted.occurrence) {
            now.terms.guess = done_guess::own;
            now.terms.record = record->mod_revision();
        } else if (number(*last) >= number(*now.wanted.occurrence)) {
            co_return acquire_result<grant>{already_done{*last}};
        }
    }
    co_return std::nullopt;
}

// Rule 2: the same grant again, and its end moves forward.
async<etcd_store::again_or<acquire_result<grant>>> etcd_store::repeat(attempt& now,
                                                                      const wire::KeyValue& lock) {
    const auto text = parse_lock(lock.value());
    const auto token = now.in.marker.token_of(text->token, lock.create_revision());
    if (own(now.wanted.key, token) == nullptr) {
        granted_lease mine;
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
    co_return acquire_result<grant>{grant{now.wanted.key, token, now.wanted.ttl}};
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

}  // namespace pawl::etcd
