// Leases in one PostgreSQL: each verb is one function in the database, each lease one row.
//
// docs/stores/postgresql.md says what a PostgreSQL can promise, and what its user must be allowed.
#pragma once

#include "engines/postgresql/client/postgresql_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace pawl::postgresql {

// Opens nothing yet: the first verb connects, and makes the schema if there is none.
// REQUIRES: settings.common.name_space is valid, and schema a word of [a-z0-9_].
std::shared_ptr<lease_store> make_postgresql_store(net::loop& where, postgresql_settings settings);

// The connection keywords that this libpq knows, such as sslmode.
const std::vector<std::string>& known_keywords();

}  // namespace pawl::postgresql
