#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_mongodb();

extern "C" const pawl::engine_module* pawl_engines_mongodb() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {
            {"mongodb", {"mongodb", "mongodb+srv"}, PAWL_LIBRARY_MONGODB, plan_by<plan_mongodb>}}};
    return &all;
}
