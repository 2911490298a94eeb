// The write boundary: only a check of the token there makes effects safe.
//
// A lease makes overlap rare; it cannot stop a holder that is frozen between its check and its
// write. So the write carries the token, and the resource refuses a token that is older than the
// newest it has seen. Check and write are one atomic step, or the check proves nothing. In SQL,
// with a column `fence_token bigint not null default 0` in the guarded row:
//
// Reject older:
//     update account set balance = $2, fence_token = $3 where id = $1 and $3 >= fence_token;
// Reject not newer:
//     update invoice set sent_at = now(), fence_token = $2 where id = $1 and $2 > fence_token;
//
// "Reject older" lets one holder write many times; "reject not newer" is for one effect per token,
// and also stops the same holder's retry. No row updated: the token is stale, stop. A job that
// reads, computes and then writes raises the fence before it reads, or the old holder's last write
// could slip in between.
//
// A resource with no place for a token of its own is guarded by the store: locks::check_fence(), or
// `pawl fence check RESOURCE TOKEN` in a script. That check and the effect after it are two steps:
// it narrows the gap, and only a check inside the resource closes it.
//
// Source: M. Kleppmann, "How to do distributed locking" (2016); seeds 002 and 004;
// docs/protocol.md, 15.
#pragma once

#include <pawl/spi/lease_store.hpp>
#include <pawl/types.hpp>

#include <atomic>

namespace pawl {

// The guard for a resource inside this process: a cache, a file, a device. Lock-free, thread-safe.
class fence {
public:
    // REQUIRES: the guarded write happens inside the same critical section as the check.
    bool admit(fence_token token, fence_rule rule = fence_rule::reject_older) noexcept {
        auto newest = newest_.load(std::memory_order_acquire);
        do {
            const bool stale =
                rule == fence_rule::reject_older ? number(token) < newest : number(token) <= newest;
            if (stale) return false;
        } while (!newest_.compare_exchange_weak(newest, number(token), std::memory_order_acq_rel));
        return true;
    }
    fence_token newest() const noexcept {
        return fence_token{newest_.load(std::memory_order_acquire)};
    }

private:
    std::atomic<std::uint64_t> newest_{0};
};

}  // namespace pawl
