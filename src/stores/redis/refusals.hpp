// What an error reply of Redis means for the caller. The server refused before it executed
// anything, so none of these is an unknown outcome.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::redis {

// `place` begins the detail; the server's own words follow, on one line.
failure explain_refusal(std::string_view place, std::string_view error);

bool is_unknown_script(std::string_view error) noexcept;
bool is_unknown_command(std::string_view error) noexcept;
bool is_missing_privilege(std::string_view error) noexcept;

}  // namespace pawl::redis
