// The same store as an engine of its own: `pawl exec --store map:` finds it in pawl-map.so.
#include "map_store.hpp"

#include <pawl/spi/module.hpp>

#include <memory>
#include <string_view>

namespace {

pawl::engine_plan plan_map(std::string_view url) {
    if (url != "map:") throw pawl::option_error{"map: takes neither a path nor parameters"};
    // All stores of a process see the same leases.
    static const auto server = std::make_shared<example::shelf>();
    pawl::engine_plan plan;
    plan.make = [](const pawl::engine_place&) {
        return std::make_shared<example::map_store>(server);
    };
    return plan;
}

}  // namespace

PAWL_ENGINE_MODULE(pawl::engine_module{.engines = {{"map", {"map"}, "", plan_map}}});
