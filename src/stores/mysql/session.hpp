// From nothing to a connection that pawl's statements may be sent over: where the server is, the
// log-in, what the session must not inherit, and the tables.
#pragma once

#include "stores/mysql/link.hpp"

#include <pawl/spi/async.hpp>

#include <memory>

namespace pawl::mysql {

constexpr int layout_known = 1;

struct session_facts {
    std::string version;
    std::size_t packet_max = 0;  // bytes that the server takes in one text
};

// Ends when link->abort() is called, at the latest. On failure the link is to be closed.
async<session_facts> dial(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to);

// "MariaDB 10.11.19" or "MySQL 8.0.36" from what VERSION() says.
std::string engine_of(std::string_view version);

}  // namespace pawl::mysql
