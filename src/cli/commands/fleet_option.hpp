// The fleet that `pawl bench --plan` is about, as people write it.
#pragma once

#include "schedule/queue/load_estimate.hpp"

#include <string>
#include <string_view>

namespace pawl::cli {

// Of "agents=30,jobs=1200,every=1m,run=5s,ttl=30s", in any order; what is not named is as
// schedule::fleet has it. Throws exit_error with status::usage for anything else, in one line.
schedule::fleet fleet_in(std::string_view text);

}  // namespace pawl::cli
