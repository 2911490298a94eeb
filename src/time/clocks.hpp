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

// Names this boot of this machine; readings of the lease clock compare only within one boot.
// Source: /proc/sys/kernel/random/boot_id. Empty where the file cannot be read.
const std::string& boot_id();

}  // namespace pawl::time
