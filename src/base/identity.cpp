#include "base/identity.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"

#include <pawl/types.hpp>

#include <openssl/rand.h>

#include <algorithm>
#include <array>

namespace pawl::base {
namespace {

std::array<unsigned char, 16> random_bytes() {
    std::array<unsigned char, 16> bytes{};
    ensure(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
    return bytes;
}

std::string hexadecimal(const std::array<unsigned char, 16>& bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(32);
    for (const unsigned byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

std::string id_source::next() {
    if (used_ == bytes_.size()) {
        ensure(RAND_bytes(bytes_.data(), static_cast<int>(bytes_.size())) == 1);
        used_ = 0;
    }
    std::array<unsigned char, 16> taken{};
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(used_), taken.size(), taken.begin());
    used_ += taken.size();
    return hexadecimal(taken);
}

std::string fresh_id() { return hexadecimal(random_bytes()); }

std::string fresh_uuid() {
    auto bytes = random_bytes();
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    auto text = hexadecimal(bytes);
    for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
    return text;
}

std::string owner_name(std::string_view host, std::int64_t pid, std::int64_t start,
                       std::string_view nonce) {
    const auto tail =
        ":" + std::to_string(pid) + ":" + std::to_string(start) + ":" + std::string{nonce};
    return printable(host.substr(0, owner_bytes_max - tail.size())) + tail;
}

}  // namespace pawl::base
