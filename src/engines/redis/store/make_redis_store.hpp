// Leases in one Redis: each verb is one Lua script, each lease one string that redis-cli can read.
//
// docs/stores/redis.md says what a Redis can promise, and what its user must be allowed to do.
#pragma once

#include "engines/redis/client/redis_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::redis {

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid.
std::shared_ptr<lease_store> make_redis_store(net::loop& where, redis_settings settings);

}  // namespace pawl::redis
