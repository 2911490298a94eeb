// The agent as its own API sees it, across the two loops.
#pragma once

#include "admin/surroundings.hpp"
#include "agent/agent.hpp"
#include "net/loop.hpp"

#include <memory>

namespace pawl::admin {

// `loop` is the agent's, and outlives the view.
std::shared_ptr<node_view> view_of(std::shared_ptr<agent::agent> who, net::loop& loop);

}  // namespace pawl::admin
