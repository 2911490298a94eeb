#include "base/base64.hpp"

#include <nettle/base64.h>

#include <cstddef>
#include <cstdint>

namespace pawl::base {

std::string to_base64(std::string_view bytes) {
    std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
    base64_encode_raw(text.data(), bytes.size(),
                      reinterpret_cast<const std::uint8_t*>(bytes.data()));
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    base64_decode_ctx state;
    base64_decode_init(&state);
    std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
    std::size_t size = 0;
    if (base64_decode_update(&state, &size, reinterpret_cast<std::uint8_t*>(bytes.data()),
                             text.size(), text.data()) != 1 ||
        base64_decode_final(&state) != 1)
        return std::nullopt;
    bytes.resize(size);
    // The library overlooks white space and bits that no byte is made of.
    if (to_base64(bytes) != text) return std::nullopt;
    return bytes;
}

}  // namespace pawl::base
