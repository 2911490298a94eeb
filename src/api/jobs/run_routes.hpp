// Runs: to look at them, to read and follow what they write, to cancel one.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// GET /api/v1/runs, /api/v1/runs/{id} and …/output; POST to …/cancel.
routes run_routes(shared_context around);

}  // namespace pawl::api
