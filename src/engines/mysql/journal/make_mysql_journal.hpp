// The record of what ran, in one MySQL or MariaDB: each verb is one text of a few statements.
//
// It has connections of its own, so that no renewal waits behind a journal that is slow, and tables
// and a version of its own in the database that the leases may share.
#pragma once

#include "engines/mysql/client/mysql_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::mysql {

// Opens nothing yet: the first verb connects, and makes the tables if there are none.
// REQUIRES: settings.common.name_space is valid.
std::shared_ptr<journal> make_mysql_journal(net::loop& where, mysql_settings settings);

}  // namespace pawl::mysql
