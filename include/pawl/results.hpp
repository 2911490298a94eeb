// What the calls of `locks` answer: why a key was not granted, and what the store knows about it.
//
// Contention is an answer, not an error. These are values without behavior: copy them freely.
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pawl {

// Why a key is busy.
enum class busy_reason {
    held,         // another claim holds it
    cooldown,     // no process holds it, and it is in cooldown: after a release under `min_hold` or
                  // `hold_until_expiry`, or after a forced release with a delay
    quarantined,  // the store may have lost its data, and grants nothing until the longest lease
                  // from before has expired
    early         // the occurrence is further ahead of the store's clock than the store's max_skew
};

// The key is not free now.
struct busy {
    // The token under which the key is held. 0: no process holds it.
    fence_token holder{};

    // Who holds it, for people to read. May be empty.
    std::string owner{};

    // How long until it may be worth asking again. A hint: the holder may renew or release.
    millis remaining{};

    // Why it is not free: only `held` and `cooldown` end sooner than told.
    busy_reason reason = busy_reason::held;
};

// The occurrence was run, or a later one was.
struct already_done {
    // The latest occurrence of this key that counts as done.
    occurrence last{};

    // A request of this same claim was not answered, and the key was granted to another meanwhile:
    // that request may be what marked the occurrence, and then nothing has run for it.
    bool answer_lost = false;
};

// What became of a claim: what it was granted, or why it was not. `locks` answers with a lease, a
// store with a grant. `Otherwise` are further ends that a claim may have on the way between them.
template <class Granted, class... Otherwise>
using acquire_result = std::variant<Granted, busy, already_done, Otherwise...>;

// One key as the store has it. A record outlives its lease by the store's retention.
struct record {
    // The key, without the store's namespace, and who holds it. Where no process does, the owner
    // may be the last one, or empty.
    std::string key, owner;

    // The token under which the key is held. 0: no process holds it.
    fence_token holder{};

    // How long until the lease or the cooldown ends. 0: the key is free.
    millis remaining{};

    // When the key was granted: Unix milliseconds on the store's clock. For people to read.
    std::int64_t acquired_at = 0;

    // The latest occurrence that counts as done; nothing: none does.
    std::optional<occurrence> last_done{};

    // The highest token that was ever granted, or burnt by a forced release.
    fence_token last_token{};

    // How many processes wait for the key; nothing: the engine cannot tell.
    std::optional<std::uint32_t> waiters{};
};

// Part of a list of records.
struct page {
    // In byte order of their keys.
    std::vector<record> records;

    // Hand it back as `after` to get the next page. Empty: this is the last page.
    std::string next;
};

}  // namespace pawl
