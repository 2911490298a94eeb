// The write boundary: only a check of the token there makes effects safe.
//
// A lease makes overlap rare. It cannot stop a holder that is frozen between its check and its
// write. So the write carries the token, and the resource rejects a token that is older than the
// highest it has seen. Check and write are one atomic step, or the check proves nothing. In SQL,
// with a column `fence_token bigint not null default 0` in the guarded row:
//
// Reject older:
//     update account set balance = $2, fence_token = $3 where id = $1 and $3 >= fence_token;
// Reject not newer:
//     update invoice set sent_at = now(), fence_token = $2 where id = $1 and $2 > fence_token;
//
// "Reject older" lets one holder write many times. "Reject not newer" is for one effect per token,
// and also stops the same holder's retry. No row updated: the token is stale, stop. A job that
// reads, computes and then writes raises the fence before it reads. Otherwise the old holder's last
// write could slip in between.
//
// The store can guard a resource that has no place for a token: locks::check_fence(), or
// `pawl fence check RESOURCE TOKEN` in a script. That check and the effect after it are two steps.
// It narrows the gap, and only a check inside the resource closes it.
//
// Source: M. Kleppmann, "How to do distributed locking" (2016).
#pragma once

#include <pawl/types.hpp>

#include <atomic>
#include <cstdint>

namespace pawl {

// Which tokens a guarded resource rejects.
enum class fence_rule {
    reject_older,     // a holder may write many times
    reject_not_newer  // one effect per token
};

// What locks::check_fence() answers.
struct [[nodiscard]] fence_result {
    // Whether the write may go on. Default: false.
    bool accepted = false;

    // The highest token that the resource has accepted, this one included.
    fence_token highest{};

    // Rejected, but not for its age: it is further ahead than any token that the store can have
    // issued. Default: false.
    bool never_issued = false;
};

// The guard of a resource inside this process: a cache, a file, a device. Thread-safe and
// lock-free; never throws. A new fence admits every token but, under reject_not_newer, 0.
class fence {
public:
    // Whether the write may go on. Remembers the token if so.
    // REQUIRES: the guarded write happens inside the same critical section as the check.
    [[nodiscard]] bool admit(fence_token token,
                             fence_rule rule = fence_rule::reject_older) noexcept {
        auto highest = highest_.load(std::memory_order_acquire);
        do {
            const bool stale = rule == fence_rule::reject_older ? number(token) < highest
                                                                : number(token) <= highest;
            if (stale) return false;
        } while (
            !highest_.compare_exchange_weak(highest, number(token), std::memory_order_acq_rel));
        return true;
    }

    // The highest token that was admitted. 0: none was.
    [[nodiscard]] fence_token highest() const noexcept {
        return fence_token{highest_.load(std::memory_order_acquire)};
    }

private:
    std::atomic<std::uint64_t> highest_{0};
};

}  // namespace pawl
