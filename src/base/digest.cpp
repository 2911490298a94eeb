#include "base/digest.hpp"

#include "base/hex.hpp"

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pawl::base {
namespace {

const std::uint8_t* bytes_of(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

// What the library has under three names each.
template <std::size_t Size, class State>
std::string digest_hex(std::string_view text, void (*init)(State*),
                       void (*update)(State*, std::size_t, const std::uint8_t*),
                       void (*digest)(State*, std::size_t, std::uint8_t*)) {
    State state;
    init(&state);
    update(&state, text.size(), bytes_of(text));
    std::array<unsigned char, Size> bytes;
    digest(&state, bytes.size(), bytes.data());
    return to_hex(std::span{bytes});
}

}  // namespace

std::string sha256_hex(std::string_view text) {
    return digest_hex<SHA256_DIGEST_SIZE>(text, sha256_init, sha256_update, sha256_digest);
}

std::string sha1_hex(std::string_view text) {
    return digest_hex<SHA1_DIGEST_SIZE>(text, sha1_init, sha1_update, sha1_digest);
}

std::string md5_hex(std::string_view text) {
    return digest_hex<MD5_DIGEST_SIZE>(text, md5_init, md5_update, md5_digest);
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
