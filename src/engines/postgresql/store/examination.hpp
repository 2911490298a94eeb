// What a PostgreSQL says of its own health, for `pawl doctor`.
#pragma once

#include "engines/postgresql/client/listener.hpp"
#include "engines/postgresql/client/pool.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <memory>

namespace pawl::postgresql {

async<examination> examine(std::shared_ptr<const postgresql_settings> settings,
                           std::shared_ptr<pool> through, std::shared_ptr<listener> hearing);

}  // namespace pawl::postgresql
