// Dials a Redis and logs in: what every connection does before its first request.
#pragma once

#include "net/byte_stream.hpp"
#include "stores/redis/redis_settings.hpp"
#include "stores/redis/resp.hpp"

#include <pawl/spi/async.hpp>

#include <memory>
#include <string>

namespace pawl::redis {

enum class durability {
    uncertain,  // a restart may forget what was answered
    synced      // every write is on disk before it is answered
};

// What the server said of itself; asked for under quarantine only.
struct session_facts {
    std::string run_id;  // changes with every start of the server
    durability writes = durability::uncertain;
};

// Has no timeout: whoever owns the stream closes it when patience runs out. A failure is
// `unreachable` when trying again may help.
async<session_facts> dial(std::shared_ptr<net::byte_stream> stream,
                          std::shared_ptr<reply_parser> parser,
                          std::shared_ptr<const redis_settings> settings);

}  // namespace pawl::redis
