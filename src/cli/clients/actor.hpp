// Who gives a command, for the audit.
#pragma once

#include <string>

namespace pawl::cli {

// user@host
std::string actor_name();

}  // namespace pawl::cli
