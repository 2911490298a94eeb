// What pawl_build_info shows.
#pragma once

#include "metrics/instruments.hpp"

namespace pawl::cli {

metrics::build_facts build_facts();

}  // namespace pawl::cli
