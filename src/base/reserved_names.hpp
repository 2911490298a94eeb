// Keys and resources that are pawl's own: of jobs, and of the agents among themselves.
#pragma once

#include <string_view>

namespace pawl::base {

// The key of an agent's job is this and its name. config::job_settings::key() and
// schedule::job_plan have it as well: they are included everywhere, and include nothing for it.
constexpr std::string_view job_key_prefix = "job/";

constexpr bool is_reserved_name(std::string_view name) {
    return name.starts_with(job_key_prefix) || name.starts_with("pawl/");
}

}  // namespace pawl::base
