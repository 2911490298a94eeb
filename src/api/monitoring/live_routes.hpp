// GET /api/v1/events: what changes, as it changes.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

constexpr std::size_t viewers_max = 1'000;
constexpr std::size_t viewers_of_user_max = viewers_max / 4;

routes live_routes(shared_context around);

}  // namespace pawl::api
