#include "time/time_namespace.hpp"

#include <fstream>
#include <string>

namespace pawl::time {

std::chrono::nanoseconds boottime_offset_in(std::istream& offsets) {
    std::string clock;
    std::int64_t seconds = 0, nanoseconds = 0;
    while (offsets >> clock >> seconds >> nanoseconds)
        if (clock == "boottime")
            return std::chrono::seconds{seconds} + std::chrono::nanoseconds{nanoseconds};
    return {};
}

std::chrono::nanoseconds boottime_offset() {
    static const auto offset = [] {
        std::ifstream file{"/proc/self/timens_offsets"};
        return boottime_offset_in(file);
    }();
    return offset;
}

}  // namespace pawl::time
