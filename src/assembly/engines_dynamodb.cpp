#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_dynamodb();

extern "C" const pawl::engine_module* pawl_engines_dynamodb() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"dynamodb", {"dynamodb"}, PAWL_LIBRARY_DYNAMODB, plan_by<plan_dynamodb>}}};
    return &all;
}
