// Who is alive, and who did what.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

// GET /api/v1/nodes, /api/v1/audit and /api/v1/audit/verification.
routes board_routes(shared_surroundings around);

}  // namespace pawl::admin
