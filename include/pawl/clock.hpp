// The clock that leases are counted on: it never steps, and it goes on while the machine sleeps.
//
// std::chrono::steady_clock is CLOCK_MONOTONIC on Linux, which stops during suspend: a woken holder
// would believe that it still has time. CLOCK_BOOTTIME counts the sleep as well.
#pragma once

#include <chrono>

namespace pawl {

// Source: clock_gettime(2), CLOCK_BOOTTIME. Comparable between all processes of one machine and one
// boot, never between machines. Thread-safe; never fails.
struct lease_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<lease_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

// A point on the lease clock. Machines are handed instants; only src/time reads the clock.
using instant = lease_clock::time_point;

}  // namespace pawl
