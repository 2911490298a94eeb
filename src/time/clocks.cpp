#include "time/clocks.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

wall_instant local_now() noexcept {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::chrono::microseconds monotonic_now() noexcept {
    timespec now{};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::microseconds{now.tv_nsec / 1000};
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

}  // namespace pawl::time
