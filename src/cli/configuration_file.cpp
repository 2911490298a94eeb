#include "cli/configuration_file.hpp"

#include "cli/status.hpp"

// Within this file, so that a program that starts for a short command loads no library for it.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace pawl::cli {

std::optional<std::string> url_in_file(const std::string& path, std::string_view key) {
    try {
        const auto table = toml::parse_file(path);
        const auto* value = table.get(key);
        if (value == nullptr) return std::nullopt;
        if (const auto url = value->value<std::string>()) return url;
        const auto where = value->source().begin;
        throw exit_error{status::configuration, path + ":" + std::to_string(where.line) + ":" +
                                                    std::to_string(where.column) + ": " +
                                                    std::string{key} +
                                                    " must be a string, such as "
                                                    "\"redis://127.0.0.1:6379\""};
    } catch (const toml::parse_error& error) {
        const auto where = error.source().begin;
        throw exit_error{status::configuration, path + ":" + std::to_string(where.line) + ":" +
                                                    std::to_string(where.column) + ": " +
                                                    std::string{error.description()}};
    }
}

}  // namespace pawl::cli
