// Keys and resources that are pawl's own: of jobs, and of the agents among themselves.
#pragma once

#include <string_view>

namespace pawl::base {

constexpr bool is_reserved_name(std::string_view name) {
    return name.starts_with("job/") || name.starts_with("pawl/");
}

}  // namespace pawl::base
