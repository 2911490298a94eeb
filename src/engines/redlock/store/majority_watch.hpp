// Rule 12 over a majority: waits until the key may no longer be held under a token.
#pragma once

#include "engines/redlock/store/quorum.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <memory>
#include <string>

namespace pawl::redlock {

// Ends when so many nodes have announced a change, or say that they hold something else, that fewer
// than a majority may still hold it. Nodes that cannot be watched do not end it, unless the rest
// are no majority. Cancellable.
async<void> watch_over(std::shared_ptr<quorum> among, std::string key, fence_token seen);

}  // namespace pawl::redlock
