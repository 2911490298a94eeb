#include "base/utf8.hpp"

#include <cstddef>

namespace pawl::base {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// How many bytes the character at `at` has; 0 when there is none.
std::size_t character_at(std::string_view text, std::size_t at) {
    const unsigned lead = byte_at(text, at);
    if (lead < 0x80) return 1;
    std::size_t length = 0;
    // Of the second byte: overlong forms, surrogates and what is beyond U+10FFFF are excluded here.
    unsigned least = 0x80, most = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        if (lead == 0xE0) least = 0xA0;
        if (lead == 0xED) most = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        if (lead == 0xF0) least = 0x90;
        if (lead == 0xF4) most = 0x8F;
    } else {
        return 0;
    }
    if (at + length > text.size()) return 0;
    if (byte_at(text, at + 1) < least || byte_at(text, at + 1) > most) return 0;
    for (std::size_t i = 2; i < length; ++i)
        if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
    return length;
}

}  // namespace

std::string to_utf8(std::string_view text) {
    std::string made;
    made.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto length = character_at(text, at);
        if (length == 0) {
            made += replacement;
            ++at;
        } else {
            made += text.substr(at, length);
            at += length;
        }
    }
    return made;
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto length = character_at(text, at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

}  // namespace pawl::base
