// Acquire, and to give a claim up.
#include "engines/cas/store/cas_store.hpp"

#include <algorithm>

namespace pawl::cas {

result<decision<acquire_result<grant>>> cas_store::decide(const claim& wanted, const seen& stands,
                                                          const clock_bounds& now, bool is_trusted,
                                                          std::string nonce) {
    const auto& common = settings_.common;
    const auto& marker = space_->marker();
    const auto reached = is_trusted ? std::max(now.low, *quarantine_end()) : now.low;
    auto rejected = rules::reject_in_quarantine(common.quarantine, {marker.born, marker.born},
                                                wanted, {reached, reached}, common.max_skew);
    if (rejected) {
        if (auto* told = std::get_if<busy>(&*rejected))
            told->remaining = std::min(told->remaining, *common.quarantine);
        return decision<acquire_result<grant>>{std::move(*rejected)};
    }
    auto lease = read_lease(wanted.key, stands);
    if (lease.has_error()) return lease.error();
    auto& state = lease->kept.state;
    if (number(state.last_token) == 0) state.last_token = marker.floor;
    if (lease->live(now) && lease->outlived(records_->unchanged(wanted.key, stands.at)))
        lease->end();
    decision<acquire_result<grant>> made{
        lease->acquire(wanted, rounded(wanted.ttl), now, common.max_skew)};
    made.is_grant = std::holds_alternative<grant>(made.answer);
    if (made.is_grant) made.text = lease->text(std::move(nonce), now);
    return made;
}

std::optional<micros> cas_store::quarantine_end() const {
    const auto& quarantine = settings_.common.quarantine;
    if (!quarantine) return std::nullopt;
    return space_->marker().born + *quarantine;
}

fence_token cas_store::last_token(const seen& stands) const {
    const auto lease = read_lease({}, stands);
    return lease.has_value() ? lease->kept.state.last_token : fence_token{};
}

async<acquire_result<grant>> cas_store::acquire_once(const claim& wanted, instant until) {
    record_name name{record_kind::lease, wanted.key};
    const auto mine = known(wanted.key);
    // A new key starts above the tokens of those that were purged: to be known before a decision.
    // Under a quarantine, so is whether the marker stands, read behind the record.
    decide_step<acquire_result<grant>> step =
        [&](const seen& stands, std::string nonce) -> async<decision<acquire_result<grant>>> {
        const auto token = last_token(stands);
        const bool is_new = !mine || stands.at != mine->at;
        if (mine && is_new && token < last_token(*mine)) space_->doubt();
        const bool is_due = settings_.common.quarantine && (is_new || space_->is_due());
        if (number(token) == 0 || is_due) {
            const auto looked = co_await space_->look(until);
            if (looked.has_error()) co_return looked.error();
        }
        bool is_trusted = false;
        if (const auto end = quarantine_end()) {
            const auto behind = co_await space_->is_behind(*end, until);
            is_trusted = behind.has_value() && *behind && end == quarantine_end();
        }
        co_return decide(wanted, stands, records_->known_clock(), is_trusted, std::move(nonce));
    };
    auto amending = records_->amend(std::move(name), mine, until, std::move(step));
    co_return co_await std::move(amending);
}

async<acquire_result<grant>> cas_store::do_acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto rejected = rules::reject_long_ttl(settings_.common.quarantine, wanted.ttl))
        co_return std::move(*rejected);
    const auto open = co_await space_->ready();
    if (open.has_error()) co_return open.error();
    for (bool again = false;; again = true) {
        const int jumps = records_->clock_jumps();
        auto answer = co_await acquire_once(wanted, *open);
        const bool is_granted = answer.has_value() && std::holds_alternative<grant>(*answer);
        // It was granted once, so what it is rejected for now does not say that nothing was done.
        if (!is_granted && again)
            co_return failure{errc::outcome_unknown,
                              answer.has_error()
                                  ? answer.error().detail
                                  : records_->place() + ": the lease was over when it was granted"};
        if (!is_granted) co_return answer;
        // Granted by a clock that stood still, it may be over: the same claim moves its end. What
        // else was remembered is as old.
        if (records_->clock_jumps() != jumps) {
            space_->doubt();
            continue;
        }
        records_->was_granted(wanted.key);
        purge_now_and_then(wanted.key);
        co_return answer;
    }
}

// The version that a late claim goes by is another afterwards, whether or not it was granted: so
// its record is written anew, with nothing changed, and made where there was none.
async<bool> cas_store::do_withdraw(withdrawal given_up) {
    lease_step step = [given_up](lease_rules& lease, const clock_bounds& now) {
        return rules::end_effect{lease.withdraw(given_up, now).was_holder, true};
    };
    return amend_lease(given_up.key, std::nullopt, std::move(step));
}

}  // namespace pawl::cas
