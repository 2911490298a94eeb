// Letters and digits of ASCII, the same in every locale. All other bytes are neither, and have no
// case.
#pragma once

#include <string>
#include <string_view>

namespace pawl::base {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr bool is_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
constexpr bool is_alphanumeric(char letter) { return is_letter(letter) || is_digit(letter); }

constexpr char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
std::string lower(std::string_view text);
bool equals_ignoring_case(std::string_view one, std::string_view other);

// Without the spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace pawl::base
