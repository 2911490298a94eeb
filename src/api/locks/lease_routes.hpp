// Leases and fences for programs in any language: docs/http.md.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

namespace pawl::api {

// How long a request may wait for a busy key.
constexpr millis lease_wait_max{60'000};
constexpr std::size_t claim_id_bytes_max = 64;
// Of so many leases it is remembered when they were granted here, to count how long they were held.
constexpr std::size_t leases_remembered_max = 10'000;

routes lease_routes(shared_context around);

}  // namespace pawl::api
