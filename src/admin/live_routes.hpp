// GET /api/v1/events: what changes, as it changes.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

constexpr std::size_t viewers_max = 1'000;

routes live_routes(shared_surroundings around);

}  // namespace pawl::admin
