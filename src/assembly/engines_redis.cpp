#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_redis();

extern "C" const pawl::engine_module* pawl_engines_redis() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"redis",
                     {"redis", "rediss", "redis+unix", "redis+sentinel", "redis+cluster", "valkey",
                      "valkeys", "valkey+unix", "valkey+sentinel", "valkey+cluster"},
                     PAWL_LIBRARY_REDIS,
                     plan_by<plan_redis>},
#ifdef PAWL_STORE_REDLOCK
                    {"redlock", {"redlock"}, PAWL_LIBRARY_REDIS, plan_by<plan_redlock>}
#endif
        }};
    return &all;
}
