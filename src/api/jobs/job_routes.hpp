// Jobs: to look at them, to run one now, to pause and resume them.
#pragma once

#include "api/jobs/job_reading.hpp"
#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// GET /api/v1/jobs and /api/v1/jobs/{name}; POST to …/runs, …/pause and …/resume.
routes job_routes(shared_context around);

}  // namespace pawl::api
