// Handles of sessions that no caller uses any more, but that carry leases or have to be closed.
#pragma once

#include "engines/zookeeper/client/client_handle.hpp"

#include <memory>

namespace pawl::zookeeper {

// Closes the handle at `when` on a thread of its own; never blocks. Until then it is not driven: a
// session outlives each of its leases by itself. The process may end before: then the server ends
// the session after its timeout.
void close_later(std::unique_ptr<client_handle> handle, instant when);

}  // namespace pawl::zookeeper
