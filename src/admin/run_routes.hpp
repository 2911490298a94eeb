// Runs: to look at them, to read and follow what they write, to cancel one.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

// GET /api/v1/runs, /api/v1/runs/{id} and …/output; POST to …/cancel.
routes run_routes(shared_surroundings around);

}  // namespace pawl::admin
