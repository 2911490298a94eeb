#include "base/terminal_text.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

#include <cstdio>
#include <utility>

namespace pawl::base {
namespace {

constexpr auto npos = std::string_view::npos;

unsigned byte_of(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// C1 is U+0080 to U+009F; U+202A to U+202E and U+2066 to U+2069 change the direction.
bool is_unprintable(std::string_view character) {
    const unsigned first = byte_of(character, 0);
    if (character.size() == 1) return first < 0x20 || (first >= 0x7f && first < 0xa0);
    const unsigned last = byte_of(character, character.size() - 1);
    if (character.size() == 2) return first == 0xc2 && last < 0xa0;
    if (character.size() != 3 || first != 0xe2) return false;
    const unsigned middle = byte_of(character, 1);
    return (middle == 0x80 && last >= 0xaa && last <= 0xae) ||
           (middle == 0x81 && last >= 0xa6 && last <= 0xa9);
}

// How many bytes a character takes that begins so.
std::size_t size_by(unsigned first) {
    if (first < 0xc2 || first > 0xf4) return 1;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The character that begins here; a byte that belongs to none is one of its own.
std::string_view first_of(std::string_view text) {
    const auto whole = text.substr(0, size_by(byte_of(text, 0)));
    return is_utf8(whole) ? whole : text.substr(0, 1);
}

std::string shown(std::string_view character) {
    const unsigned first = byte_of(character, 0);
    if (character.size() == 1 && first < 0x80) return {'^', static_cast<char>(first ^ 0x40U)};
    unsigned code = first;
    if (character.size() == 2) code = byte_of(character, 1);
    if (character.size() == 3)
        code = 0x2000U | ((byte_of(character, 1) & 0x3fU) << 6) | (byte_of(character, 2) & 0x3fU);
    char text[16];
    std::snprintf(text, sizeof text, character.size() == 1 ? "<%02X>" : "<U+%04X>", code);
    return text;
}

}  // namespace

std::size_t find_unprintable(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto character = first_of(text.substr(at));
        if (is_unprintable(character)) return at;
        at += character.size();
    }
    return npos;
}

std::string printable(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    while (!text.empty()) {
        const auto character = first_of(text);
        if (is_unprintable(character))
            safe += '?';
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe;
}

std::string visible_text::show(std::string_view piece) {
    pending_ += piece;
    std::string_view rest{pending_};
    std::string safe;
    safe.reserve(rest.size());
    while (!rest.empty() && size_by(byte_of(rest, 0)) <= rest.size()) {
        const auto character = first_of(rest);
        const bool stays = character == "\n" || character == "\t";
        if (is_unprintable(character) && !stays)
            safe += shown(character);
        else
            safe += character;
        rest.remove_prefix(character.size());
    }
    pending_ = std::string{rest};
    return safe;
}

std::string visible_text::finish() {
    std::string safe;
    while (!pending_.empty()) {
        const auto first = std::exchange(pending_, {});
        safe += first[0];
        safe += show(std::string_view{first}.substr(1));
    }
    return safe;
}

}  // namespace pawl::base
