// The record of runs in an SQLite file, beside the leases or in a file of its own.
//
// A verb is one transaction on the rules of src/engines/rules/journal; writes that wait go together
// in one. Times are this machine's wall clock, which all who share the file have in common.
#pragma once

#include "engines/sqlite/store/sqlite_store.hpp"
#include "net/loop.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>

#include <memory>
#include <string>

namespace pawl::sqlite {

// Blocks while the file is made or opened, at most for the timeout. Verbs run on the loop; what
// blocks runs beside it. With `synchronous::full` a loss of power takes back heartbeats, output,
// notes and what nodes say of themselves, at most; with `normal` the last of anything.
result<std::shared_ptr<journal>> make_sqlite_journal(net::loop& where, const std::string& path,
                                                     sqlite_settings settings);

}  // namespace pawl::sqlite
