// Waits for a time to come, on the lease clock. For rhythms, never to synchronise.
#pragma once

#include <pawl/clock.hpp>

namespace pawl::time {

// Blocks the calling thread until then; at once when it has passed. Counts the sleep of the
// machine.
void pause_until(instant when) noexcept;

}  // namespace pawl::time
