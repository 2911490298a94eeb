// Leases in ZooKeeper: each is an ephemeral znode below the record of its key, made and deleted
// together with the record's next version by one transaction.
//
// docs/stores/zookeeper.md says what an ensemble can promise, and what its user must be allowed.
#pragma once

#include "engines/zookeeper/client/zookeeper_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::zookeeper {

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid, and
// there is at least one server.
std::shared_ptr<lease_store> make_zookeeper_store(net::loop& where, zookeeper_settings settings);

}  // namespace pawl::zookeeper
