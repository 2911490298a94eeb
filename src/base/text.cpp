#include "base/text.hpp"

#include "base/ascii.hpp"
#include "base/terminal_text.hpp"
#include "base/utf8.hpp"

#include <pawl/types.hpp>

#include <algorithm>
#include <numeric>

namespace pawl::base {
namespace {

// As nearly all keys are; what follows takes a hundred times as long.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<std::string> text_fault_of(std::string_view what, std::string_view text,
                                         std::size_t bytes_max) {
    if (!text.empty() && text.size() <= bytes_max && is_plain(text)) return std::nullopt;
    const auto name = std::string{what};
    if (text.empty())
        return "the " + name + " is empty: give 1 to " + std::to_string(bytes_max) + " bytes";
    if (text.size() > bytes_max)
        return "the " + name + " has " + std::to_string(text.size()) + " bytes: at most " +
               std::to_string(bytes_max);
    if (!is_utf8(text))
        return "the " + name + " '" + printable(to_utf8(text)) + "' is not UTF-8: use UTF-8 text";
    const auto bad = find_unprintable(text);
    if (bad != std::string_view::npos)
        return "the " + name + " has a control character at byte " + std::to_string(bad + 1) +
               ": use printable text";
    return std::nullopt;
}

// A word with more mistakes than that is another word.
constexpr std::size_t mistakes_max = 4;

// What both begin or end with costs no mistake.
void drop_what_is_same(std::string_view& left, std::string_view& right) {
    while (!left.empty() && !right.empty() && left.front() == right.front()) {
        left.remove_prefix(1);
        right.remove_prefix(1);
    }
    while (!left.empty() && !right.empty() && left.back() == right.back()) {
        left.remove_suffix(1);
        right.remove_suffix(1);
    }
}

// Levenshtein's distance, row by row, or `most` + 1 where it is more. Of each row only what lies so
// close to the diagonal that it can count: the author of a long word chooses how long this takes.
std::size_t distance(std::string_view from, std::string_view to, std::size_t most) {
    drop_what_is_same(from, to);
    if (from.size() > to.size()) std::swap(from, to);
    if (to.size() - from.size() > most) return most + 1;
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        const auto first = i > most ? i - most : 1;
        const auto last = std::min(to.size(), i + most);
        std::size_t diagonal = row[first - 1];
        row[first - 1] = first == 1 ? i : most + 1;
        auto least = row[first - 1];
        for (std::size_t j = first; j <= last; ++j) {
            const auto substituted = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            const auto above = j == i + most ? most + 1 : row[j] + 1;
            diagonal = row[j];
            row[j] = std::min({above, row[j - 1] + 1, substituted});
            least = std::min(least, row[j]);
        }
        if (least > most) return most + 1;
    }
    return std::min(row.back(), most + 1);
}

// Two letters in the wrong order are one slip of the finger, whatever the distance says.
bool is_swapped(std::string_view word, std::string_view meant) {
    const auto [first, other] = std::mismatch(word.begin(), word.end(), meant.begin(), meant.end());
    return word.size() == meant.size() && word.end() - first >= 2 && first[0] == other[1] &&
           first[1] == other[0] && std::equal(first + 2, word.end(), other + 2);
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
        return is_alphanumeric(letter) || letter == '_' || letter == '-' || letter == '.';
    };
    if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed))
        return std::nullopt;
    return "the namespace '" + printable(name) +
           "' is not 1 to 64 letters, digits, '_', '-' or '.'";
}

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
    const auto near_enough = std::clamp<std::size_t>(word.size() / 3, 1, mistakes_max);
    std::optional<std::string_view> best;
    std::size_t best_distance = near_enough + 1;
    for (const auto candidate : candidates) {
        const auto d = distance(word, candidate, best_distance - 1);
        if (d < best_distance) {
            best = candidate;
            best_distance = d;
        }
    }
    if (best) return best;
    const auto swapped = std::find_if(candidates.begin(), candidates.end(),
                                      [&](std::string_view one) { return is_swapped(word, one); });
    return swapped != candidates.end() ? std::optional{*swapped} : std::nullopt;
}

}  // namespace pawl::base
