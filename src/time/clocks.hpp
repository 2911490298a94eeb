// The clocks that pawl reads. Nothing outside src/time reads one.
#pragma once

#include <pawl/clock.hpp>

#include <chrono>
#include <string>

namespace pawl::time {

// Microseconds since the Unix epoch.
using wall_instant = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// The kernel's own wall clock, by system call: a clock that a preloaded library fakes for one
// process can then not become the clock of a store that many processes share.
wall_instant wall_now() noexcept;

// The wall clock as this node believes it to be, by the C library: what a schedule goes by. What
// fakes the clock of one process fakes this one.
wall_instant local_now() noexcept;

// CLOCK_MONOTONIC, which systemd goes by in what it is told. Stops while the machine sleeps, so it
// is no clock for leases.
std::chrono::microseconds monotonic_now() noexcept;

// Names this boot of this machine; readings of the lease clock compare only within one boot.
// Source: /proc/sys/kernel/random/boot_id. Empty where the file cannot be read.
const std::string& boot_id();

}  // namespace pawl::time
