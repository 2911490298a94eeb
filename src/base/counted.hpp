// A number with its noun, as people write it: 1 job, 2 jobs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::base {

// `many` where the plural is more than an s.
std::string counted(std::size_t count, std::string_view one, std::string_view many = {});

}  // namespace pawl::base
