// The words that every part of pawl shares: durations, fencing tokens, occurrences.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace pawl {

using millis = std::chrono::milliseconds;

// A number minted inside every grant of a key. It only ever rises: across release, expiry, restart
// and purge. Below 2^53, so that it survives JSON and Lua. 0 is no token.
// Source: M. Kleppmann, "How to do distributed locking" (2016); seed 002 and 004.
enum class fence_token : std::uint64_t {};

constexpr std::uint64_t number(fence_token token) noexcept {
    return static_cast<std::uint64_t>(token);
}

// One firing of a schedule, named by the Unix millisecond for which it was due: from 0 to
// occurrence_max, the last of the year 9999.
enum class occurrence : std::int64_t {};

constexpr occurrence occurrence_max{253'402'300'799'999};

constexpr std::int64_t number(occurrence firing) noexcept {
    return static_cast<std::int64_t>(firing);
}

// When an occurrence counts as done, and thus what a crash in the middle of it means.
enum class delivery {
    at_most_once,  // done when granted: a crash loses this firing
    at_least_once  // done when released as done: after a crash it is granted again
};

// What a duplicate costs. `correctness` forces fencing, quarantine and fail-closed behaviour, and
// refuses the options that would weaken them.
enum class safety_class { efficiency, correctness };

// Bounds that hold for every store.
constexpr std::size_t key_bytes_max = 512;
constexpr std::size_t owner_bytes_max = 256;
constexpr millis ttl_max = std::chrono::hours{24 * 7};
constexpr millis retention_default = std::chrono::hours{24 * 7};
constexpr std::size_t page_limit_max = 1000;

}  // namespace pawl
