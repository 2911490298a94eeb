// What the nodes say of their health, and what that means for a majority: for `pawl doctor`.
#pragma once

#include "engines/redis/store/examination.hpp"
#include "engines/redlock/store/quorum.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::redlock {

// How far each node's clock is ahead of this machine's, and what it said.
struct node_facts {
    redis::server_facts said;
    std::optional<std::int64_t> ahead_us;
};

// Pure: what to make of all of them. `silent` nodes said nothing.
std::vector<finding> judge_nodes(const std::vector<node_facts>& all,
                                 const std::vector<failure>& silent,
                                 const redis::redis_settings& settings, std::size_t nodes);

// Read-only. Fails when no node answers.
async<examination> examine_nodes(std::shared_ptr<quorum> among);

}  // namespace pawl::redlock
