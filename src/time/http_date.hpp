// The time as HTTP's Date field says it: whole seconds, always GMT.
#pragma once

#include "time/clocks.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::time {

// "Sat, 21 Nov 2026 18:42:14 GMT", since the Unix epoch: the one form that servers send. The day of
// the week is not looked at. Nothing for any other text. Source: RFC 9110, 5.6.7.
std::optional<std::chrono::seconds> parse_http_date(std::string_view text);

// In that form.
std::string format_http_date(wall_instant when);

}  // namespace pawl::time
