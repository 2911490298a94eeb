// The addresses of servers that are given by name.
//
// The C client would look names up whenever it connects, and its caller, who drives everything else
// as well, would wait for that. So it is given addresses only.
#pragma once

#include "engines/zookeeper/client/zookeeper_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/async.hpp>

#include <vector>

namespace pawl::zookeeper {

bool has_names(const std::vector<server>& servers);

// In the same order, all of each; `unreachable` when none has an address now.
async<std::vector<server>> find_addresses(net::loop::executor_type executor,
                                          std::vector<server> servers);

}  // namespace pawl::zookeeper
