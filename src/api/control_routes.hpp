// Routes of nodes and of the audit log.
#pragma once

#include "api/call.hpp"
#include "api/context.hpp"

namespace pawl::api {

// GET /api/v1/nodes, /api/v1/audit and /api/v1/audit/verification.
routes control_routes(shared_context around);

}  // namespace pawl::api
