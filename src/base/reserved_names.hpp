// Keys and resources that are pawl's own: of jobs, and of the agents among themselves.
#pragma once

#include <string_view>

namespace pawl::base {

// The key of an agent's job is this and its name.
constexpr std::string_view job_key_prefix = "job/";
// Of what agents and checks keep for themselves.
constexpr std::string_view own_key_prefix = "pawl/";

constexpr bool is_reserved_name(std::string_view name) {
    return name.starts_with(job_key_prefix) || name.starts_with(own_key_prefix);
}

}  // namespace pawl::base
