// A part, or a multiple, of a duration.
#pragma once

#include <chrono>

namespace pawl::base {

// Rounded towards zero.
template <class Rep, class Period>
constexpr std::chrono::duration<Rep, Period> scaled(std::chrono::duration<Rep, Period> whole,
                                                    double factor) {
    return std::chrono::duration<Rep, Period>{
        static_cast<Rep>(static_cast<double>(whole.count()) * factor)};
}

}  // namespace pawl::base
