// The words that every part of pawl shares: durations, fencing tokens, occurrences, bounds.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace pawl {

// The unit of every duration that crosses an interface of pawl.
using millis = std::chrono::milliseconds;

// A number that the store mints inside every grant of a key. It only ever rises: across release,
// expiry, restart and the purge of old records. Below 2^53, so that JSON and Lua can carry it.
// 0 is no token.
// Source: M. Kleppmann, "How to do distributed locking" (2016).
enum class fence_token : std::uint64_t {};

// The token as a number, to send with a write.
constexpr std::uint64_t number(fence_token token) noexcept {
    return static_cast<std::uint64_t>(token);
}

// One occurrence of a schedule, named by the Unix millisecond for which it was due: from 0 to
// occurrence_max.
enum class occurrence : std::int64_t {};

// The last millisecond of the year 9999.
constexpr occurrence occurrence_max{253'402'300'799'999};

// The occurrence as Unix milliseconds.
constexpr std::int64_t number(occurrence which) noexcept {
    return static_cast<std::int64_t>(which);
}

// The occurrence that was due at `when`, to the millisecond below. Not checked: before 1970 it is
// negative, behind 9999 it is above occurrence_max, and a claim of either is rejected.
[[nodiscard]] constexpr occurrence occurrence_at(
    std::chrono::system_clock::time_point when) noexcept {
    return occurrence{std::chrono::floor<millis>(when.time_since_epoch()).count()};
}

// When an occurrence counts as done, and thus what a crash in the middle of it means.
enum class delivery {
    at_most_once,   // done when granted: a crash loses this occurrence
    at_least_once,  // done when released as done: after a crash it is granted again
    off  // of a schedule only: occurrences are not remembered, and the lease alone excludes
};

// What a duplicate costs. `correctness` forces fencing, the quarantine and fail-closed behavior,
// and rejects the options that would weaken them.
enum class safety_class { efficiency, correctness };

// Bounds that hold for every store.

// The longest key, in bytes of UTF-8. The shortest has one byte.
constexpr std::size_t key_bytes_max = 512;

// The longest name of an owner, in bytes.
constexpr std::size_t owner_bytes_max = 256;

// The longest TTL: 7 days.
constexpr millis ttl_max = std::chrono::hours{24 * 7};

// How long a record outlives its last use, unless store_settings::retention says otherwise.
constexpr millis retention_default = std::chrono::hours{24 * 7};

// The most records on one page of a list. The least is 1.
constexpr std::size_t page_limit_max = 1000;

}  // namespace pawl
