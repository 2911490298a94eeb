#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_azblob();

extern "C" const pawl::engine_module* pawl_engines_azblob() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"azblob", {"azblob"}, PAWL_LIBRARY_AZBLOB, plan_by<plan_azblob>}}};
    return &all;
}
