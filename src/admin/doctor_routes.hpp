// The store's checks, as `pawl doctor` makes them.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

namespace pawl::admin {

// Everybody who asks within so long is told the same; asking takes some seconds, once.
constexpr millis diagnosis_age_max{10'000};

routes doctor_routes(shared_surroundings around);

}  // namespace pawl::admin
