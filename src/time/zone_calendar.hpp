// The offsets of one zone as a table, read once: a look is a binary search, while the date library
// builds a name and a range for each.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pawl::time {

// A time on the clock on the wall of a zone, in seconds since 1970-01-01 00:00 of that clock.
using wall_clock = std::chrono::seconds;

// A range of instants in which the offset stays the same. It ends where the next one begins.
struct stretch {
    std::chrono::sys_seconds begin;
    std::chrono::seconds offset;
};

// Stretches in rising order, neighbours with different offsets. The first begins before all times,
// the last never ends.
struct calendar {
    std::string name;
    std::vector<stretch> stretches;

    std::size_t index_at(std::chrono::sys_seconds when) const noexcept;
    std::chrono::sys_seconds end_of(std::size_t index) const noexcept;
    // The first reading of the clock in this stretch, and the first one that is no more of it.
    wall_clock clock_begin(std::size_t index) const noexcept;
    wall_clock clock_end(std::size_t index) const noexcept;
};

// Beyond every instant and every clock that can be asked for, and still far from overflow.
inline constexpr std::chrono::seconds end_of_times{1LL << 50};

}  // namespace pawl::time
