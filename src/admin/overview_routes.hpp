// What there is to see at one glance.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

// GET /api/v1/overview.
routes overview_routes(shared_surroundings around);

}  // namespace pawl::admin
