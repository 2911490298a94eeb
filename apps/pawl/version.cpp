#include "pawl/version.hpp"

#include "assembly/engines.hpp"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <CLI/Version.hpp>
#include <boost/version.hpp>

namespace pawl::app {
namespace {

std::string schemes_of(const assembly::engine_info& engine) {
    std::string list;
    for (const auto one : engine.schemes)
        list += (list.empty() ? "" : " ") + std::string{one} + ":";
    return list;
}

std::string boost_version() {
    return fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                       BOOST_VERSION % 100);
}

}  // namespace

metrics::build_facts build_facts() { return {PAWL_VERSION, PAWL_REVISION, PAWL_COMPILER}; }

std::string version_number() { return PAWL_VERSION; }

std::string version_text() {
    std::string text = "pawl " PAWL_VERSION "\nstores:";
    for (const auto& engine : assembly::known_engines())
        text += " " + std::string{engine.name} +
                (engine.built_in ? "" : " (not built in: " + std::string{engine.option} + ")");
    return text;
}

std::string verbose_version_text() {
    auto text = fmt::format(
        "pawl " PAWL_VERSION "\nrevision: {}\ncompiler: " PAWL_COMPILER ", " PAWL_BUILD_TYPE
        "\nlibraries: Boost {}, {}, fmt {}.{}.{}, spdlog {}.{}.{}, CLI11 " CLI11_VERSION
        "\nstores:",
        PAWL_REVISION[0] != '\0' ? PAWL_REVISION : "unknown", boost_version(),
        OpenSSL_version(OPENSSL_VERSION), FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
        FMT_VERSION % 100, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH);
    for (const auto& engine : assembly::known_engines()) {
        const auto built =
            engine.option.empty()
                ? std::string{"always built in"}
                : fmt::format("{}={}{}", engine.option, engine.built_in ? "ON" : "OFF",
                              engine.built_in ? fmt::format(" ({})", engine.library) : "");
        text += fmt::format("\n  {:<11} {}; {}", engine.name, built, schemes_of(engine));
    }
    return text;
}

}  // namespace pawl::app
