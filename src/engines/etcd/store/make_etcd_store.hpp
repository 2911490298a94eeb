// Leases in etcd: every verb is one transaction, and a key is held while an etcd lease keeps it.
//
// docs/stores/etcd.md says what a cluster can promise, and what its role must be allowed to do.
#pragma once

#include "engines/etcd/client/etcd_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::etcd {

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid, and
// there is an endpoint.
std::shared_ptr<lease_store> make_etcd_store(net::loop& where, etcd_settings settings);

}  // namespace pawl::etcd
