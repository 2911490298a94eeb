// The arithmetic of lease validity: when to renew, when to stop the job, when the lease has
// expired.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/options.hpp>

#include <chrono>

namespace pawl::leasing {

using nanos = std::chrono::nanoseconds;

// lease_options with every default worked out. Constant for the life of a lease.
struct renewal_timing {
    nanos ttl{};
    nanos trust{};         // how long after a request was sent its answer may be believed (rule 8)
    nanos renew_after{};   // from the sending of the last successful request
    nanos retry_after{};   // from the sending of one that has no answer yet
    nanos stop_margin{};   // before the end of trust (rule 10)
    nanos max_lifetime{};  // 0: no bound
    double jitter = 0;
    renewal_mode renew = renewal_mode::automatic;
    expired_renewal if_expired = expired_renewal::lose;
};

// REQUIRES: validate() had nothing to say about the options.
renewal_timing renewal_timing_of(const lease_options& options);

}  // namespace pawl::leasing
