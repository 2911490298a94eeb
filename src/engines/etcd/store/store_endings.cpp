#include "engines/etcd/store/etcd_store.hpp"

#include <algorithm>
#include <utility>

namespace pawl::etcd {

async<bool> etcd_store::do_release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto own_answer = co_await end_own(key, token, how, deadline);
    if (own_answer.has_error()) {
        if (!is_lease_missing(own_answer.error())) co_return own_answer.error();
    } else if (own_answer->has_value()) {
        co_return **own_answer;
    }
    if (number(token) == 0) co_return false;
    auto asking = in_rounds<bool>(deadline, [&] { return end_any(key, token, how, deadline); });
    co_return co_await std::move(asking);
}

// The etcd lease that keeps a key which no process holds any more; 0: it is free at once.
async<std::int64_t> etcd_store::pause_lease(const release_options& how, millis elapsed,
                                            std::int64_t own, instant deadline) {
    if (how.min_hold == release_options::until_expiry) co_return own;
    const auto left = how.min_hold - elapsed;
    if (left.count() <= 0) co_return 0;
    const auto lease = co_await leases_->grant(seconds_for(left), deadline);
    if (lease.has_error()) co_return lease.error();
    co_return lease->id;
}

// A lease that this store was granted ends by one transaction, without a look at it.
async<etcd_store::again_or<bool>> etcd_store::end_own(const std::string& key, fence_token token,
                                                      const release_options& how,
                                                      instant deadline) {
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
                                                      const release_options& how,
                                                      instant deadline) {
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto text = seen->lock ? parse_lock(seen->lock->value()) : std::nullopt;
    if (seen->lock && !text) co_return unreadable(names_.lock + key);
    if (!text || seen->token_of(text->token, seen->lock->create_revision()) != token)
        co_return co_await end_lapsed(key, token, how, *seen, deadline);
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    millis elapsed{0};
    if (how.min_hold.count() > 0) {
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

// The work is done whether or not the lease outlived it: the token proves who says so. And the
// claim that was granted this token cannot be repeated any more.
async<etcd_store::again_or<bool>> etcd_store::end_lapsed(const std::string& key, fence_token token,
                                                         const release_options& how,
                                                         const snapshot& seen, instant deadline) {
    const auto last = seen.record ? parse_record(seen.record->value()) : std::nullopt;
    const auto last_revision = seen.record ? seen.record->mod_revision() : 0;
    if (!last || seen.token_of(last->token, last_revision) != token) co_return false;
    const bool ends = last->how == record_text::state::granted;
    if (!ends && !how.done) co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    transaction end;
    end.if_changed_at(names_.record + key, last_revision).if_created_at(names_.lock + key, 0);
    const record_text ended{record_text::state::ended, token, last->acquired, last->owner};
    if (ends) end.put(names_.record + key, encode(ended), in->keep_lease);
    if (how.done) end.nested(raise_done(names_, key, *in, *how.done));
    const auto got = co_await run(end, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    co_return false;
}

async<bool> etcd_store::do_force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    if (number(token) == 0) co_return false;
    const auto deadline = client_->deadline();
    auto asking =
        in_rounds<bool>(deadline, [&] { return try_force_release(key, token, delay, deadline); });
    co_return co_await std::move(asking);
}

async<etcd_store::again_or<bool>> etcd_store::try_force_release(const std::string& key,
                                                                fence_token token, millis delay,
                                                                instant deadline) {
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto text = seen->lock ? parse_lock(seen->lock->value()) : std::nullopt;
    if (seen->lock && !text) co_return unreadable(names_.lock + key);
    if (!text && seen->pause && delay.count() == 0)
        co_return co_await end_pause(key, token, *seen, deadline);
    if (!text || seen->token_of(text->token, seen->lock->create_revision()) != token)
        co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    std::int64_t pause = 0;
    if (delay.count() > 0) {
        const auto left = co_await time_to_live(seen->lock->lease(), deadline);
        if (left.has_error()) co_return left.error();
        // All of it: a renewal that is under way changes no key, so that the transaction could not
        // find it, and etcd may serve it behind whatever is asked here.
        const millis longest = std::chrono::seconds{left->grantedttl()};
        const auto lease = co_await leases_->grant(seconds_for(std::min(delay, longest)), deadline);
        if (lease.has_error()) co_return lease.error();
        pause = lease->id;
    }
    // One above the token of the force-released, which was the highest, burns that.
    const fence_token burnt{number(token) + 1};
    const ending end{seen->lock->create_revision(),
                     {record_text::state::force_released, burnt, text->acquired, text->owner},
                     pause,
                     std::nullopt};
    auto asked = end_transaction(names_, key, *in, end);
    // A renewal with a longer TTL moves the lock to another lease.
    asked.if_attached_to(names_.lock + key, seen->lock->lease());
    const auto got = co_await run(asked, effect::possible, deadline);
    const bool may_be_done =
        got.has_value() ? got->succeeded() : got.error().code == errc::outcome_unknown;
    std::optional<failure> unsure;
    if (got.has_error()) unsure = got.error();
    if (pause != 0 && may_be_done) {
        // It counts from here on: until the transaction a renewal may have found the lock.
        const auto kept = co_await renewals_->keep_alive(pause, deadline);
        if (kept.has_error()) unsure = failure{errc::outcome_unknown, kept.error().detail};
    }
    if (unsure) co_return std::move(*unsure);
    if (!may_be_done) co_return std::nullopt;
    if (const auto* mine = own(key, token); mine != nullptr) own_.erase(key);
    leases_->revoke(seen->lock->lease());
    co_return true;
}

// Rule 5, where no process holds the key any more: its newest token ends the pause.
async<etcd_store::again_or<bool>> etcd_store::end_pause(const std::string& key, fence_token token,
                                                        const snapshot& seen, instant deadline) {
    const auto last = seen.record ? parse_record(seen.record->value()) : std::nullopt;
    if (seen.record && !last) co_return unreadable(names_.record + key);
    if (!last || seen.token_of(last->token, seen.record->mod_revision()) != token) co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    transaction all;
    all.if_created_at(names_.lock + key, 0);
    all.if_changed_at(names_.pause + key, seen.pause->mod_revision());
    all.if_changed_at(names_.record + key, seen.record->mod_revision());
    all.remove(names_.pause + key);
    const fence_token burnt{number(token) + 1};
    const record_text force_released{record_text::state::force_released, burnt, last->acquired,
                                     last->owner};
    all.put(names_.record + key, encode(force_released), in->keep_lease);
    const auto got = co_await run(all, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    leases_->revoke(seen.pause->lease());
    co_return true;
}

async<bool> etcd_store::do_withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    if (lease_clock::now() >= withdrawn_until_) {
        const auto lease = co_await leases_->grant(withdrawn_seconds, deadline);
        if (lease.has_error()) co_return lease.error();
        withdrawn_lease_ = *lease;
        withdrawn_until_ = lease_clock::now() + withdrawn_stretch;
    }
    // From here on it is rejected, however late it arrives.
    transaction kill;
    kill.put(names_.withdrawn + encode_id(given_up.id), given_up.key, withdrawn_lease_.id);
    const auto killed = co_await run(kill, effect::possible, deadline);
    if (killed.has_error()) co_return killed.error();
    auto asking = in_rounds<bool>(deadline, [&] { return take_back(given_up, deadline); });
    co_return co_await std::move(asking);
}

// Rule 2: where the key was last granted to this claim it is freed, and the occurrence that the
// grant marked is to be run yet, in one step.
async<etcd_store::again_or<bool>> etcd_store::take_back(const withdrawal& given_up,
                                                        instant deadline) {
    const auto& key = given_up.key;
    const auto id = encode_id(given_up.id);
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    const auto text = seen->lock ? parse_lock(seen->lock->value()) : std::nullopt;
    if (seen->lock && !text) co_return unreadable(names_.lock + key);
    const auto last = seen->record ? parse_record(seen->record->value()) : std::nullopt;
    const bool held = text && text->id == id;
    const bool expired =
        !seen->lock && last && last->how == record_text::state::granted && last->id == id;
    if (!held && !expired) co_return false;
    const auto in = co_await epochs_->current(deadline);
    if (in.has_error()) co_return in.error();
    const auto at = held ? seen->lock->create_revision() : seen->record->mod_revision();
    const auto token = seen->token_of(held ? text->token : last->token, at);
    transaction back;
    back.if_changed_at(names_.record + key, seen->record ? seen->record->mod_revision() : 0);
    back.if_created_at(names_.lock + key, held ? at : 0);
    if (held) back.remove(names_.lock + key);
    const record_text ended{record_text::state::ended, token,
                            held ? text->acquired : last->acquired,
                            held ? text->owner : last->owner};
    back.put(names_.record + key, encode(ended), in->keep_lease);
    if (given_up.occurrence && seen->done &&
        parse_done(seen->done->value()) == given_up.occurrence) {
        back.if_changed_at(names_.done + key, seen->done->mod_revision());
        // Occurrences of a key only move forward, so nothing earlier comes back with it.
        const occurrence before{number(*given_up.occurrence) - 1};
        back.put(names_.done + key, encode_done(before), in->keep_lease);
    }
    const auto got = co_await run(back, effect::possible, deadline);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded()) co_return std::nullopt;
    if (own(key, token) != nullptr) own_.erase(key);
    if (held) leases_->revoke(seen->lock->lease());
    co_return held;
}

}  // namespace pawl::etcd
