#include "time/boot_alarm.hpp"

#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace pawl::time {

bool set_boot_alarm(int descriptor, instant when) noexcept {
    itimerspec setting{};
    if (when != instant::max()) {
        // Zero would disarm it: a time that has passed is the first nanosecond since boot.
        const auto since_boot = std::max(when.time_since_epoch(), std::chrono::nanoseconds{1});
        setting.it_value.tv_sec = since_boot.count() / 1'000'000'000;
        setting.it_value.tv_nsec = since_boot.count() % 1'000'000'000;
    }
    return syscall(SYS_timerfd_settime, descriptor, TFD_TIMER_ABSTIME, &setting, nullptr) == 0;
}

}  // namespace pawl::time
