// What a store decides, as functions of a record, a request and the store's clock: for engines that
// read, decide and write inside one exclusive transaction.
//
// Nothing here reads a clock or touches a disk, and every function may be called from any thread.
// An engine keeps one lease_record for each key and one token for each fenced resource. It reads
// it, calls the function of the verb, and writes it back if the function changed it, all in one
// atomic step. Engines that decide inside the store, such as by a script, state the same rules
// there; the conformance suite holds both to the same laws.
#pragma once

#include <pawl/spi/lease_store.hpp>
#include <pawl/store.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace pawl::rules {

using micros = std::chrono::microseconds;

// What the store's clocks say inside the atomic step. An engine with one clock gives it twice.
struct store_time {
    // Ends leases. It never steps back. From any epoch.
    micros elapsed;

    // Mints tokens, judges occurrences and is shown to people. Since the Unix epoch.
    micros wall;
};

// Everything that a store remembers of one key.
struct lease_record {
    // 0: without a holder. An expired one stays until the next grant.
    fence_token holder{};

    // Of the holder. Empty once its lease was ended, and not merely expired.
    std::string claim_id;

    std::string owner;

    // The grant, by both clocks.
    micros acquired{0};
    micros acquired_wall{0};

    // The lease, or the cooldown, is live while `elapsed` is less than this.
    micros until{0};

    // 0: none was granted. A new record starts at the highest token of all records that were
    // purged.
    fence_token last_token{};

    std::optional<occurrence> last_done{};

    // Whether the lease, or the cooldown, lasts.
    bool live(const store_time& now) const noexcept { return now.elapsed < until; }
    // The same, and it has a holder.
    bool held(const store_time& now) const noexcept { return live(now) && number(holder) != 0; }
};

// lease_store::acquire(). `state` changes only where a grant is the result. An occurrence that is
// due more than `max_skew` after now.wall is answered as early.
acquire_result<grant> acquire(lease_record& state, const claim& wanted, const store_time& now,
                              millis max_skew);

// What the end of a lease did.
struct end_effect {
    // It was live: wake the waiters.
    bool was_holder = false;

    // Write it back: last_done, or whether the claim can be repeated, also without a holder.
    bool changed = false;
};

// lease_store::withdraw() and lease_store::release(), which answer with `was_holder`.
end_effect withdraw(lease_record& state, const withdrawal& given_up, const store_time& now);
end_effect release(lease_record& state, fence_token token, const release_options& how,
                   const store_time& now);

// lease_store::renew(), of one lease, and lease_store::force_release(). True if `state` changed.
bool renew(lease_record& state, const held_lease& lease, const store_time& now);
bool force_release(lease_record& state, fence_token token, millis delay, const store_time& now);

// What lease_store::inspect() and list() show.
record describe(const std::string& key, const lease_record& state, const store_time& now);
// In its place, the record of a key that cannot be read: list() shows it among the others. Who
// asks for that key alone is told what is wrong; inspect_many() has nothing for it.
record unreadable(const std::string& key);

// The tokens that a live holder can carry. Older ones are from before a loss of data, which may
// have taken the memory of a newer one with it; none above `newest` can have been issued yet.
struct token_range {
    fence_token oldest{};
    fence_token newest{std::numeric_limits<std::uint64_t>::max()};
};

// For tokens that count microseconds of the store's clock. The start of the range goes with the
// quarantine. Tokens may be ahead of the clock after it stepped back, or where another node's clock
// minted them: as far as an occurrence may be.
token_range issued_tokens(std::optional<millis> quarantine, micros born_wall, micros now_wall,
                          millis max_skew);

// lease_store::fence(). `highest` is 0 for a resource never seen, and is raised when the token is
// accepted.
fence_result check_fence(fence_token& highest, fence_token token, fence_rule rule,
                         const token_range& issued = {});

// What is left of the quarantine, for a store whose marker says that it was born at `born`, by the
// clock `elapsed`, with nothing in it. 0 or less: it is over.
millis quarantine_left(std::optional<millis> quarantine, micros born, const store_time& now);

// For such a store: while the quarantine lasts nothing is granted, and an occurrence that may have
// been granted before the marker was born counts as done, whenever it is asked for: one that was
// due by then, or ahead of it by no more than `max_skew`. Nothing: go on.
std::optional<acquire_result<grant>> reject_in_quarantine(std::optional<millis> quarantine,
                                                          const store_time& born,
                                                          const claim& wanted,
                                                          const store_time& now,
                                                          millis max_skew = millis{0});

// A lease that is longer than the quarantine would outlive it after a loss of data. Nothing: go on.
std::optional<failure> reject_long_ttl(std::optional<millis> quarantine, millis ttl);

}  // namespace pawl::rules
