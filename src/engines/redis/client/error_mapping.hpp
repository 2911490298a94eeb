// What an error reply of Redis means for the caller. The server rejected before it executed
// anything, so none of these is an unknown outcome.
#pragma once

#include "engines/redis/client/redis_settings.hpp"

#include <pawl/errors.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::redis {

// `place` begins the detail; the server's own words follow, on one line.
failure explain_rejection(std::string_view place, std::string_view error);

bool is_unknown_script(std::string_view error) noexcept;
bool is_unknown_command(std::string_view error) noexcept;
bool is_missing_privilege(std::string_view error) noexcept;
// A replica, or a master that has just become one.
bool is_read_only(std::string_view error) noexcept;
// Some keys of a command with several have moved to another node already, and some have not.
bool is_split(std::string_view error) noexcept;
// A node of a cluster that cannot serve this now, though it or another will soon.
bool is_cluster_in_motion(std::string_view error) noexcept;

// Where a node of a cluster sends its client.
struct redirection {
    enum class kind { moved, ask } how;  // from now on, or for this one request
    std::size_t slot;
    server_address to;  // without a host: the one that was asked, at another port
};
std::optional<redirection> read_redirection(std::string_view error);

}  // namespace pawl::redis
