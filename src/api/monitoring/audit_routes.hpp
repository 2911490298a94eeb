// Routes of the audit log.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// GET /api/v1/audit and /api/v1/audit/verification.
routes audit_routes(shared_context around);

}  // namespace pawl::api
