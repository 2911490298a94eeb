// Leases in a MySQL or MariaDB: each verb is one statement, each lease one row that people can
// read.
//
// docs/stores/mysql.md says what a server can promise, and what its user must be allowed to do.
#pragma once

#include "engines/mysql/client/mysql_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::mysql {

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid.
std::shared_ptr<lease_store> make_mysql_store(net::loop& where, mysql_settings settings);

}  // namespace pawl::mysql
