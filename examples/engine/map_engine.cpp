// The same store as an engine of its own: `pawl exec --store map:NAME` finds it in pawl-map.so.
#include "map_store.hpp"

#include <pawl/spi/module.hpp>
#include <pawl/spi/store_url.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace {

// All stores of this process that give one name see the same leases.
std::shared_ptr<example::key_records> records_of(const std::string& name) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<example::key_records>> all;
    const std::lock_guard lock{mutex};
    auto& found = all[name];
    if (!found) found = std::make_shared<example::key_records>();
    return found;
}

pawl::engine_plan plan_map(std::string_view text) {
    pawl::store_url url{text};
    pawl::engine_plan plan;
    plan.settings = url.settings();
    url.finish();
    if (!url.endpoints().empty())
        throw pawl::option_error{"map: takes a name, such as map:NAME, and no host"};
    plan.make = [records = records_of(url.path()), settings = plan.settings](const auto&) {
        return std::make_shared<example::map_store>(records, settings);
    };
    return plan;
}

}  // namespace

PAWL_ENGINE_MODULE(pawl::engine_module{.engines = {{"map", {"map"}, "", plan_map}}});
