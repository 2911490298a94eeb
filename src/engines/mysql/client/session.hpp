// From nothing to a connection that pawl's statements may be sent over: where the server is, the
// log-in, what the session must not inherit, and the tables.
#pragma once

#include "engines/mysql/client/link.hpp"
#include "engines/mysql/client/statement.hpp"

#include <pawl/spi/async.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pawl::mysql {

enum class tables_of { leases, journal };

// The tables that have to be there before the first statement. Constant for the whole process.
struct table_plan {
    tables_of what = tables_of::leases;
    const statement* schema = nullptr;
    const statement* layout = nullptr;     // answers with the version first
    const statement* whole = nullptr;      // marks data as whole from now on (rule 7); of leases
    std::vector<std::string_view> tables;  // the one with the version last
    std::int64_t known = 0;                // a higher version was made by a newer pawl
};

// What a session must not inherit from its server is set by it.
const statement& session_statement();

struct session_facts {
    std::string version;
    std::size_t packet_max = 0;  // bytes that the server takes in one text
};

// Ends when link->abort() is called, at the latest. On failure the link is to be closed.
async<session_facts> dial(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                          const table_plan* tables);

// "MariaDB 10.11.19" or "MySQL 8.0.36" from what VERSION() says.
std::string engine_of(std::string_view version);

}  // namespace pawl::mysql
