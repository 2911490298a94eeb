#include "time/clocks.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace pawl {

lease_clock::time_point lease_clock::now() noexcept {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return time_point{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

}  // namespace pawl

namespace pawl::time {

wall_instant wall_now() noexcept {
    timespec now{};
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return wall_instant{std::chrono::seconds{now.tv_sec} +
                        std::chrono::microseconds{now.tv_nsec / 1000}};
}

const std::string& boot_id() {
    static const std::string id = [] {
        std::ifstream file{"/proc/sys/kernel/random/boot_id"};
        std::string line;
        std::getline(file, line);
        return line;
    }();
    return id;
}

std::string format_rfc3339(wall_instant when) {
    using namespace std::chrono;
    const auto day = floor<days>(when);
    const year_month_day date{day};
    const hh_mm_ss clock{floor<milliseconds>(when - day)};
    char text[64];
    std::snprintf(
        text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld.%03ldZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
        static_cast<long>(clock.seconds().count()), static_cast<long>(clock.subseconds().count()));
    return text;
}

}  // namespace pawl::time
