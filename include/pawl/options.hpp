// How a lease is acquired, kept and ended: the options of one claim.
#pragma once

#include <pawl/store.hpp>
#include <pawl/types.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace pawl {

// Who renews a lease.
enum class renewal_mode {
    automatic,  // the process's heartbeat does
    manual      // only lease::renew() does, such as just before each part of the work
};

// What a second claim of a key that the same `locks` object holds already gets.
enum class reentrancy {
    none,     // it is busy; lease::share() still makes another handle
    instance  // another handle on the same lease and token, if that was claimed with `instance` as
              // well; the last handle releases it. It does not keep threads apart
};

// Whether tokens have to rise even after the store lost data.
enum class fencing {
    issued,   // every grant carries a token, whatever the store promises
    required  // a claim throws option_error where tokens may fall after a loss of data
};

// What a claim makes of a store that cannot be reached.
enum class store_down {
    fail,  // it throws at once; a claim that waits for its key, after the store's timeout
    retry  // it asks again, with backoff, for as long as the caller waits
};

// What to do about a lease that expired at the store before its renewal arrived.
enum class expired_renewal {
    lose,                // it is lost
    extend_if_unclaimed  // it continues under the same token, if the key was not granted since
};

// The options of one claim. Every claim checks them by validate(), before it asks the store.
// Trivially destructible, so that an object may stand inside a co_await expression.
struct lease_options {
    // -- How long it lives

    // How long the lease lives without a renewal: when its holder dies, the key is free this much
    // later at the latest. ShedLock calls it lockAtMostFor. Renewals keep it alive for as long as
    // the work takes, so it need not be as long as the work.
    // Required; 0 is rejected. Above 5 ms and at most 7 days, within the bounds and steps of the
    // store (store_traits), at most the store's quarantine.
    millis ttl{0};

    // A release keeps the key in cooldown until this long after the grant. ShedLock calls it
    // lockAtLeastFor. Default: 0, no cooldown. 0 to 7 days, with `hold_until_expiry` at most the
    // ttl.
    millis min_hold{0};

    // Never release: the key stays held until the lease expires. Default: false.
    bool hold_until_expiry = false;

    // -- Which work it is for

    // The occurrence that the work is for. The claim answers already_done where this occurrence, or
    // a later one of the same key, is done. The years 1970 to 9999. Default: nothing; the lease
    // alone excludes.
    std::optional<pawl::occurrence> occurrence{};

    // When `occurrence` counts as done. Default: at_most_once. `off` is rejected together with an
    // occurrence.
    pawl::delivery delivery = pawl::delivery::at_most_once;

    // -- How it is renewed: renew_fraction to max_renew_failures matter if `renew` is automatic.

    // Who renews it. Default: automatic.
    renewal_mode renew = renewal_mode::automatic;

    // When to renew, as a fraction of the ttl. Two lost renewals in a row leave a third attempt.
    // Default: 0.3. Above 0, and before the stop token fires; from 1/3 on only with a
    // `retry_period`.
    double renew_fraction = 0.3;

    // Moves each renewal at random by up to this fraction of the interval, to both sides.
    // Default: 0.1. 0 to 0.5.
    double renew_jitter = 0.1;

    // When to repeat a renewal that had no answer. Default: 0, a third of the renewal interval.
    // Below the ttl.
    millis retry_period{0};

    // After this many renewals in a row without an answer, observer::on_renewal_failures() is
    // called. It stops no work: `grace` does. Default: 3. 1 or more.
    int max_renew_failures = 3;

    // The stop token fires this long before the lease stops being valid. Default: 10 s, of which at
    // most a third of the ttl counts. 0 to ten years. 0: it fires when the lease stops being valid.
    millis grace{10'000};

    // Renewal ends this long after the grant, so that a job that hangs loses its lease.
    // Default: 0, never. Else the ttl to ten years.
    millis max_lifetime{0};

    // -- How far it is believed

    // How far the rate of this machine's clock may be from the rate of the store's, as a fraction:
    // 0.001 is 1 ms in a second. Default: 0.001. 0 to 0.1.
    double drift = 0.001;

    // How long before it expires at the store the lease stops being valid here.
    // Default: 0, a fiftieth of the ttl and at least 5 ms. Below the ttl less the grace that
    // counts, so that the stop token fires while the lease is valid.
    millis margin{0};

    // What to do when the lease expired before its renewal arrived. Default: lose.
    // extend_if_unclaimed is rejected under safety_class::correctness.
    expired_renewal if_expired = expired_renewal::lose;

    // -- How it is claimed

    // What a second claim by the same `locks` gets. Default: none. `instance` is rejected together
    // with an occurrence.
    pawl::reentrancy reentrancy = pawl::reentrancy::none;

    // Whether tokens have to rise even after a loss of data. Default: issued.
    pawl::fencing fencing = pawl::fencing::issued;

    // What the claim makes of a store that cannot be reached. Default: fail.
    store_down on_store_down = store_down::fail;

    // A random delay of 0 to this before the claim, so that the same node does not always win.
    // Default: 0, no delay. At most ten years.
    millis acquire_jitter{0};
};
static_assert(std::is_trivially_destructible_v<lease_options>);

// How long, and how, to keep asking for a key that is busy. First the claim waits, then it retries.
struct wait_policy {
    // Wait for the key for at most this long; the store, or a timer, wakes the waiter.
    // Default: 0, do not wait. Not negative; beyond ten years it is ten years.
    millis wait{0};

    // How often to ask again when the wait is over. Default: 0. Not negative.
    int retries = 0;

    // The mean pause before each of these: a random time from 0 to twice this. Default: 200 ms.
    // 0 to ten years.
    millis backoff{200};
};
static_assert(std::is_trivially_destructible_v<wait_policy>);

// What is wrong with these options at such a store: one line that names the option, its value and
// what would do. Nothing: they are valid. Never asks a store. Thread-safe.
[[nodiscard]] std::optional<std::string> validate(const lease_options& options,
                                                  const store_traits& traits, safety_class safety);

// Options for common purposes, and the defaults of systems that people move from. Where these renew
// after a third of the TTL, a profile does so after 0.3, so that a third attempt fits.
namespace profile {

// A batch job. TTL 10 min.
constexpr lease_options batch_job() { return {.ttl = millis{600'000}}; }

// A job that renews before each part of its work and leaves the key held. TTL 5 min.
constexpr lease_options exclusive_job() {
    return {.ttl = millis{300'000}, .hold_until_expiry = true, .renew = renewal_mode::manual};
}

// A job of seconds to minutes. TTL 1 min.
constexpr lease_options short_job() { return {.ttl = millis{60'000}}; }

// One pass of a loop, at most one per TTL over all nodes. TTL 1 min, neither renewed nor released.
constexpr lease_options reconcile_loop() {
    return {.ttl = millis{60'000}, .hold_until_expiry = true, .renew = renewal_mode::manual};
}

// A run of a workflow engine. TTL 30 s.
constexpr lease_options workflow_run() { return {.ttl = millis{30'000}}; }

// The one writer of a snapshot, with a fast takeover. TTL 10 s.
constexpr lease_options snapshot_writer() { return {.ttl = millis{10'000}}; }

// ShedLock: no renewal. TTL 1 h.
constexpr lease_options shedlock() {
    return {.ttl = millis{3'600'000}, .renew = renewal_mode::manual};
}

// DistributedLock for .NET on Redis. TTL 30 s.
constexpr lease_options dotnet() { return {.ttl = millis{30'000}}; }

}  // namespace profile

}  // namespace pawl
