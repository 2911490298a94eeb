#include "base/digest.hpp"

#include "base/ensure.hpp"
#include "base/hex.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <span>
#include <utility>

namespace pawl::base {
namespace {

std::optional<std::string> find_digest(std::string_view text, const EVP_MD* how) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), bytes.data(), &size, how, nullptr) != 1)
        return std::nullopt;
    return to_hex(std::span{bytes}.first(size));
}

std::string digest_hex(std::string_view text, const EVP_MD* how) {
    auto made = find_digest(text, how);
    ensure(made.has_value());
    return std::move(*made);
}

}  // namespace

std::string sha256_hex(std::string_view text) { return digest_hex(text, EVP_sha256()); }

std::string sha1_hex(std::string_view text) { return digest_hex(text, EVP_sha1()); }

std::optional<std::string> md5_hex(std::string_view text) { return find_digest(text, EVP_md5()); }

std::string hmac_sha256(std::string_view key, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    const auto* made =
        HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
    ensure(made != nullptr);
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace pawl::base
