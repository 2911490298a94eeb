#include "base/text.hpp"

#include <pawl/types.hpp>

#include <algorithm>
#include <numeric>

namespace pawl::base {
namespace {

bool is_control(char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; }

std::optional<std::string> text_fault_of(std::string_view what, std::string_view text,
                                         std::size_t bytes_max) {
    const auto name = std::string{what};
    if (text.empty())
        return "the " + name + " is empty: give 1 to " + std::to_string(bytes_max) + " bytes";
    if (text.size() > bytes_max)
        return "the " + name + " has " + std::to_string(text.size()) + " bytes: at most " +
               std::to_string(bytes_max);
    const auto bad = std::find_if(text.begin(), text.end(), is_control);
    if (bad != text.end())
        return "the " + name + " has a control character at byte " +
               std::to_string(bad - text.begin() + 1) + ": use printable text";
    return std::nullopt;
}

// Levenshtein's distance, row by row.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const auto substituted = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row.back();
}

}  // namespace

std::optional<std::string> key_fault(std::string_view key) {
    return text_fault_of("key", key, key_bytes_max);
}

std::optional<std::string> owner_fault(std::string_view owner) {
    return text_fault_of("owner", owner, owner_bytes_max);
}

std::optional<std::string> name_space_fault(std::string_view name) {
    const auto allowed = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
    };
    if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed))
        return std::nullopt;
    return "the namespace '" + printable(name) +
           "' is not 1 to 64 letters, digits, '_', '-' or '.'";
}

std::string printable(std::string_view text) {
    std::string safe{text};
    std::replace_if(safe.begin(), safe.end(), is_control, '?');
    return safe;
}

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
    const auto near_enough = std::max<std::size_t>(1, word.size() / 3);
    std::optional<std::string_view> best;
    std::size_t best_distance = near_enough + 1;
    for (const auto candidate : candidates) {
        const auto d = distance(word, candidate);
        if (d < best_distance) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

}  // namespace pawl::base
