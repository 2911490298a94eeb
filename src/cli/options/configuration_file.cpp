#include "cli/options/configuration_file.hpp"

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "cli/output/status.hpp"
#include "config/file_keys.hpp"
#include "config/reading.hpp"
#include "config/regular_file.hpp"
#include "config/source_text.hpp"

// Within this file, so that a program that starts for a short command loads no library for it.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace pawl::cli {
namespace {

using config::fault;

config::place place_of(const toml::source_region& where) {
    return {where.begin.line, where.begin.column};
}

[[noreturn]] void reject(const std::string& path, const fault& one) {
    auto line = base::printable(path);
    if (one.at.line > 0)
        line += ":" + std::to_string(one.at.line) + ":" + std::to_string(one.at.column);
    throw exit_error{status::configuration, line + ": " + one.what};
}

// The keys of the file as a whole.
std::vector<std::string_view> names_of_file() {
    std::vector<std::string_view> names(config::file_tables.begin(), config::file_tables.end());
    names.insert(names.end(), config::file_urls.begin(), config::file_urls.end());
    return names;
}

void find_unknown_keys(const toml::table& root, std::vector<fault>& found) {
    const auto names = names_of_file();
    for (const auto& [key, value] : root) {
        const auto name = key.str();
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        const auto meant = base::nearest(name, names);
        std::string what = "unknown key " + config::quoted(name) + " in the file; ";
        if (meant)
            what += "did you mean '" + std::string{*meant} + "'?";
        else
            what += "there are " + base::comma_list(names);
        found.push_back({place_of(key.source()), std::move(what)});
    }
}

// A store below the first table belongs to that table, and to nothing that uses it. Other keys of
// tables are the agent's to read.
void find_misplaced_urls(const toml::node& node, const std::string& section,
                         std::vector<fault>& found) {
    if (const auto* all = node.as_array())
        for (const toml::node& one : *all) find_misplaced_urls(one, section, found);
    const auto* table = node.as_table();
    if (table == nullptr) return;
    static const std::vector<std::string_view> urls(config::file_urls.begin(),
                                                    config::file_urls.end());
    for (const auto& [key, value] : *table) {
        const auto name = key.str();
        const auto meant = base::nearest(name, urls);
        if (!meant) continue;
        const auto which = *meant == name ? std::string{"it"} : config::quoted(*meant);
        auto what = "unknown key " + config::quoted(name) + " in ";
        what.append(section).append("; ").append(which);
        what += " belongs to the file, above its first [table]";
        found.push_back({place_of(key.source()), std::move(what)});
    }
}

// What would leave a command with another store than the file means. One that is about jobs stops
// no other command.
void check_keys(const std::string& path, const toml::table& root) {
    std::vector<fault> found;
    find_unknown_keys(root, found);
    for (const auto name : config::file_tables) {
        const auto* node = root.get(name);
        if (node == nullptr) continue;
        const auto shown = std::string{name};
        find_misplaced_urls(*node, node->is_array() ? "[[" + shown + "]]" : "[" + shown + "]",
                            found);
    }
    if (found.empty()) return;
    reject(path, *std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
               return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
           }));
}

toml::table parsed(const std::string& path) {
    const auto file = config::read_regular_file(path, config::file_bytes_max);
    if (!file.fault.empty()) reject(path, {{}, file.fault});
    if (const auto deep = config::nesting_fault(file.text)) reject(path, *deep);
    try {
        return toml::parse(file.text);
    } catch (const toml::parse_error& bad) {
        reject(path, {place_of(bad.source()), config::syntax_fault(bad.description())});
    }
}

}  // namespace

std::optional<std::string> url_in_file(const std::string& path, std::string_view key) {
    const auto root = parsed(path);
    check_keys(path, root);
    const auto* value = root.get(key);
    if (value == nullptr) return std::nullopt;
    auto url = value->value<std::string>();
    if (!url || url->empty())
        reject(path, {place_of(value->source()),
                      std::string{key} + (url ? " is empty; expected a URL" : " must be a string") +
                          ", such as \"redis://127.0.0.1:6379\""});
    return url;
}

}  // namespace pawl::cli
