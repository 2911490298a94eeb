#include "base/digest.hpp"

#include "base/hex.hpp"

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include <array>
#include <cstdint>
#include <span>

namespace pawl::base {
namespace {

const std::uint8_t* bytes_of(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

std::string sha256_hex(std::string_view text) {
    sha256_ctx state;
    sha256_init(&state);
    sha256_update(&state, text.size(), bytes_of(text));
    std::array<unsigned char, SHA256_DIGEST_SIZE> bytes;
    sha256_digest(&state, bytes.size(), bytes.data());
    return to_hex(std::span{bytes});
}

std::string sha1_hex(std::string_view text) {
    sha1_ctx state;
    sha1_init(&state);
    sha1_update(&state, text.size(), bytes_of(text));
    std::array<unsigned char, SHA1_DIGEST_SIZE> bytes;
    sha1_digest(&state, bytes.size(), bytes.data());
    return to_hex(std::span{bytes});
}

std::string md5_hex(std::string_view text) {
    md5_ctx state;
    md5_init(&state);
    md5_update(&state, text.size(), bytes_of(text));
    std::array<unsigned char, MD5_DIGEST_SIZE> bytes;
    md5_digest(&state, bytes.size(), bytes.data());
    return to_hex(std::span{bytes});
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
    hmac_sha256_ctx state;
    hmac_sha256_set_key(&state, key.size(), bytes_of(key));
    hmac_sha256_update(&state, text.size(), bytes_of(text));
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> bytes;
    hmac_sha256_digest(&state, bytes.size(), bytes.data());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace pawl::base
