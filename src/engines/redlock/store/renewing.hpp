// Rule 18: one request to each node for many leases; each lease is renewed if a majority still
// holds it, and nodes that do not are topped up where that is allowed.
#pragma once

#include "engines/redlock/store/held_leases.hpp"
#include "engines/redlock/store/quorum.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace pawl::redlock {

// Leases renewed by one call of the script: Redis serves no other client meanwhile, for about 2 ms.
constexpr std::size_t renew_batch_max = 512;

// One answer for each lease, in order. `unknown` where nodes that are silent decide; a failure
// where no majority answered at all. REQUIRES: at most renew_batch_max leases; `leases` and `mine`
// live until the end.
async<std::vector<renewal>> renew_batch(std::shared_ptr<quorum> among, held_leases& mine,
                                        std::span<const held_lease> leases);

}  // namespace pawl::redlock
