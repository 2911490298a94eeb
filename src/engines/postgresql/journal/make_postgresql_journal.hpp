// The record of what ran, in one PostgreSQL: each verb is one function in the database.
//
// It has connections of its own, so that no renewal waits behind a journal that is slow, and tables
// and a version of its own in the schema that the leases may share.
#pragma once

#include "engines/postgresql/client/layout.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::postgresql {

// Opens nothing yet: the first verb connects, and makes the tables if there are none.
// REQUIRES: settings.common.name_space is valid, and schema a word of [a-z0-9_].
std::shared_ptr<journal> make_postgresql_journal(net::loop& where, postgresql_settings settings);

// What the journal needs in its schema.
const layout_plan& journal_layout();

}  // namespace pawl::postgresql
