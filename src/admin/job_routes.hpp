// Jobs: to look at them, to run one now, to pause and resume them.
#pragma once

#include "admin/call.hpp"
#include "admin/job_reading.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

// GET /api/v1/jobs and /api/v1/jobs/{name}; POST to …/runs, …/pause and …/resume.
routes job_routes(shared_surroundings around);

}  // namespace pawl::admin
