#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_memory();

extern "C" const pawl::engine_module* pawl_engines_memory() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION, .engines = {{"memory", {"memory"}, "", plan_by<plan_memory>}}};
    return &all;
}
