#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_mysql();

extern "C" const pawl::engine_module* pawl_engines_mysql() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"mysql", {"mysql"}, PAWL_LIBRARY_MYSQL, plan_by<plan_mysql>}}};
    return &all;
}
