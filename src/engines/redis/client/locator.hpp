// Which server to dial next, where that changes.
#pragma once

#include "engines/redis/client/redis_settings.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <memory>

namespace pawl::redis {

class locator {
public:
    virtual ~locator() = default;
    // Ends by the deadline. The settings name one server.
    virtual async<std::shared_ptr<const redis_settings>> locate(instant deadline) = 0;
};

}  // namespace pawl::redis
