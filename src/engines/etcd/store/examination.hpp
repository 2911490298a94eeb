// What an etcd cluster says of its own health: the material of `pawl doctor`.
#pragma once

#include "engines/etcd/client/client.hpp"
#include "engines/etcd/store/lease_text.hpp"

#include <pawl/spi/examination.hpp>

#include <memory>

namespace pawl::etcd {

// Read-only. A failure when no node answers at all.
async<examination> examine_cluster(std::shared_ptr<client> through, key_names names);

}  // namespace pawl::etcd
