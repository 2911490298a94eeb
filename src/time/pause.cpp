#include "time/pause.hpp"

#include <cerrno>
#include <ctime>

namespace pawl::time {

void pause_until(instant when) noexcept {
    const auto since_boot = when.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    timespec until{};
    until.tv_sec = seconds.count();
    until.tv_nsec = (since_boot - seconds).count();
    // A signal ends a wait early.
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

}  // namespace pawl::time
