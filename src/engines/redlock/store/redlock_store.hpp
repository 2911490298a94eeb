// Fenced Redlock: leases that a majority of independent Redis servers agrees on (rules 16 to 19).
//
// docs/stores/redlock.md says what that can promise, on which clocks it leans, and why the
// write-back is there.
#pragma once

#include "engines/redlock/store/redlock_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::redlock {

// Opens nothing yet: the first verb connects. REQUIRES: nodes_min to nodes_max nodes, and
// settings.common.name_space is valid.
std::shared_ptr<lease_store> make_redlock_store(net::loop& where, redlock_settings settings);

}  // namespace pawl::redlock
