#include "base/ascii.hpp"

#include <algorithm>

namespace pawl::base {

std::string lower(std::string_view text) {
    std::string made{text};
    for (auto& letter : made) letter = lower(letter);
    return made;
}

bool equals_ignoring_case(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace pawl::base
