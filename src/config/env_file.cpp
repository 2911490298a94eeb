#include "config/env_file.hpp"

#include "base/ascii.hpp"
#include "config/regular_file.hpp"
#include "config/values.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>

namespace pawl::config {
namespace {

std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::string_view without_quotes(std::string_view value) {
    const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                        (value.front() == '"' || value.front() == '\'');
    return quoted ? value.substr(1, value.size() - 2) : value;
}

std::string folder_of(const std::string& file) {
    const auto slash = file.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : file.substr(0, slash);
}

}  // namespace

env_file_content parse_env_file(std::string_view text) {
    env_file_content got;
    std::map<std::string, std::string> all;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size() && got.fault.empty();) {
        ++number;
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = base::trimmed(without_return(text.substr(at, end - at)));
        at = end + 1;
        if (line.empty() || line.starts_with('#')) continue;
        const auto where = "line " + std::to_string(number) + ": ";
        const auto equals = line.find('=');
        const auto name = base::trimmed(line.substr(0, std::min(equals, line.size())));
        // The line is not quoted: it may be a secret that lacks its name.
        if (equals == std::string_view::npos) {
            got.fault = where + "has no '='; expected NAME=value";
        } else if (variable_name_fault(name)) {
            got.fault = where +
                        "no variable name stands before the '='; expected letters, "
                        "digits and '_', and no digit or PAWL_ first";
        } else if (line.find('\0') != std::string_view::npos) {
            got.fault = where + "has a NUL byte; programs cannot be given one";
        } else {
            all[std::string{name}] = without_quotes(base::trimmed(line.substr(equals + 1)));
        }
        if (all.size() > variables_max)
            got.fault = where + "more than " + format_count(variables_max) + " variables";
    }
    if (got.fault.empty())
        for (auto& [name, value] : all) got.variables.push_back({name, value});
    return got;
}

env_files::env_files(const std::string& configuration)
    : folder_{folder_of(configuration)}, owners_{0, geteuid()} {
    struct stat about{};
    for (const auto& path : {folder_, configuration})
        if (stat(path.c_str(), &about) == 0) owners_.push_back(about.st_uid);
}

std::string env_files::absolute(const std::string& path) const {
    if (path.empty() || path.front() == '/') return path;
    return std::filesystem::absolute(folder_) / path;
}

const env_file_content& env_files::read(const std::string& path) {
    const auto [entry, is_new] = known_.try_emplace(path);
    if (!is_new) return entry->second;
    const auto file = read_file_of(owners_, folder_, path, env_file_bytes_max);
    if (file.fault.empty())
        entry->second = parse_env_file(file.text);
    else
        entry->second.fault = file.fault;
    entry->second.readable_by_all = file.readable_by_all;
    return entry->second;
}

}  // namespace pawl::config
