#include "base/percent.hpp"
#include "http/router.hpp"

#include <algorithm>

namespace pawl::http {
namespace {

unsigned char byte(char letter) { return static_cast<unsigned char>(letter); }

// How many bytes the character at the front of `text` has, and 0 when it is none, or a control.
// Source: The Unicode Standard, table 3-7 (well-formed UTF-8).
std::size_t character_bytes(std::string_view text) {
    const auto first = byte(text[0]);
    if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
    const auto follows = [&](std::size_t at, unsigned least = 0x80, unsigned most = 0xbf) {
        return at < text.size() && byte(text[at]) >= least && byte(text[at]) <= most;
    };
    // U+0080 to U+009F are controls as well.
    if (first == 0xc2) return follows(1, 0xa0) ? 2 : 0;
    if (first > 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned least = first == 0xe0 ? 0xa0 : 0x80, most = first == 0xed ? 0x9f : 0xbf;
        return follows(1, least, most) && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned least = first == 0xf0 ? 0x90 : 0x80, most = first == 0xf4 ? 0x8f : 0xbf;
        return follows(1, least, most) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

bool is_plain_text(std::string_view text) {
    while (!text.empty()) {
        const auto bytes = character_bytes(text);
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
    auto decoded = base::percent_decode(text);
    if (decoded.has_error() || !is_plain_text(*decoded)) return std::nullopt;
    return *std::move(decoded);
}

std::optional<parameters> parse_query(std::string_view text) {
    parameters pairs;
    while (!text.empty()) {
        const auto end = std::min(text.find('&'), text.size());
        std::string pair{text.substr(0, end)};
        text.remove_prefix(std::min(end + 1, text.size()));
        if (pair.empty()) continue;
        std::replace(pair.begin(), pair.end(), '+', ' ');
        const auto equals = std::min(pair.find('='), pair.size());
        auto name = percent_decode(std::string_view{pair}.substr(0, equals));
        auto value =
            percent_decode(std::string_view{pair}.substr(std::min(equals + 1, pair.size())));
        if (!name || !value) return std::nullopt;
        pairs.insert_or_assign(std::move(*name), std::move(*value));
    }
    return pairs;
}

}  // namespace pawl::http
