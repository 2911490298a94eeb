#include "base/base64.hpp"

#include <openssl/evp.h>

#include <cstddef>

namespace pawl::base {
namespace {

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string to_base64(std::string_view bytes) {
    // The library writes a zero behind the last letter.
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()));
    text.pop_back();
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    if (text.empty()) return std::string{};
    std::string bytes(text.size() / 4 * 3, '\0');
    if (EVP_DecodeBlock(bytes_of(bytes), bytes_of(text), static_cast<int>(text.size())) < 0)
        return std::nullopt;
    // The library decodes '=' as a zero.
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.resize(bytes.size() - padding);
    // It also overlooks white space at the ends and bits that no byte is made of.
    if (to_base64(bytes) != text) return std::nullopt;
    return bytes;
}

}  // namespace pawl::base
