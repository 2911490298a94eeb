// The route of the overview.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// GET /api/v1/overview.
routes overview_routes(shared_context around);

}  // namespace pawl::api
