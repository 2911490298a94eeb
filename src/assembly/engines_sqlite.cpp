#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_sqlite();

extern "C" const pawl::engine_module* pawl_engines_sqlite() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"sqlite", {"sqlite"}, PAWL_LIBRARY_SQLITE, plan_by<plan_sqlite>}}};
    return &all;
}
