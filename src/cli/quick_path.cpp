#include "cli/quick_path.hpp"

#include "cli/command_line.hpp"
#include "cli/commands/version.hpp"
#include "cli/options/commands.hpp"

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

// The store or the journal, where a word names one.
std::optional<std::string_view> store_in(std::span<const char* const> from) {
    const auto store = value_of("--store", from);
    return store ? store : value_of("--journal", from);
}

bool is_unset_or_built_in(const char* value) {
    return value == nullptr || *value == '\0' || is_built_in(value);
}

bool is_unset(const char* value) { return value == nullptr || *value == '\0'; }

}  // namespace

bool takes_quick_path(std::span<const char* const> words, const char* (*variable)(const char*)) {
    if (words.size() == 1 && words.front() == std::string_view{"--version"}) return true;
    // By a file, or by variables that an option does not outdo for certain.
    if (!is_unset(variable("PAWL_CONFIG"))) return false;
    if (!is_unset_or_built_in(variable("PAWL_STORE"))) return false;
    if (!is_unset_or_built_in(variable("PAWL_JOURNAL"))) return false;
    bool is_exec = false;
    for (auto left = words; !left.empty(); left = left.subspan(1)) {
        const std::string_view word{left.front()};
        if (word == "--") break;
        if (std::any_of(leading_elsewhere.begin(), leading_elsewhere.end(),
                        [&](std::string_view one) { return word.starts_with(one); }))
            return false;
        if (const auto url = store_in(left)) {
            if (!is_built_in(*url)) return false;
            // In front of the command nothing else is known here.
            if (!is_exec && word.find('=') == std::string_view::npos) left = left.subspan(1);
        } else if (!is_exec && word != "exec") {
            return false;
        } else {
            is_exec = true;
        }
    }
    return is_exec;
}

int run_quick(int count, char** words) {
    static constexpr std::array<command, 1> quick_commands{{{"exec", add_exec}}};
    return run_program({quick_commands, version_text}, count, words);
}

}  // namespace pawl::cli
