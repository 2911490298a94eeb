// What happens to leases, for metrics and logs.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/types.hpp>

#include <string_view>

namespace pawl {

enum class acquire_outcome { granted, busy, already_done, error };
enum class loss_reason { taken, trust_ended, lifetime_ended };

std::string_view name_of(acquire_outcome outcome) noexcept;
std::string_view name_of(loss_reason reason) noexcept;

// Override what you want to hear of. Called on pawl's own loop: a method that blocks delays the
// heartbeat of every lease, and one that throws ends the process.
class observer {
public:
    virtual ~observer() = default;

    virtual void on_acquire(std::string_view /*key*/, acquire_outcome, millis /*waited*/) {}
    // Not renewed and no failure in a row: the store said that the lease is lost.
    virtual void on_renew(std::string_view /*key*/, bool /*renewed*/, int /*failures_in_a_row*/) {}
    // max_renew_failures renewals in a row had no answer. The lease is still trusted for `left`.
    virtual void on_trouble(std::string_view /*key*/, int /*failures*/, millis /*left*/) {}
    virtual void on_lost(std::string_view /*key*/, fence_token, loss_reason) {}
    virtual void on_release(std::string_view /*key*/, fence_token, millis /*held_for*/) {}
    virtual void on_store_failure(std::string_view /*operation*/, const failure&) {}
};

}  // namespace pawl
