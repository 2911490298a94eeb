// The range of all strings with one prefix, in byte order: from the prefix to its end.
#pragma once

#include <optional>
#include <string>

namespace pawl::base {

// The smallest string above all that start with `prefix`, or nothing when there is none.
std::optional<std::string> end_of_prefix(std::string prefix);

}  // namespace pawl::base
