#include "base/percent.hpp"

#include "base/ascii.hpp"

namespace pawl::base {
namespace {

// RFC 3986, 2.3.
bool is_unreserved(char letter) {
    return is_alphanumeric(letter) || letter == '-' || letter == '.' || letter == '_' ||
           letter == '~';
}

}  // namespace

std::string percent_encode(std::string_view text) { return percent_encode(text, is_unreserved); }

std::string percent_encode(std::string_view text, bool (*keeps)(char), hex_case letters) {
    std::string encoded;
    encoded.reserve(text.size());
    for (const char letter : text) {
        if (keeps(letter)) {
            encoded += letter;
            continue;
        }
        encoded += '%';
        add_hex(encoded, static_cast<unsigned char>(letter), letters);
    }
    return encoded;
}

parsed<std::string> percent_decode(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            decoded += text[at];
            continue;
        }
        const bool complete = at + 2 < text.size();
        const int high = complete ? hex_value(text[at + 1]) : -1;
        const int low = complete ? hex_value(text[at + 2]) : -1;
        if (high < 0 || low < 0)
            return text_fault{at,
                              "'%' must be followed by two hexadecimal digits; write %25 for '%'"};
        decoded += static_cast<char>(high * 16 + low);
        at += 2;
    }
    return decoded;
}

}  // namespace pawl::base
