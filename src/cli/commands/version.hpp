// What this program is, and what it was built with.
#pragma once

#include "assembly/engines.hpp"

#include <string>

namespace pawl::cli {

// Such as 0.1.0.
std::string version_number();
// The version and the stores, in two lines.
std::string version_text();
// With the compiler, the libraries, and each store's URL schemes and option.
std::string verbose_version_text();

// Of an engine that is not there: what it takes to have it.
std::string missing_engine(const assembly::engine_info& engine);

}  // namespace pawl::cli
