// The agent as its own API sees it, across the two loops.
#pragma once

#include "agent/agent.hpp"
#include "api/request/context.hpp"
#include "net/loop.hpp"

#include <memory>

namespace pawl::api {

// `loop` is the agent's, and outlives the view.
std::shared_ptr<node_view> view_of(std::shared_ptr<agent::agent> who, net::loop& loop);

}  // namespace pawl::api
