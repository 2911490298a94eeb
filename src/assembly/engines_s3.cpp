#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_s3();

extern "C" const pawl::engine_module* pawl_engines_s3() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION, .engines = {{"s3", {"s3"}, PAWL_LIBRARY_S3, plan_by<plan_s3>}}};
    return &all;
}
