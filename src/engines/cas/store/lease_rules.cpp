#include "engines/cas/store/lease_rules.hpp"

#include <algorithm>
#include <variant>

namespace pawl::cas {
namespace {

rules::store_time one_clock(const clock_bounds& now) { return {now.high, now.low}; }

}  // namespace

bool lease_rules::outlived(instant::duration unchanged) const noexcept {
    const instant::duration term = kept.term;
    return unchanged > term + term / drift_part;
}

// What is live by the lower bound is live by the upper one too, which the rules are given.
rules::lease_record lease_rules::on_one_clock(const clock_bounds& now) const {
    auto state = kept.state;
    if (live(now)) state.until = std::max(state.until, now.high + micros{1});
    return state;
}

// Never more than what it was to last: the bounds are for decisions, not for people.
millis lease_rules::remaining(const clock_bounds& now) const noexcept {
    const auto left = std::chrono::ceil<millis>(kept.state.until - now.low);
    return std::clamp(left, millis{0}, kept.term);
}

acquire_result<grant> lease_rules::acquire(const claim& wanted, millis ttl, const clock_bounds& now,
                                           millis max_skew) {
    auto asked = wanted;
    asked.ttl = ttl;
    auto after = on_one_clock(now);
    // An occurrence is early where it is so by both bounds: one that is due now is not.
    const auto width = std::chrono::ceil<millis>(now.high - now.low);
    auto answer = rules::acquire(after, asked, one_clock(now), max_skew + width);
    if (auto* granted = std::get_if<grant>(&answer)) {
        granted->ttl = wanted.ttl;
        kept.term = kept.state.holder == after.holder ? std::max(kept.term, ttl) : ttl;
        kept.state = std::move(after);
    }
    auto* rejected = std::get_if<busy>(&answer);
    if (rejected != nullptr && rejected->reason != busy_reason::early)
        rejected->remaining = std::max(remaining(now), millis{1});
    return answer;
}

rules::end_effect lease_rules::withdraw(const withdrawal& given_up, const clock_bounds& now) {
    auto after = on_one_clock(now);
    const auto effect = rules::withdraw(after, given_up, one_clock(now));
    if (!effect.changed) return effect;
    kept.state = std::move(after);
    end();
    return effect;
}

rules::end_effect lease_rules::release(fence_token token, const release_options& how,
                                       instant::duration age, const clock_bounds& now) {
    auto asked = how;
    if (asked.min_hold != release_options::until_expiry)
        asked.min_hold = std::min(asked.min_hold, term_max);
    auto after = on_one_clock(now);
    const auto effect = rules::release(after, token, asked, one_clock(now));
    if (!effect.changed) return effect;
    const auto before = kept.state.until;
    kept.state = std::move(after);
    if (!effect.was_holder || asked.min_hold == release_options::until_expiry) {
        kept.state.until = before;
        return effect;
    }
    if (age >= asked.min_hold || kept.state.acquired + asked.min_hold <= now.low) end();
    kept.term = asked.min_hold;
    return effect;
}

bool lease_rules::renew(const held_lease& lease, millis ttl, instant::duration age,
                        const clock_bounds& now) {
    // `acquired` is an upper bound: who was granted the lease knows better when its lifetime ends.
    if (lease.max_lifetime.count() > 0 && age >= lease.max_lifetime) return false;
    auto asked = lease;
    asked.ttl = ttl;
    auto after = on_one_clock(now);
    if (!rules::renew(after, asked, one_clock(now))) return false;
    kept.state = std::move(after);
    const auto longest = lease.max_lifetime.count() > 0 ? std::min(ttl, lease.max_lifetime) : ttl;
    kept.term = std::max(kept.term, longest);
    return true;
}

bool lease_rules::force_release(fence_token token, millis delay, const clock_bounds& now) {
    auto after = on_one_clock(now);
    if (!rules::force_release(after, token, delay, one_clock(now))) return false;
    after.until = std::min(after.until, kept.state.until);
    kept.state = std::move(after);
    kept.term = std::min(kept.term, delay);
    if (delay.count() == 0) end();
    return true;
}

record lease_rules::describe(const std::string& key, const clock_bounds& now) const {
    auto seen = rules::describe(key, kept.state, {now.low, now.low});
    seen.remaining = remaining(now);
    return seen;
}

std::string lease_rules::text(std::string nonce, const clock_bounds& now) {
    const auto left = std::chrono::ceil<millis>(kept.state.until - now.low);
    kept.term = std::clamp(left, millis{0}, kept.term);
    if (!live(now)) kept.term = millis{0};
    kept.used = now.high;
    kept.nonce = std::move(nonce);
    return encode(kept);
}

}  // namespace pawl::cas
