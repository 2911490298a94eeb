// The clock that leases are counted on: it never steps, and it counts while the machine sleeps.
//
// std::chrono::steady_clock is CLOCK_MONOTONIC on Linux, which stops during suspend. A holder that
// wakes up would believe that it still has time. CLOCK_BOOTTIME counts the sleep as well.
#pragma once

#include <chrono>

namespace pawl {

// Meets the requirements of a clock in <chrono>. Its time points can be compared between all
// processes of one machine and one boot, never between machines. Thread-safe; never fails.
// Source: clock_gettime(2), CLOCK_BOOTTIME.
struct lease_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<lease_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

// A point on the lease clock.
using instant = lease_clock::time_point;

}  // namespace pawl
