#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_postgresql();

extern "C" const pawl::engine_module* pawl_engines_postgresql() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{.built_with = PAWL_VERSION,
                                         .engines = {{"postgresql",
                                                      {"postgresql", "postgres"},
                                                      PAWL_LIBRARY_POSTGRESQL,
                                                      plan_by<plan_postgresql>}}};
    return &all;
}
