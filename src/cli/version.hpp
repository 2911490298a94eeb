// What this binary is, and what it was built with.
#pragma once

#include "metrics/instruments.hpp"

#include <string>

namespace pawl::cli {

// Such as 0.1.0.
std::string version_number();
metrics::build_facts build_facts();
// The version and the stores, in two lines.
std::string version_text();
// With the compiler, the libraries, and each store's URL schemes and option.
std::string verbose_version_text();

}  // namespace pawl::cli
