#include "assembly/engines.hpp"
#include "assembly/modules.hpp"
#include "cli/commands/build_facts.hpp"
#include "cli/commands/version.hpp"
#include "cli/revision.hpp"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <CLI/Version.hpp>
#include <boost/version.hpp>

namespace pawl::cli {
namespace {

std::string schemes_of(const assembly::engine_info& engine) {
    std::string list;
    for (const auto one : engine.schemes)
        list += (list.empty() ? "" : " ") + std::string{one} + ":";
    return list;
}

// Some engines stand on what pawl itself does.
std::string with_library(const std::string& whereabouts, std::string_view library) {
    return library.empty() ? whereabouts : fmt::format("{} ({})", whereabouts, library);
}

// Loads the engine's module, to hear from it what it stands on.
std::string whereabouts(const assembly::engine_info& engine) {
    if (engine.option.empty()) return "always built in";
    if (engine.linked_in) return with_library(fmt::format("{}=ON", engine.option), engine.library);
    const auto file = engine.module.empty() ? std::nullopt : assembly::find_module(engine.module);
    if (!file) return missing_engine(engine);
    try {
        for (const auto& entry : assembly::load_module(*file).engines)
            if (entry.name == engine.name) return with_library(file->string(), entry.library);
        return missing_engine(engine);
    } catch (const option_error& unfit) {
        return unfit.what();
    }
}

std::string boost_version() {
    return fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                       BOOST_VERSION % 100);
}

}  // namespace

metrics::build_facts build_facts() { return {PAWL_VERSION, PAWL_REVISION, PAWL_COMPILER}; }

std::string verbose_version_text() {
    auto text = fmt::format(
        "pawl " PAWL_VERSION "\nrevision: {}\ncompiler: " PAWL_COMPILER ", " PAWL_BUILD_TYPE
        "\nlibraries: Boost {}, {}, fmt {}.{}.{}, spdlog {}.{}.{}, CLI11 " CLI11_VERSION
        "\nstores:",
        PAWL_REVISION[0] != '\0' ? PAWL_REVISION : "unknown", boost_version(),
        OpenSSL_version(OPENSSL_VERSION), FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
        FMT_VERSION % 100, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH);
    for (const auto& engine : assembly::known_engines()) {
        text +=
            fmt::format("\n  {:<11} {}; {}", engine.name, whereabouts(engine), schemes_of(engine));
    }
    return text;
}

}  // namespace pawl::cli
