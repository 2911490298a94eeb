// Classes of ASCII characters, the same in every locale.
#pragma once

namespace pawl::base {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

constexpr bool is_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

constexpr bool is_alphanumeric(char letter) { return is_letter(letter) || is_digit(letter); }

}  // namespace pawl::base
