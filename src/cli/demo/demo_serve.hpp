// pawl demo --serve: agents with something to look at, and their page, until Ctrl-C.
#pragma once

#include "cli/options/configuration.hpp"
#include "cli/output/status.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::cli {

// A port of this machine that no process listens on: the first that is free from `wanted` on, or 0.
std::uint16_t free_port_from(std::uint16_t wanted);

// `store` is a URL, `folder` a folder for files of this; `nodes` are the agents' names. Ends with
// SIGINT or SIGTERM, and takes the agents with it. With --json the agents are added to `report`,
// which is printed as soon as they are there.
status serve_demo(const globals& options, const std::string& store, const std::string& folder,
                  const std::vector<std::string>& nodes, boost::json::object report);

}  // namespace pawl::cli
