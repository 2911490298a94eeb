#include "base/terminal_text.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
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

// REQUIRES: first_of() has found it.
unsigned code_of(std::string_view character) {
    const unsigned first = byte_of(character, 0);
    if (character.size() == 1) return first;
    unsigned code = first & (0x7fU >> character.size());
    for (std::size_t at = 1; at < character.size(); ++at)
        code = (code << 6) | (byte_of(character, at) & 0x3fU);
    return code;
}

struct code_range {
    unsigned first;
    unsigned last;
};

// In order. With what ends a line or a paragraph, and the anchors of annotations, beside those that
// may be ignored.
constexpr code_range invisible[] = {
    {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool is_invisible(std::string_view character) {
    if (character.size() == 1) return false;
    const unsigned code = code_of(character);
    return std::any_of(std::begin(invisible), std::end(invisible), [&](const code_range& one) {
        return one.first <= code && code <= one.last;
    });
}

std::string shown(std::string_view character) {
    const unsigned code = code_of(character);
    if (code < 0x80) return {'^', static_cast<char>(code ^ 0x40U)};
    char text[16];
    std::snprintf(text, sizeof text, character.size() == 1 ? "<%02X>" : "<U+%04X>", code);
    return text;
}

std::size_t find(std::string_view text, bool (*is_wanted)(std::string_view character)) {
    for (std::size_t at = 0; at < text.size();) {
        const auto character = first_of(text.substr(at));
        if (is_wanted(character)) return at;
        at += character.size();
    }
    return npos;
}

}  // namespace

std::size_t find_unprintable(std::string_view text) { return find(text, is_unprintable); }

std::size_t find_invisible(std::string_view text) { return find(text, is_invisible); }

std::string printable(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    while (!text.empty()) {
        const auto character = first_of(text);
        if (is_unprintable(character))
            safe += '?';
        else if (is_invisible(character))
            safe += shown(character);
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe;
}

std::string escaped_json(std::string text) {
    const auto is_plain = [](char byte) { return static_cast<unsigned char>(byte) < 0x7f; };
    if (std::all_of(text.begin(), text.end(), is_plain)) return text;
    std::string safe;
    safe.reserve(text.size());
    for (std::string_view rest{text};;) {
        // What needs no look is most of a document, and goes at once.
        const auto plain = std::find_if_not(rest.begin(), rest.end(), is_plain) - rest.begin();
        safe.append(rest.substr(0, static_cast<std::size_t>(plain)));
        rest.remove_prefix(static_cast<std::size_t>(plain));
        if (rest.empty()) break;
        const auto character = first_of(rest);
        if (is_unprintable(character) || is_invisible(character)) {
            const unsigned code = code_of(character);
            char escape[16];
            if (code < 0x10000)
                std::snprintf(escape, sizeof escape, "\\u%04x", code);
            else
                std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x",
                              0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ffU));
            safe += escape;
        } else {
            safe += character;
        }
        rest.remove_prefix(character.size());
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
