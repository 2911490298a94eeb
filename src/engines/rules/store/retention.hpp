// How long a store keeps a record at least, whatever its retention.
#pragma once

#include <pawl/types.hpp>

#include <algorithm>

namespace pawl::rules {

// A claim that comes late must find its record, or the trace of its withdrawal: no request is under
// way for longer.
constexpr millis retention_min{5'000};

constexpr millis kept_for(millis retention) { return std::max(retention, retention_min); }

}  // namespace pawl::rules
