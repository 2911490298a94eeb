// Whose a lease is, and which keys are pawl's own.
//
// A lease that was taken through the API belongs to the user who took it. The store's record says
// who that is, so that every agent of the store knows: its owner is USER@TEXT, and what a client
// calls itself is only the TEXT.
#pragma once

#include "api/request/call.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::api {

// The owner as the store's record has it. An '@' or '%' of the user's name is written %40 or %25.
std::string owner_text(const caller& who, std::string_view text);
bool is_owned_by(std::string_view owner, const caller& who);

// 403 where only an admin may take the key, or use a fence of that name: runs of jobs and pawl's
// own work have theirs under job/ and pawl/.
std::optional<http::response> reserved_fault(std::string_view key, const caller& who);

}  // namespace pawl::api
