// The rules that all engines share, on a clock that is known by two bounds: which bound each of
// them is given.
//
// A lease is over when the lower bound is past its end, and ends where the upper one stands. So no
// end comes early, by whichever front end of the store it is looked at.
#pragma once

#include "engines/cas/store/record_text.hpp"
#include "engines/cas/store/store_clock.hpp"

#include <pawl/spi/lease_store.hpp>

namespace pawl::cas {

// Of the record of a key; each changes the record as its verb says. `term` is kept with `until`.
struct lease_rules {
    explicit lease_rules(lease_record record) : kept{std::move(record)} {}

    // Whether the lease or the cooldown may still go on.
    bool live(const clock_bounds& now) const noexcept { return now.low < kept.state.until; }

    // Who has seen the record unchanged for so long knows that it is over, without any clock of the
    // store's.
    bool outlived(instant::duration unchanged) const noexcept;
    void end() noexcept { kept.state.until = micros{0}; }

    acquire_result<grant> acquire(const claim& wanted, millis ttl, const clock_bounds& now,
                                  millis max_skew);
    rules::end_effect withdraw(const withdrawal& given_up, const clock_bounds& now);

    // `age`: the grant is at least so long ago.
    rules::end_effect release(fence_token token, const release_options& how, instant::duration age,
                              const clock_bounds& now);
    bool renew(const held_lease& lease, millis ttl, instant::duration age, const clock_bounds& now);
    bool force_release(fence_token token, millis delay, const clock_bounds& now);

    record describe(const std::string& key, const clock_bounds& now) const;

    // The text of the record as it is written now.
    std::string text(std::string nonce, const clock_bounds& now);

    lease_record kept;

private:
    rules::lease_record on_one_clock(const clock_bounds& now) const;
    millis remaining(const clock_bounds& now) const noexcept;
};

}  // namespace pawl::cas
