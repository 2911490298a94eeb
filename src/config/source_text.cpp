#include "config/source_text.hpp"

#include "base/hex.hpp"

#include <algorithm>
#include <string>

namespace pawl::config {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

std::size_t utf8_bytes(unsigned long code) {
    if (code < 0x80) return 1;
    if (code < 0x800) return 2;
    return code < 0x10000 ? 3 : 4;
}

// What stands at a place of a literal: how many bytes it takes as written, and in the value.
struct piece {
    std::size_t written = 1;
    std::size_t meant = 1;
};

// A backslash at the end of a line swallows all white space that follows.
piece folded_line(std::string_view text, std::size_t at) {
    const auto end = std::min(text.find_first_not_of(" \t\r\n", at + 1), text.size());
    return {end - at, 0};
}

piece escape_at(std::string_view text, std::size_t at) {
    const char kind = at + 1 < text.size() ? text[at + 1] : ' ';
    const std::size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0 && at + 2 + digits <= text.size()) {
        unsigned long code = 0;
        for (const char digit : text.substr(at + 2, digits))
            code = code * 16 + static_cast<unsigned long>(base::hex_value(digit));
        return {2 + digits, utf8_bytes(code)};
    }
    if (kind == ' ' || kind == '\t' || kind == '\r' || kind == '\n') return folded_line(text, at);
    return {2, 1};
}

// Past a string that begins at `at`, as far as the parser would come.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const bool is_long = text.substr(at, 3) == std::string(3, quote);
    std::size_t next = at + (is_long ? 3 : 1);
    while (next < text.size()) {
        if (quote == '"' && text[next] == '\\') {
            next += 2;
        } else if (is_long && text.substr(next, 3) == std::string(3, quote)) {
            next += 3;
            // Up to two quotes more belong to the value.
            while (next < text.size() && text[next] == quote) ++next;
            return next;
        } else if (!is_long && text[next] == quote) {
            return next + 1;
        } else if (!is_long && text[next] == '\n') {
            return next;
        } else {
            ++next;
        }
    }
    return text.size();
}

}  // namespace

source_text::source_text(std::string_view text) : text_{text}, lines_{0} {
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] == '\n') lines_.push_back(at + 1);
}

std::size_t source_text::byte_of(place at) const {
    if (at.line == 0 || at.line > lines_.size()) return text_.size();
    std::size_t byte = lines_[at.line - 1];
    for (std::uint32_t column = 1; column < at.column && byte < text_.size(); ++column) {
        ++byte;
        while (byte < text_.size() && !begins_character(text_[byte])) ++byte;
    }
    return byte;
}

place source_text::place_of(std::size_t byte) const {
    const auto after = std::upper_bound(lines_.begin(), lines_.end(), byte);
    const auto begin = *(after - 1);
    const auto line = text_.substr(begin, std::min(byte, text_.size()) - begin);
    const auto characters = std::count_if(line.begin(), line.end(), begins_character);
    return {static_cast<std::uint32_t>(after - lines_.begin()),
            static_cast<std::uint32_t>(characters + 1)};
}

place source_text::inside(place literal, std::size_t offset) const {
    std::size_t at = byte_of(literal);
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return literal;
    const char quote = text_[at];
    if (text_.substr(at, 3) == std::string(3, quote)) {
        at += 3;
        if (text_.substr(at, 1) == "\n") at += 1;
        if (text_.substr(at, 2) == "\r\n") at += 2;
    } else {
        at += 1;
    }
    std::size_t meant = 0;
    while (meant < offset && at < text_.size()) {
        const piece next = quote == '"' && text_[at] == '\\' ? escape_at(text_, at) : piece{};
        at += next.written;
        meant += next.meant;
    }
    return place_of(at);
}

std::optional<fault> nesting_fault(std::string_view text) {
    std::size_t depth = 0, dots = 0;
    const auto found = [&](std::size_t at, const std::string& what) {
        return fault{source_text{text}.place_of(at), what};
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
        switch (text[at]) {
            case '#':
                at = std::min(text.find('\n', at), text.size()) - 1;
                break;
            case '"':
            case '\'':
                at = end_of_string(text, at) - 1;
                break;
            case '[':
            case '{':
                dots = 0;
                if (++depth > nesting_max)
                    return found(at, "brackets are nested more than " +
                                         std::to_string(nesting_max) +
                                         " deep; no setting needs more than two");
                break;
            case ']':
            case '}':
                if (depth > 0) --depth;
                dots = 0;
                break;
            case '\n':
            case '=':
            case ',':
                dots = 0;
                break;
            case '.':
                if (++dots >= key_parts_max)
                    return found(at, "a key has more than " + std::to_string(key_parts_max) +
                                         " parts; no setting has more than three");
                break;
            default:
                break;
        }
    }
    return std::nullopt;
}

std::string syntax_fault(std::string_view description) {
    constexpr std::string_view prefix = "Error while parsing ";
    if (description.starts_with(prefix)) description.remove_prefix(prefix.size());
    std::string what = "no valid TOML: " + std::string{description};
    if (description.find("could not determine value type") != std::string_view::npos)
        what += "; texts and durations stand in quotes, such as \"30s\"";
    if (description.ends_with("saw ';'")) what += "; write each setting on a line of its own";
    if (description.find("cannot redefine") != std::string_view::npos)
        what += "; each key and each [table] stands once, and each job begins with [[job]]";
    // The number itself may be a secret that lacks its quotes.
    if (description.find("not representable") != std::string_view::npos)
        what = "no valid TOML: a number is too large; texts stand in quotes";
    return what;
}

}  // namespace pawl::config
