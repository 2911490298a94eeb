#include "cli/commands/version.hpp"

#include "assembly/engines.hpp"
#include "assembly/modules.hpp"

#include <pawl/version.hpp>

namespace pawl::cli {
namespace {

// Needed beside it, as it is joined to other texts by the preprocessor.
static_assert(PAWL_VERSION == version);

bool is_there(const assembly::engine_info& engine) {
    return engine.linked_in || (!engine.module.empty() && assembly::find_module(engine.module));
}

}  // namespace

std::string missing_engine(const assembly::engine_info& engine) {
    return engine.module.empty() ? "not built in: " + std::string{engine.option}
                                 : "not installed: " + std::string{engine.module};
}

std::string version_number() { return PAWL_VERSION; }

std::string version_text() {
    std::string text = "pawl " PAWL_VERSION "\nstores:";
    for (const auto& engine : assembly::known_engines())
        text += " " + std::string{engine.name} +
                (is_there(engine) ? "" : " (" + missing_engine(engine) + ")");
    return text;
}

}  // namespace pawl::cli
