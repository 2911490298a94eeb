// What a backend author implements: nine verbs, each one atomic step at the store, and a look at
// its own health.
//
// The rules of safety that an implementation keeps are numbered in docs/protocol.md; the suite in
// testing/conformance holds every store to them. Durations cross this interface, never wall-clock
// times: only the store's clock ends a lease.
#pragma once

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace pawl {

// "I want it." A class with a constructor: g++ 12 destroys aggregate temporaries with strings twice
// inside co_await.
struct claim {
    claim(std::string key, std::string id, std::string owner, millis ttl)
        : key{std::move(key)}, id{std::move(id)}, owner{std::move(owner)}, ttl{ttl} {}

    std::string key;  // 1 to 512 bytes, no control characters
    std::string id;   // fresh and random for each claimer: repeating a claim returns the same grant
    std::string owner;  // for people to read; at most 256 bytes, no control characters
    millis ttl;
    std::optional<occurrence> firing{};  // refused when this firing, or a later one, is done
    delivery mode = delivery::at_most_once;
};

// "I do not want it any more." A class with a constructor for the same reason.
struct withdrawal {
    withdrawal(std::string key, std::string id, std::optional<occurrence> firing = {})
        : key{std::move(key)}, id{std::move(id)}, firing{firing} {}

    std::string key;
    std::string id;                      // of the claim that is given up
    std::optional<occurrence> firing{};  // the one it claimed, where its work has not begun
};

struct grant {
    std::string key;
    fence_token token{};
    millis ttl{};
};

enum class busy_reason {
    held,         // somebody holds it
    lingering,    // held by nobody until its time is up: at_least, hold, or the delay after an
                  // eviction
    quarantined,  // the store may have lost its data and grants nothing yet (rule 7)
    early         // the occurrence is further ahead of the store's clock than max_skew (rule 6)
};

struct busy {
    fence_token holder{};  // 0 when held by nobody
    std::string owner{};
    millis remaining{};  // until it may be worth asking again
    busy_reason reason = busy_reason::held;
};

struct already_done {
    occurrence last{};
};

using verdict = std::variant<grant, busy, already_done>;

// `unknown` is what the holder makes of a failure. As an answer it is for one lease whose record is
// out of reach: locked by another session, unreadable, or where a part is down (Redlock, a
// cluster).
enum class renewal { renewed, lost, unknown };

// What to do about a lease that ran out before its renewal arrived (rule 3).
enum class lapse {
    lose,                // it is lost
    extend_if_unclaimed  // carry on under the same token, if nobody took the key since
};

struct held {
    std::string key;
    fence_token token{};
    millis ttl{};
    millis max_lifetime{0};  // no renewal past acquired_at + this; 0: no bound (rule 9)
    lapse if_lapsed = lapse::lose;
};

// How a lease ends. The key stays held, by nobody, until the latest of now and acquired_at +
// at_least; at_least = until_expiry keeps it for the rest of its lease.
struct farewell {
    static constexpr millis until_expiry = millis::max();
    millis at_least{0};
    std::optional<occurrence> done{};  // raises last_done (rule 6, at-least-once)
};

struct record {
    std::string key, owner;
    fence_token holder{};          // 0 when held by nobody
    millis remaining{};            // 0 when free
    std::int64_t acquired_at = 0;  // Unix milliseconds on the store's clock; for people to read
    std::optional<occurrence> last_done{};
    fence_token last_token{};                // the highest ever granted or burnt by an eviction
    std::optional<std::uint32_t> waiters{};  // where the engine can tell
};

struct page {
    std::vector<record> records;
    std::string next;  // hand it back as `after`; empty at the end
};

enum class fence_rule {
    reject_older,     // a holder may write many times
    reject_not_newer  // one effect per token
};

struct fence_verdict {
    bool accepted = false;
    fence_token newest{};  // the highest accepted, this one included
    // Rejected not for its age: it is further ahead than any token that the store can have issued.
    bool never_issued = false;
};

struct store_traits {
    bool strict_fencing =
        false;                  // tokens rise even across the data loss that the engine can suffer;
                                // of the store's own fence this is said under a quarantine only
    bool notifies = false;      // wait_change is woken by the store; otherwise waiters poll
    bool atomic_batch = false;  // one renew() is one atomic step for all its leases
    millis ttl_min{1};
    millis ttl_step{1};
};

// Every verb runs on the executor that the store was made with, is awaited there, and keeps its own
// deadline (the store's `timeout`). Arguments are values; spans are kept alive by the caller until
// the await ends. Verbs may be awaited concurrently. A verb never throws.
class lease_store {
public:
    virtual ~lease_store() = default;
    lease_store() = default;
    lease_store(const lease_store&) = delete;
    lease_store& operator=(const lease_store&) = delete;

    virtual store_traits traits() const noexcept = 0;

    // Rules 1, 2, 6, 7. A claim whose outcome is unknown may be repeated under its id for as long
    // as it is wanted: while its lease is live it gets the same token, and afterwards a new one
    // unless the key was granted to another claim meanwhile. The occurrence that it has marked
    // itself is no reason to refuse it. Releasing and evicting end the id.
    virtual async<verdict> acquire(claim wanted) = 0;
    // Gives up a claim whose outcome is unknown: frees the key if it is held under this id, and
    // leaves a tombstone where the engine can reorder a late claim behind this. If the last grant
    // of the key was to this id, live or expired, and marked `firing` as done, the mark goes in the
    // same atomic step: last_done = firing - 1. True if the key was held.
    virtual async<bool> withdraw(withdrawal given_up) = 0;
    // Rule 3. One answer for each lease, in order; a failure means unknown for all.
    virtual async<std::vector<renewal>> renew(std::span<const held> leases) = 0;
    // Rule 4. True if this token was the live holder; otherwise nothing has changed but last_done,
    // and that the claim which was granted this token, if it was the last, can not be repeated.
    virtual async<bool> release(std::string key, fence_token token, farewell how) = 0;
    // Rule 5. Burns the token and keeps the key held by nobody for `delay`, at most for what was
    // left. True if this token was the live holder. Without delay, also if it was the newest token
    // of a key that is held by nobody for a while yet: so a cooldown is ended.
    virtual async<bool> evict(std::string key, fence_token token, millis delay) = 0;
    virtual async<std::optional<record>> inspect(std::string key) = 0;
    // Records in byte order of their keys, those after `after` that start with `prefix`. A record
    // that exists throughout is on exactly one page. 1 <= limit <= page_limit_max.
    virtual async<page> list(std::string prefix, std::string after, std::size_t limit) = 0;
    // Ends when the key may no longer be held under `seen`, at once if that is so already. A hint,
    // never the truth: it may end early, and the caller bounds it by a timer. Cancellable
    // (terminal).
    virtual async<void> wait_change(std::string key, fence_token seen) = 0;
    // The guard of rule 15: one atomic check-and-remember per resource.
    virtual async<fence_verdict> fence(std::string resource, fence_token token,
                                       fence_rule rule) = 0;

    // What the engine knows of its own health, for `pawl doctor`; read-only, and no verb of the
    // lease. A store that fails here could not be examined at all: what it may not read for want of
    // a privilege is a finding. By default there is nothing to say.
    virtual async<examination> examine() { co_return examination{}; }
};

}  // namespace pawl
