// The store's checks, as `pawl doctor` makes them.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// Everybody who asks within so long is told the same; asking takes some seconds, once.
constexpr millis diagnosis_age_max{10'000};

routes doctor_routes(shared_context around);

}  // namespace pawl::api
