// Routes of nodes.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// GET /api/v1/nodes.
routes node_routes(shared_context around);

}  // namespace pawl::api
