// Sets a timer descriptor (timerfd) of CLOCK_BOOTTIME.
#pragma once

#include <pawl/clock.hpp>

namespace pawl::time {

// Fires at `when`, at once if that has passed; instant::max() disarms it. By system call, as
// wall_now() is: a preloaded library that fakes a process's wall clock would move it. False with
// errno where the kernel rejects.
bool set_boot_alarm(int descriptor, instant when) noexcept;

}  // namespace pawl::time
