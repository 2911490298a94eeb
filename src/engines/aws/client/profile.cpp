#include "engines/aws/client/profile.hpp"

#include "base/ascii.hpp"

namespace pawl::aws {
namespace {

std::string_view next_line(std::string_view& text) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// A comment may stand behind a value, after a blank.
std::string_view without_comment(std::string_view value) {
    for (std::size_t i = 0; i + 1 < value.size(); ++i)
        if ((value[i] == ' ' || value[i] == '\t') && (value[i + 1] == '#' || value[i + 1] == ';'))
            return base::trimmed(value.substr(0, i));
    return base::trimmed(value);
}

// Adds what is not known yet.
void read_section(std::string_view text, std::string_view section, profile& into) {
    bool inside = false;
    while (!text.empty()) {
        const auto raw = next_line(text);
        const auto line = base::trimmed(raw);
        if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
        if (line.starts_with('[')) {
            inside = base::trimmed(line.substr(1, line.find(']') - 1)) == section;
            continue;
        }
        const auto equals = line.find('=');
        // What is indented belongs to the value before it, and is of no interest here.
        const bool indented = raw.starts_with(' ') || raw.starts_with('\t');
        if (!inside || indented || equals == std::string_view::npos) continue;
        into.emplace(base::lower(base::trimmed(line.substr(0, equals))),
                     without_comment(line.substr(equals + 1)));
    }
}

}  // namespace

profile find_profile(std::string_view credentials, std::string_view config, std::string_view name) {
    profile found;
    read_section(credentials, name, found);
    read_section(config, name == "default" ? "default" : "profile " + std::string{name}, found);
    return found;
}

}  // namespace pawl::aws
