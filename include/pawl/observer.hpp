// What happens to leases, for metrics and logs.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/types.hpp>

#include <string_view>

namespace pawl {

// How a claim ended.
enum class acquire_outcome { granted, busy, already_done, error };

// Why a lease was lost.
enum class loss_reason {
    taken,           // the store said so: the lease expired there, or was released by force
    validity_ended,  // no renewal had an answer in time, so the lease is not valid any more
    lifetime_ended,  // lease_options::max_lifetime has passed
    closed           // its `locks` object was destroyed, or this process is a fork()
};

// One word for logs and JSON, such as "already_done" or "lifetime_ended".
[[nodiscard]] std::string_view name_of(acquire_outcome outcome) noexcept;
[[nodiscard]] std::string_view name_of(loss_reason reason) noexcept;

// Override what you want to hear of; a method that you leave alone does nothing. All methods are
// called on pawl's own loop: one at a time, on any thread. A method that blocks delays the
// heartbeat of every lease, and one that throws ends the process. Texts are valid during the call
// only.
class observer {
public:
    virtual ~observer() = default;

    // A claim ended, `waited` after the call: acquire_jitter and the wait for other threads of this
    // process are part of it.
    virtual void on_acquire(std::string_view /*key*/, acquire_outcome, millis /*waited*/) {}

    // A renewal ended. Renewed: the lease is valid for longer. Not renewed with failures: there was
    // no answer, so many times in a row. Not renewed without: the store said that it is lost.
    virtual void on_renew(std::string_view /*key*/, bool /*renewed*/, int /*failures_in_a_row*/) {}

    // lease_options::max_renew_failures renewals in a row had no answer. The lease stays valid for
    // `left`.
    virtual void on_renewal_failures(std::string_view /*key*/, int /*failures*/, millis /*left*/) {}

    // A lease was lost.
    virtual void on_lost(std::string_view /*key*/, fence_token, loss_reason) {}

    // A lease was released, or its release was given up on, after it had been held for `held_for`.
    virtual void on_release(std::string_view /*key*/, fence_token, millis /*held_for*/) {}

    // An operation failed: "acquire", "renew", "release", "withdraw", "wait_change", "list" or
    // "journal".
    virtual void on_store_failure(std::string_view /*operation*/, const failure&) {}
};

}  // namespace pawl
