// Durations as people write them: 250ms, 30s, 5m, 2h, 1d, and combinations such as 1h30m.
#pragma once

#include <pawl/types.hpp>

#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace pawl::base {

// What is wrong with the text of a user, and at which byte of it (from 0).
struct text_fault {
    text_fault() = default;
    text_fault(std::size_t column, std::string what) : column{column}, what{std::move(what)} {}

    std::size_t column = 0;
    std::string what;
};

template <class T>
using parsed = boost::system::result<T, text_fault>;

[[noreturn]] void throw_exception_from_error(const text_fault& fault,
                                             const boost::source_location&);

// Units in falling order, each at most once, no sign, no fraction, no space; "0" needs no unit.
// At most 10 years, so that no sum of two durations overflows.
parsed<millis> parse_duration(std::string_view text);

// The shortest combination that parses back to the same duration: 90000 ms is "1m30s".
std::string format_duration(millis duration);

}  // namespace pawl::base
