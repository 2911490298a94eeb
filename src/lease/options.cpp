#include <pawl/options.hpp>

#include "base/duration.hpp"
#include "base/scaled.hpp"
#include "lease/renewal_timing.hpp"

#include <algorithm>
#include <cmath>

namespace pawl {
namespace {

using base::format_duration;

std::string number_text(double value) {
    auto text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text += '0';
    return text;
}

// What is longer than any program runs; clocks count nanoseconds, of which 64 bits hold 292 years.
constexpr millis duration_max = std::chrono::hours{24 * 3650};

std::optional<std::string> range_fault(const char* name, millis value) {
    if (value.count() >= 0 && value <= duration_max) return std::nullopt;
    return std::string{name} + " " + format_duration(value) +
           (value.count() < 0 ? " is negative; expected 0 or more"
                              : " is too long: at most " + format_duration(duration_max));
}

// An enumerator that a cast made, which no engine expects.
template <class Choice>
std::optional<std::string> choice_fault(const char* name, Choice value, Choice last) {
    if (value >= Choice{} && value <= last) return std::nullopt;
    return std::string{name} + " " + std::to_string(static_cast<int>(value)) +
           " is not an enumerator; expected one of <pawl/options.hpp> or <pawl/types.hpp>";
}

// First: what is computed of them must not overflow.
std::optional<std::string> ranges_fault(const lease_options& o) {
    if (auto bad = range_fault("max_lifetime", o.max_lifetime)) return bad;
    if (auto bad = range_fault("grace", o.grace)) return bad;
    return range_fault("acquire_jitter", o.acquire_jitter);
}

std::optional<std::string> choices_fault(const lease_options& o) {
    if (auto bad = choice_fault("delivery", o.delivery, delivery::off)) return bad;
    if (auto bad = choice_fault("renew", o.renew, renewal_mode::manual)) return bad;
    if (auto bad = choice_fault("if_expired", o.if_expired, expired_renewal::extend_if_unclaimed))
        return bad;
    if (auto bad = choice_fault("reentrancy", o.reentrancy, reentrancy::instance)) return bad;
    if (auto bad = choice_fault("fencing", o.fencing, fencing::required)) return bad;
    return choice_fault("on_store_down", o.on_store_down, store_down::retry);
}

std::optional<std::string> ttl_fault(const lease_options& o, const store_traits& traits) {
    if (o.ttl.count() == 0)
        return "ttl is missing: say how long the lease may live without a heartbeat, such as 30s";
    if (o.ttl < millis{1} || o.ttl < traits.ttl_min)
        return "ttl " + format_duration(o.ttl) + " is too short: this store takes " +
               format_duration(std::max(traits.ttl_min, millis{1})) + " or more";
    if (o.ttl > ttl_max)
        return "ttl " + format_duration(o.ttl) + " is too long: at most " +
               format_duration(ttl_max);
    if (traits.ttl_step.count() > 1 && o.ttl.count() % traits.ttl_step.count() != 0)
        return "ttl " + format_duration(o.ttl) + " is not a multiple of " +
               format_duration(traits.ttl_step) + ", which is this store's step";
    return std::nullopt;
}

// Before anything is computed of them.
std::optional<std::string> fractions_fault(const lease_options& o) {
    if (o.renew == renewal_mode::manual) return std::nullopt;
    if (!(o.renew_fraction > 0.0 && o.renew_fraction < 1.0))
        return "renew_fraction " + number_text(o.renew_fraction) +
               " would renew at or after the expiry; expected a fraction of the "
               "ttl between 0 and 1, such as 0.3";
    if (!(o.renew_jitter >= 0.0 && o.renew_jitter <= 0.5))
        return "renew_jitter " + number_text(o.renew_jitter) + " is not between 0 and 0.5";
    return std::nullopt;
}

std::optional<std::string> renewal_fault(const lease_options& o) {
    if (o.renew == renewal_mode::manual) return std::nullopt;
    if (o.renew_fraction >= 1.0 / 3 && o.retry_period.count() == 0)
        return "renew_fraction " + number_text(o.renew_fraction) +
               " leaves no third attempt before the expiry: stay below 1/3, or set retry_period";
    if (o.retry_period.count() < 0 || o.retry_period >= o.ttl)
        return "retry_period " + format_duration(o.retry_period) + " is not below the ttl of " +
               format_duration(o.ttl);
    const auto how = leasing::renewal_timing_of(o);
    const auto last = base::scaled(how.renew_after, 1.0 + o.renew_jitter);
    if (last >= how.trust)
        return "renew_fraction " + number_text(o.renew_fraction) + " renews a ttl of " +
               format_duration(o.ttl) + " only after it stops being valid: lower it, or the margin";
    // Of a few milliseconds the margin takes most, whenever the lease is renewed.
    if (o.renew_fraction >= 1.0 / 3 && last >= how.trust - how.stop_margin)
        return "renew_fraction " + number_text(o.renew_fraction) + " renews a ttl of " +
               format_duration(o.ttl) + " only after its holder was stopped, with a grace of " +
               format_duration(o.grace) + ": lower it, or the grace";
    if (o.max_renew_failures < 1)
        return "max_renew_failures " + std::to_string(o.max_renew_failures) +
               " is too low; expected 1 or more";
    return std::nullopt;
}

std::optional<std::string> ending_fault(const lease_options& o) {
    if (o.min_hold.count() < 0 || o.min_hold > ttl_max)
        return "min_hold " + format_duration(o.min_hold) + " is not between 0 and " +
               format_duration(ttl_max);
    if (o.hold_until_expiry && o.min_hold > o.ttl)
        return "min_hold " + format_duration(o.min_hold) + " is longer than the ttl of " +
               format_duration(o.ttl) +
               ", but with hold_until_expiry the lease ends when its ttl does: raise the ttl, or "
               "drop hold_until_expiry";
    if (o.max_lifetime.count() > 0 && o.max_lifetime < o.ttl)
        return "max_lifetime " + format_duration(o.max_lifetime) + " is shorter than the ttl of " +
               format_duration(o.ttl) + ": a lease lives for its ttl at least";
    return std::nullopt;
}

std::optional<std::string> trust_fault(const lease_options& o) {
    if (!(o.drift >= 0.0 && o.drift <= 0.1))
        return "drift " + number_text(o.drift) +
               " is not between 0 and 0.1: 0.001 allows 1 ms in a second";
    if (o.margin.count() < 0 || o.margin >= o.ttl)
        return "margin " + format_duration(o.margin) + " is not below the ttl of " +
               format_duration(o.ttl);
    const auto how = leasing::renewal_timing_of(o);
    if (how.trust.count() <= 0)
        return "ttl " + format_duration(o.ttl) +
               " leaves no time in which the lease is valid: its margin is 5ms at least";
    if (how.trust <= how.stop_margin)
        return "ttl " + format_duration(o.ttl) +
               " leaves no time before its holder is told to stop, with a grace of " +
               format_duration(o.grace) + " (at most a third of the ttl) before the margin: " +
               "raise the ttl, or lower the margin or the grace";
    return std::nullopt;
}

std::optional<std::string> safety_fault(const lease_options& o, const store_traits& traits,
                                        safety_class safety) {
    const bool strict = safety == safety_class::correctness || o.fencing == fencing::required;
    if (strict && !traits.strict_fencing)
        return "tokens of this store may fall after a loss of its data, and fencing is required: "
               "set quarantine=DUR in the store's URL (sqlite: drop synchronous=normal), or take a "
               "store with strict fencing";
    if (safety == safety_class::correctness && o.if_expired == expired_renewal::extend_if_unclaimed)
        return "if_expired = extend_if_unclaimed continues an expired lease, which "
               "safety=correctness rejects; expected lose";
    if (o.occurrence && o.delivery == delivery::off)
        return "delivery off remembers no occurrence: leave the occurrence out, or take "
               "at_most_once";
    if (o.occurrence && (number(*o.occurrence) < 0 || *o.occurrence > occurrence_max))
        return "occurrence " + std::to_string(number(*o.occurrence)) +
               " lies outside the years 1970 to 9999: give Unix milliseconds";
    if (o.occurrence && o.reentrancy == reentrancy::instance)
        return "reentrancy::instance shares a lease that was claimed for another occurrence, or "
               "for "
               "none: leave one of the two out";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> validate(const lease_options& options, const store_traits& traits,
                                    safety_class safety) {
    if (auto bad = choices_fault(options)) return bad;
    if (auto bad = ranges_fault(options)) return bad;
    if (auto bad = ttl_fault(options, traits)) return bad;
    if (auto bad = fractions_fault(options)) return bad;
    if (auto bad = trust_fault(options)) return bad;
    if (auto bad = renewal_fault(options)) return bad;
    if (auto bad = ending_fault(options)) return bad;
    return safety_fault(options, traits, safety);
}

namespace leasing {

renewal_timing renewal_timing_of(const lease_options& options) {
    renewal_timing how;
    how.ttl = options.ttl;
    const nanos margin = options.margin.count() > 0 ? nanos{options.margin}
                                                    : std::max<nanos>(how.ttl / 50, millis{5});
    how.trust = base::scaled(how.ttl, 1.0 - options.drift) - margin;
    // Of one that only its caller renews the fractions were not checked, and do not count.
    if (options.renew == renewal_mode::automatic) {
        how.renew_after = base::scaled(how.ttl, options.renew_fraction);
        how.jitter = options.renew_jitter;
    }
    how.retry_after = options.retry_period.count() > 0
                          ? nanos{std::min(options.retry_period, options.ttl)}
                          : how.renew_after / 3;
    // In milliseconds, which hold any grace.
    how.stop_margin = std::min<nanos>(std::min(options.grace, options.ttl), how.ttl / 3);
    // The store ends the lifetime by its own clock, and ours may be slow (rule 8).
    if (options.max_lifetime.count() > 0)
        how.max_lifetime = base::scaled(nanos{options.max_lifetime}, 1.0 - options.drift) - margin;
    how.renew = options.renew;
    how.if_expired = options.if_expired;
    return how;
}

}  // namespace leasing
}  // namespace pawl
