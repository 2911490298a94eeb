// What Redis says of its own health, for `pawl doctor`: read-only.
#pragma once

#include "engines/redis/client/servers.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::redis {

// What one server said. Empty is what its user may not know.
struct server_facts {
    std::string place;
    std::string info;                             // INFO, all of its usual sections
    std::map<std::string, std::string> settings;  // CONFIG GET
    std::string user;                             // ACL WHOAMI
    std::vector<std::string> forbidden;           // commands that this user may not run
    std::optional<std::int64_t> clock;            // TIME, Unix microseconds
    std::string marker;                           // of the quarantine, in the first shard
    std::string cluster;                          // CLUSTER INFO
    std::optional<finding> tls;
};

// Pure: what to make of it.
std::vector<finding> judge_server(const server_facts& said, const redis_settings& settings);
std::vector<finding> check_clocks(const std::vector<server_facts>& all);

async<examination> examine_servers(std::shared_ptr<servers> whose,
                                   std::shared_ptr<const redis_settings> settings);

}  // namespace pawl::redis
