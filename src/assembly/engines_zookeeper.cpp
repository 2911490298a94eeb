#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_zookeeper();

extern "C" const pawl::engine_module* pawl_engines_zookeeper() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"zookeeper", {"zookeeper"}, PAWL_LIBRARY_ZOOKEEPER, plan_by<plan_zookeeper>}}};
    return &all;
}
