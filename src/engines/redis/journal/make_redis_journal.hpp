// The journal in Redis: each verb is one Lua script, each run one hash that redis-cli can read.
//
// It has connections of its own, so that a page of runs on its way never holds up a renewal.
#pragma once

#include "engines/redis/client/redis_settings.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::redis {

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid.
std::shared_ptr<journal> make_redis_journal(net::loop& where, redis_settings settings);

}  // namespace pawl::redis
