// Containers may have a CLOCK_BOOTTIME of their own: a time namespace (time_namespaces(7)), which
// adds an offset to the machine's.
#pragma once

#include <chrono>
#include <istream>

namespace pawl::time {

// What this process's CLOCK_BOOTTIME is ahead of the machine's. Constant while a process lives.
// Source: /proc/self/timens_offsets. 0 where there is no such file.
std::chrono::nanoseconds boottime_offset();

// The same out of the file's text.
std::chrono::nanoseconds boottime_offset_in(std::istream& offsets);

}  // namespace pawl::time
