// How a lease is claimed, kept and ended. The policies P1 to P20 of docs/requirements.md, default
// first.
#pragma once

#include <pawl/spi/lease_store.hpp>
#include <pawl/types.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace pawl {

enum class renewing {
    automatic,  // the process's heartbeat renews it
    manual      // only lease::renew() does: seed 001, "just before each part"
};

enum class reentrancy {
    none,     // a second claim of a key that this process holds is busy; lease::share() still works
    instance  // it gets another handle on the same lease and token; the last handle releases it
};

enum class fencing {
    issued,   // every grant carries a token
    required  // refused where the store's tokens may fall after a loss of its data
};

enum class store_down {
    skip,  // a store that cannot be reached is an error at once
    retry  // ask again, with backoff, for as long as the caller waits
};

// Every field is a bound or a choice; validate() explains what does not go together. Trivially
// destructible, so that it may stand inside a co_await expression.
struct lease_options {
    millis ttl{0};                       // lock_at_most_for; required. 1 ms to 7 days
    millis at_least{0};                  // lock_at_least_for, counted from the grant
    bool hold = false;                   // never release: the lease ends when it expires
    std::optional<occurrence> firing{};  // this firing, at most once over all nodes
    delivery mode = delivery::at_most_once;
    renewing renew = renewing::automatic;
    double renew_fraction = 0.3;  // of the ttl; two lost renewals in a row leave a third attempt
    double renew_jitter = 0.1;    // of the renewal interval, to both sides
    millis retry_period{0};       // after a renewal without an answer; 0: a third of the interval
    int max_renew_failures =
        3;  // in a row: told to observer::on_trouble; the deadline is what stops the job
    millis grace{10'000};    // the stop token fires this long before trust ends, at most ttl/3
    millis max_lifetime{0};  // renewal ends this long after the grant; 0: never
    double drift = 0.001;    // how far this clock's rate may be from the store's
    millis margin{
        0};  // kept between the end of trust and the store's expiry; 0: ttl/50, at least 5 ms
    lapse if_lapsed = lapse::lose;
    reentrancy again = reentrancy::none;
    fencing tokens = fencing::issued;
    store_down on_store_down = store_down::skip;
    millis acquire_jitter{0};  // a random delay, up to this, before the claim: spreads the winners
};
static_assert(std::is_trivially_destructible_v<lease_options>);

// How long, and how, to go on asking for a key that is busy.
struct patience {
    millis wait{0};       // wait for the key this long; 0: do not wait
    int retries = 0;      // or ask again this often
    millis backoff{200};  // before each retry, with full jitter
};
static_assert(std::is_trivially_destructible_v<patience>);

// What does not go together, in one line that names the option, its value and what would do.
std::optional<std::string> validate(const lease_options& options, const store_traits& traits,
                                    safety_class safety);

// The defaults of the systems that the source documents describe. The TTL is theirs; renewal is at
// 0.3 of it where they used a third, so that a third attempt fits before the deadline.
namespace profile {
constexpr lease_options specvital() { return {.ttl = millis{600'000}}; }  // seed 000
constexpr lease_options exclusive_job() {                                 // seed 001
    return {.ttl = millis{300'000}, .hold = true, .renew = renewing::manual};
}
constexpr lease_options cordum_job() { return {.ttl = millis{60'000}}; }  // seed 002
constexpr lease_options cordum_loop() {
    return {.ttl = millis{60'000}, .hold = true, .renew = renewing::manual};
}
constexpr lease_options cordum_run() { return {.ttl = millis{30'000}}; }
constexpr lease_options cordum_snapshot() { return {.ttl = millis{10'000}}; }
constexpr lease_options shedlock() {  // seed 003
    return {.ttl = millis{3'600'000}, .renew = renewing::manual};
}
constexpr lease_options dotnet() { return {.ttl = millis{30'000}}; }  // seed 004
}  // namespace profile

}  // namespace pawl
