// Leases in an SQLite file: one machine, many processes, nothing to install.
//
// Every verb is one transaction on the rules of src/engines/rules/store. The lease clock of the
// machine ends leases, and a lease of an earlier boot is over, because its holder cannot be alive.
#pragma once

#include "engines/sqlite/client/connection.hpp"
#include "net/loop.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>
#include <string>

namespace pawl::sqlite {

struct sqlite_settings {
    store_settings common{};
    // `full` waits for the disk wherever a loss of power could let a token fall or an occurrence
    // run twice: grants, occurrences that are done, cooldowns, forced releases and fences.
    // `normal` never waits: a loss of power may take back the last of them. Neither loses anything
    // when a process is killed.
    synchronous durability = synchronous::full;
};

// Blocks while the file is made or opened, at most for the timeout. Verbs run on the loop; what
// blocks runs beside it.
result<std::shared_ptr<lease_store>> make_sqlite_store(net::loop& where, const std::string& path,
                                                       sqlite_settings settings);

}  // namespace pawl::sqlite
