// Bytes as hexadecimal digits, two a byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl::base {

enum class hex_case { lower, upper };

// Adds the two digits of one byte to `text`.
void add_hex(std::string& text, unsigned char byte, hex_case letters = hex_case::lower);

// In lower case.
std::string to_hex(std::span<const unsigned char> bytes);
std::string to_hex(std::string_view bytes);

// The bytes that to_hex made this of. Nothing for an odd number of digits, and for anything that is
// no digit in lower case.
std::optional<std::string> from_hex(std::string_view text);

// What one digit of either case stands for; -1 where it is none.
constexpr int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

}  // namespace pawl::base
