#include <pawl/spi/rules.hpp>

#include "base/duration.hpp"

#include <algorithm>

namespace pawl::rules {
namespace {

// Rounded up, so that a waiter does not ask a moment too early.
millis remaining(const lease_record& state, const store_time& now) {
    return std::chrono::ceil<millis>(std::max(state.until - now.elapsed, micros{0}));
}

void end_hold(lease_record& state, micros until) {
    state.holder = fence_token{};
    state.claim_id.clear();
    state.until = until;
}

fence_token mint(const lease_record& state, const store_time& now) {
    const auto clock = static_cast<std::uint64_t>(std::max(now.wall, micros{0}).count());
    return fence_token{std::max(number(state.last_token) + 1, clock)};
}

}  // namespace

acquire_result<grant> acquire(lease_record& state, const claim& wanted, const store_time& now,
                              millis max_skew) {
    if (state.live(now)) {
        const bool mine = number(state.holder) != 0 && state.claim_id == wanted.id;
        if (!mine) {
            const auto why = number(state.holder) != 0 ? busy_reason::held : busy_reason::cooldown;
            return busy{state.holder, state.owner, remaining(state, now), why};
        }
        state.until = std::max(state.until, now.elapsed + wanted.ttl);
        return grant{wanted.key, state.holder, wanted.ttl};
    }
    // Rule 2: an answer that was lost is asked for again, and what it marked is its own. Anybody
    // else's grant, and any end but expiry, has replaced the id.
    const bool repeated = number(state.holder) != 0 && state.claim_id == wanted.id &&
                          state.last_done == wanted.occurrence;
    if (wanted.occurrence && !repeated) {
        if (state.last_done && number(*state.last_done) >= number(*wanted.occurrence))
            return already_done{*state.last_done};
        const micros due{millis{number(*wanted.occurrence)}};
        if (due - now.wall > max_skew)
            return busy{fence_token{},
                        {},
                        std::chrono::ceil<millis>(due - now.wall - max_skew),
                        busy_reason::early};
    }
    state.holder = mint(state, now);
    state.last_token = state.holder;
    state.claim_id = wanted.id;
    state.owner = wanted.owner;
    state.acquired = now.elapsed;
    state.acquired_wall = now.wall;
    state.until = now.elapsed + wanted.ttl;
    if (wanted.occurrence && wanted.delivery == delivery::at_most_once)
        state.last_done = wanted.occurrence;
    return grant{wanted.key, state.holder, wanted.ttl};
}

end_effect withdraw(lease_record& state, const withdrawal& given_up, const store_time& now) {
    if (number(state.holder) == 0 || state.claim_id != given_up.id) return {};
    const bool held = state.live(now);
    // Occurrences of a key only move forward, so nothing earlier comes back with it.
    if (given_up.occurrence && state.last_done == given_up.occurrence)
        state.last_done = occurrence{number(*given_up.occurrence) - 1};
    end_hold(state, std::min(state.until, now.elapsed));
    return {held, true};
}

bool renew(lease_record& state, const held_lease& lease, const store_time& now) {
    if (state.holder != lease.token || number(lease.token) == 0) return false;
    if (!state.live(now) && lease.if_expired != expired_renewal::extend_if_unclaimed) return false;
    auto until = now.elapsed + lease.ttl;
    if (lease.max_lifetime.count() > 0)
        until = std::min<micros>(until, state.acquired + lease.max_lifetime);
    if (until <= now.elapsed) return false;
    state.until = std::max(state.until, until);
    return true;
}

bool force_release(lease_record& state, fence_token token, millis delay, const store_time& now) {
    if (!state.live(now) || number(token) == 0) return false;
    const bool cooling = number(state.holder) == 0 && delay.count() == 0;
    if ((cooling ? state.last_token : state.holder) != token) return false;
    // No lease is longer, and no sum overflows.
    end_hold(state, std::min<micros>(state.until, now.elapsed + std::min(delay, ttl_max)));
    state.last_token = fence_token{number(state.last_token) + 1};
    return true;
}

end_effect release(lease_record& state, fence_token token, const release_options& how,
                   const store_time& now) {
    end_effect effect;
    // The work is done whether or not the lease outlived it: the token proves who says so.
    if (how.done && token == state.last_token &&
        (!state.last_done || number(*state.last_done) < number(*how.done))) {
        state.last_done = how.done;
        effect.changed = true;
    }
    if (number(state.holder) == 0 || state.holder != token) return effect;
    effect.changed = true;
    if (!state.live(now)) {
        end_hold(state, state.until);
        return effect;
    }
    const auto until =
        how.min_hold == release_options::until_expiry
            ? state.until
            : std::max<micros>(now.elapsed, state.acquired + std::min(how.min_hold, ttl_max));
    end_hold(state, until);
    effect.was_holder = true;
    return effect;
}

record unreadable(const std::string& key) {
    record shown;
    shown.key = key;
    shown.owner = "(unreadable)";
    return shown;
}

record describe(const std::string& key, const lease_record& state, const store_time& now) {
    record seen;
    seen.key = key;
    seen.owner = state.owner;
    seen.holder = state.live(now) ? state.holder : fence_token{};
    seen.remaining = remaining(state, now);
    seen.acquired_at = std::chrono::floor<millis>(state.acquired_wall).count();
    seen.last_done = state.last_done;
    seen.last_token = state.last_token;
    return seen;
}

token_range issued_tokens(std::optional<millis> quarantine, micros born_wall, micros now_wall,
                          millis max_skew) {
    const auto count = [](micros time) {
        return static_cast<std::uint64_t>(std::max(time, micros{0}).count());
    };
    token_range issued;
    if (quarantine) issued.oldest = fence_token{count(born_wall)};
    issued.newest = fence_token{count(now_wall + max_skew)};
    return issued;
}

fence_result check_fence(fence_token& highest, fence_token token, fence_rule rule,
                         const token_range& issued) {
    if (token > issued.newest) return {false, highest, true};
    if (token < issued.oldest) return {false, std::max(highest, issued.oldest)};
    const bool accepted = rule == fence_rule::reject_older ? number(token) >= number(highest)
                                                           : number(token) > number(highest);
    if (accepted) highest = token;
    return {accepted, highest};
}

millis quarantine_left(std::optional<millis> quarantine, micros born, const store_time& now) {
    if (!quarantine) return millis{0};
    return std::chrono::ceil<millis>(born + *quarantine - now.elapsed);
}

std::optional<acquire_result<grant>> reject_in_quarantine(std::optional<millis> quarantine,
                                                          const store_time& born,
                                                          const claim& wanted,
                                                          const store_time& now, millis max_skew) {
    if (!quarantine) return std::nullopt;
    const auto left = quarantine_left(quarantine, born.elapsed, now);
    if (left.count() > 0) return busy{fence_token{}, {}, left, busy_reason::quarantined};
    // Early grants went up to max_skew ahead of the clock, so forgotten ones may have as well.
    const auto granted_to = (std::chrono::ceil<millis>(born.wall) + max_skew).count();
    if (wanted.occurrence && number(*wanted.occurrence) < granted_to)
        return already_done{occurrence{granted_to}};
    return std::nullopt;
}

std::optional<failure> reject_long_ttl(std::optional<millis> quarantine, millis ttl) {
    if (!quarantine || ttl <= *quarantine) return std::nullopt;
    return failure{errc::rejected, "a TTL of " + base::format_duration(ttl) +
                                       " is longer than the store's quarantine of " +
                                       base::format_duration(*quarantine) +
                                       ": shorten the TTL or lengthen quarantine="};
}

}  // namespace pawl::rules
