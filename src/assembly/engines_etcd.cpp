#include "assembly/planners.hpp"

#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* pawl_engines_etcd();

extern "C" const pawl::engine_module* pawl_engines_etcd() {
    using namespace pawl::assembly;
    static const pawl::engine_module all{
        .built_with = PAWL_VERSION,
        .engines = {{"etcd", {"etcd", "etcds"}, PAWL_LIBRARY_ETCD, plan_by<plan_etcd>}}};
    return &all;
}
