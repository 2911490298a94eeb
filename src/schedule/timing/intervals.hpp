// How often a node does what others wait for, so that they know when it has failed to.
#pragma once

#include <pawl/types.hpp>

namespace pawl::schedule {

// How often a node looks at the control state: what people ask for is done within that.
constexpr millis control_interval{1'000};
constexpr millis registry_interval{3'000};
// A node that has been unresponsive for longer has no share of the partitions.
constexpr millis node_heartbeat_timeout{10'000};
constexpr millis reconcile_interval{3'000};
constexpr millis publish_interval{60'000};

}  // namespace pawl::schedule
