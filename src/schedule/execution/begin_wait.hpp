// The longest time between a run's grant and its beginning.
#pragma once

#include <pawl/types.hpp>

namespace pawl::schedule {

// How long a run that is asked for waits, under its lease, for the journal to say that no other
// node has run it; one that is due waits less.
inline constexpr millis begin_wait_max{10'000};

}  // namespace pawl::schedule
