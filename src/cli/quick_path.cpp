#include "cli/quick_path.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/version.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace pawl::cli {
namespace {

// They lead to what the small program lacks: a configuration file, the API, all of the help.
constexpr std::array<std::string_view, 5> leading_elsewhere{"--config", "--url", "--version",
                                                            "--help", "-h"};

bool is_built_in(std::string_view url) {
    return url.starts_with("sqlite:") || url.starts_with("memory:") || url == "none";
}

// Of `--store URL` and `--store=URL`; an empty text where the value is missing.
std::optional<std::string_view> value_of(std::string_view option,
                                         std::span<const char* const> from) {
    const std::string_view word{from.front()};
    if (!word.starts_with(option)) return std::nullopt;
    const auto rest = word.substr(option.size());
    if (rest.starts_with('=')) return rest.substr(1);
    if (!rest.empty()) return std::nullopt;
    return from.size() > 1 ? std::string_view{from[1]} : std::string_view{};
}

bool is_unset_or_built_in(const char* value) {
    return value == nullptr || *value == '\0' || is_built_in(value);
}

bool is_unset(const char* value) { return value == nullptr || *value == '\0'; }

}  // namespace

bool takes_quick_path(std::span<const char* const> words, const char* (*variable)(const char*)) {
    if (words.empty()) return false;
    const std::string_view first{words.front()};
    if (first == "--version") return words.size() == 1;
    if (first != "exec") return false;
    // By a file, or by variables that an option does not outdo for certain.
    if (!is_unset(variable("PAWL_CONFIG"))) return false;
    if (!is_unset_or_built_in(variable("PAWL_STORE"))) return false;
    if (!is_unset_or_built_in(variable("PAWL_JOURNAL"))) return false;
    for (auto left = words.subspan(1); !left.empty(); left = left.subspan(1)) {
        const std::string_view word{left.front()};
        if (word == "--") break;
        if (std::any_of(leading_elsewhere.begin(), leading_elsewhere.end(),
                        [&](std::string_view one) { return word.starts_with(one); }))
            return false;
        for (const auto* option : {"--store", "--journal"})
            if (const auto url = value_of(option, left); url && !is_built_in(*url)) return false;
    }
    return true;
}

int run_quick(int count, char** words) {
    static constexpr std::array<command, 1> quick_commands{{{"exec", add_exec}}};
    return run_program({quick_commands, version_text}, count, words);
}

}  // namespace pawl::cli
