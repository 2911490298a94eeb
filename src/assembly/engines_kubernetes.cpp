#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_kubernetes();

extern "C" const pawl::engine_module* pawl_engines_kubernetes() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {
            {"kubernetes", {"kubernetes"}, PAWL_LIBRARY_KUBERNETES, plan_by<plan_kubernetes>}}};
    return &all;
}
