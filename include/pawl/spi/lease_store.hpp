// What a store's author implements: nine verbs, each one atomic step at the store, one that looks
// at many keys at once, and a look at its own health.
//
// A store keeps four promises. A key has one live holder at most. Tokens of a key only rise. An
// occurrence that is done is not granted again. Only the store's clock ends a lease: durations
// cross this interface, never wall-clock times.
//
// The page "The rules of safety" of the documentation states these promises in full. The installed
// program pawl-conformance checks a store against them.
#pragma once

#include <pawl/examination.hpp>
#include <pawl/fence.hpp>
#include <pawl/options.hpp>
#include <pawl/results.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/store.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

// "I want it." A class with a constructor: g++ 12 destroys aggregate temporaries with strings twice
// inside co_await.
struct claim {
    claim(std::string its_key, std::string its_id, std::string its_owner, millis its_ttl)
        : key{std::move(its_key)},
          id{std::move(its_id)},
          owner{std::move(its_owner)},
          ttl{its_ttl} {}

    // 1 to 512 bytes of UTF-8 without control characters.
    std::string key;

    // Fresh and random for each claimer. Repeating a claim returns the same grant.
    std::string id;

    // Who claims, for people to read. At most 256 bytes without control characters.
    std::string owner;

    // How long the lease lives without a renewal. Within store_traits, at most ttl_max.
    millis ttl;

    // The occurrence that the work is for. Rejected as already_done when it, or a later one, is
    // done. Nothing: the lease alone excludes.
    std::optional<pawl::occurrence> occurrence{};

    // When `occurrence` counts as done. Default: at_most_once.
    pawl::delivery delivery = pawl::delivery::at_most_once;

    // While no connection can be had: fail, and answer `unreachable` with the first attempt to
    // connect that fails, or retry until the timeout. Default: retry.
    store_down on_store_down = store_down::retry;
};

// "I do not want it any more." A class with a constructor for the same reason.
struct withdrawal {
    withdrawal(std::string its_key, std::string its_id,
               std::optional<pawl::occurrence> its_occurrence = {})
        : key{std::move(its_key)}, id{std::move(its_id)}, occurrence{its_occurrence} {}

    // The one that was claimed.
    std::string key;

    // Of the claim that is given up.
    std::string id;

    // The one that it claimed, where its work has not begun. Nothing: the occurrence stays done.
    std::optional<pawl::occurrence> occurrence{};
};

// "It is yours."
struct grant {
    // The one that was claimed.
    std::string key;

    // Minted by this grant: higher than every token of the key before.
    fence_token token{};

    // How long the lease lives from now. A store may grant less than was asked for.
    millis ttl{};
};

// What became of one renewal. `unknown` is what the holder makes of a failure. As an answer it is
// for one lease whose record is out of reach: locked by another session, unreadable, or where part
// of the store is down (Redlock, a cluster).
enum class renewal { renewed, lost, unknown };

// "I still have it."
struct held_lease {
    // The one that was granted.
    std::string key;
    fence_token token{};

    // How long the lease is to live from now. A renewal never moves the end of a lease back.
    millis ttl{};

    // No renewal goes past record::acquired_at plus this. Default: 0, no bound.
    millis max_lifetime{0};

    // What to do when the lease has expired. Default: lose.
    expired_renewal if_expired = expired_renewal::lose;
};

// How a lease ends.
struct release_options {
    // As `min_hold`: the key stays in cooldown for the rest of its lease.
    static constexpr millis until_expiry = millis::max();

    // The key stays in cooldown until this long after it was granted, or free at once if that is
    // past. Default: 0.
    millis min_hold{0};

    // The occurrence that is done now, in at-least-once mode: raises record::last_done.
    std::optional<occurrence> done{};
};

// Leases in one namespace of one server. Each verb runs on the executor that the store was made
// with, and is awaited there. It keeps its own deadline, store_settings::timeout. Arguments are
// values; spans are kept alive by the caller until the await ends. Verbs may be awaited
// concurrently. A verb never blocks its thread and never throws: a failure is an answer.
class lease_store {
public:
    virtual ~lease_store() = default;
    lease_store() = default;
    lease_store(const lease_store&) = delete;
    lease_store& operator=(const lease_store&) = delete;

    // What the store can do. The same for the life of the object; may be called from any thread.
    virtual store_traits traits() const noexcept = 0;

    // Grants the key, or answers why not. Busy: it is held under another claim id, or in cooldown,
    // or the store is in quarantine, or the occurrence is early. Already done: the occurrence, or a
    // later one, is done. The token is max(last token + 1, the store's clock in microseconds),
    // minted in the same step. In at-most-once mode the same step marks the occurrence as done.
    // A claim whose outcome is unknown may be repeated under its id for as long as it is wanted.
    // While its lease is live it gets the same token, and afterwards a new one, unless the key was
    // granted to another claim meanwhile. The occurrence that it has marked itself is no reason to
    // reject it. Releasing and force-releasing end the id.
    virtual async<acquire_result<grant>> acquire(claim wanted) = 0;

    // Gives up a claim whose outcome is unknown. Frees the key if it is held under this id, and
    // leaves a tombstone where the engine can reorder a late claim behind this. True if the key was
    // held. The last grant of the key may have been to this id, live or expired, and have marked
    // `occurrence` as done. Then the mark goes in the same atomic step: last_done = occurrence - 1.
    virtual async<bool> withdraw(withdrawal given_up) = 0;

    // Extends many leases at once, 512 at most: one answer each, in order. Only a live holder with
    // this token extends its lease, and never to an earlier end. It creates no record, and takes
    // nothing back that was granted since. A failure means unknown for all.
    virtual async<std::vector<renewal>> renew(std::span<const held_lease> leases) = 0;

    // Ends a lease. True if this token was the live holder. Otherwise nothing has changed but
    // last_done, which a release as done raises while its token is the last one granted. The claim
    // that was granted the key under this token, if it was the last, cannot be repeated any more.
    virtual async<bool> release(std::string key, fence_token token, release_options how) = 0;

    // Takes the key from the holder of this token: burns a token, and keeps the key in cooldown for
    // `delay`, at most until the lease would have ended, or for its TTL. True if this token was the
    // live holder. Without delay, also if it was the newest token of a key in cooldown: that ends.
    virtual async<bool> force_release(std::string key, fence_token token, millis delay) = 0;

    // The record of a key; nothing where there is none.
    virtual async<std::optional<record>> inspect(std::string key) = 0;

    // The records of many keys, one answer each, in order; nothing where there is none. For callers
    // that look often: it need not tell who waits (record::waiters). No two answers have to be of
    // one moment. A record that cannot be read (errc::rejected) is nothing here, and costs no other
    // key its answer. At most page_limit_max keys. By default inspect() is asked for one after the
    // other; an engine whose server answers many questions in one request answers them so.
    virtual async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) {
        std::vector<std::optional<record>> all;
        for (auto& key : keys) {
            auto looking = inspect(std::move(key));
            auto seen = co_await std::move(looking);
            if (seen.has_error() && seen.error().code != errc::rejected) co_return seen.error();
            all.push_back(seen.has_value() ? std::move(*seen) : std::nullopt);
        }
        co_return all;
    }

    // Records in byte order of their keys, those after `after` that start with `prefix`. A record
    // that exists throughout is on exactly one page. `limit` is 1 to page_limit_max.
    virtual async<page> list(std::string prefix, std::string after, std::size_t limit) = 0;

    // Ends when the key may no longer be held under `seen`, at once if that is so already. A hint,
    // never the truth: it may end early, and the caller bounds it by a timer. Cancellable
    // (terminal).
    virtual async<void> wait_change(std::string key, fence_token seen) = 0;

    // Checks a token against the highest that this resource has accepted, and remembers it if it is
    // accepted, in one atomic step. A token further ahead of the store's clock than max_skew is
    // never_issued. Under a quarantine, a token from before a loss of data is rejected.
    virtual async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) = 0;

    // What the engine knows about its own health, for `pawl doctor`. Read-only, and no verb of the
    // lease. A missing privilege is a finding, not a failure; a failure means that the store could
    // not be examined at all. By default there is nothing to say.
    virtual async<examination> examine() { co_return examination{}; }
};

}  // namespace pawl
