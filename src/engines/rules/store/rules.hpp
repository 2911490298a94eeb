// The rules of safety at the store (docs/protocol.md, 1 to 7) as functions of a record, a request
// and the store's clock: for engines that read, decide and write inside one exclusive transaction.
//
// Nothing here reads a clock or touches a disk. Engines with scripts of their own (Redis) state the
// same rules in Lua; the conformance suite holds both to the same laws.
#pragma once

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace pawl::rules {

using micros = std::chrono::microseconds;

// What the store's clocks say inside the atomic step. `elapsed` ends leases and never steps back;
// `wall` (since the Unix epoch) mints tokens, judges occurrences and is shown to people. An engine
// with one clock gives it twice.
struct store_time {
    micros elapsed;
    micros wall;
};

// Everything a store remembers of one key.
struct lease_state {
    fence_token holder{};  // 0: held by nobody; an expired one stays until the next
    std::string claim_id;  // of the holder: empty once its lease was ended, not merely expired
    std::string owner;
    micros acquired{0};       // `elapsed` at the grant
    micros acquired_wall{0};  // `wall` at the grant
    micros until{0};          // live while elapsed < until
    fence_token last_token{};
    std::optional<occurrence> last_done{};

    bool live(const store_time& now) const noexcept { return now.elapsed < until; }
    bool held(const store_time& now) const noexcept { return live(now) && number(holder) != 0; }
};

// Rules 1, 2 and 6. `state` changes only where a grant is the result.
acquire_result<grant> acquire(lease_state& state, const claim& wanted, const store_time& now,
                              millis max_skew);

// What the end of a lease did.
struct end_effect {
    bool was_holder = false;
    bool changed = false;  // last_done, or whether the claim can be repeated, also without a holder
};
end_effect withdraw(lease_state& state, const withdrawal& given_up, const store_time& now);
end_effect release(lease_state& state, fence_token token, const release_options& how,
                   const store_time& now);

// Each returns whether `state` changed.
bool renew(lease_state& state, const held& lease, const store_time& now);
bool force_release(lease_state& state, fence_token token, millis delay, const store_time& now);

record describe(const std::string& key, const lease_state& state, const store_time& now);

// Rule 15: the tokens that a live holder can carry. Older ones are from before a loss of data,
// which may have taken the memory of a newer one with it; none above `newest` can have been issued
// yet.
struct token_range {
    fence_token oldest{};
    fence_token newest{std::numeric_limits<std::uint64_t>::max()};
};

// For tokens that count microseconds of the store's clock. The start of the range goes with the
// quarantine. Tokens may be ahead of the clock after it stepped back, or where another node's clock
// minted them: as far as an occurrence may be.
token_range issued_tokens(std::optional<millis> quarantine, micros born_wall, micros now_wall,
                          millis max_skew);

// Rule 15. `newest` is 0 for a resource never seen, and is raised when the token is accepted.
fence_result check_fence(fence_token& newest, fence_token token, fence_rule rule,
                         const token_range& issued = {});

// Rule 7: what is left of the quarantine, for a store whose marker says it was born at `born` with
// nothing in it. Zero or less: over.
millis quarantine_left(std::optional<millis> quarantine, micros born, const store_time& now);

// Rules 6 and 7 for such a store: while the quarantine lasts nothing is granted, and an occurrence
// that may have been granted before the marker was born counts as done, whenever it is asked for:
// one that was due by then, or ahead of it by no more than `max_skew`. Empty: go on.
std::optional<acquire_result<grant>> refuse_in_quarantine(std::optional<millis> quarantine,
                                                          const store_time& born,
                                                          const claim& wanted,
                                                          const store_time& now,
                                                          millis max_skew = millis{0});

// Rule 7: a lease longer than the quarantine would outlive it after a loss of data.
std::optional<failure> refuse_long_ttl(std::optional<millis> quarantine, millis ttl);

}  // namespace pawl::rules
