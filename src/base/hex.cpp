#include "base/hex.hpp"

namespace pawl::base {
namespace {

constexpr std::string_view lower_digits = "0123456789abcdef";
constexpr std::string_view upper_digits = "0123456789ABCDEF";

}  // namespace

void add_hex(std::string& text, unsigned char byte, hex_case letters) {
    const auto digits = letters == hex_case::lower ? lower_digits : upper_digits;
    text += digits[byte >> 4];
    text += digits[byte & 15];
}

std::string to_hex(std::span<const unsigned char> bytes) {
    std::string text(2 * bytes.size(), '\0');
    auto at = text.begin();
    for (const auto byte : bytes) {
        *at++ = lower_digits[byte >> 4];
        *at++ = lower_digits[byte & 15];
    }
    return text;
}

std::string to_hex(std::string_view bytes) {
    return to_hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t at = 0; at < text.size(); at += 2) {
        const auto high = lower_digits.find(text[at]), low = lower_digits.find(text[at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        bytes += static_cast<char>(high << 4 | low);
    }
    return bytes;
}

}  // namespace pawl::base
