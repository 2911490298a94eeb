#include "api/auth/token.hpp"

#include "base/ensure.hpp"
#include "config/texts.hpp"

#include <argon2.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <new>
#include <vector>

namespace pawl::api {
namespace {

constexpr std::string_view form_prefix = "pawl.";
constexpr std::size_t secret_bytes = 32;
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t hash_bytes = 32;

// RFC 4648, section 5, without padding.
constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    base::ensure(
        RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1);
    return bytes;
}

std::string hmac_of(std::string_view key, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    base::ensure(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                      reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                      bytes.data(), &size) != nullptr);
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::string base64url(std::string_view bytes) {
    std::string text;
    std::uint32_t held = 0;
    int bits = 0;
    for (const char one : bytes) {
        held = held << 8 | static_cast<unsigned char>(one);
        for (bits += 8; bits >= 6; bits -= 6) text += letters[held >> (bits - 6) & 63];
    }
    if (bits > 0) text += letters[held << (6 - bits) & 63];
    return text;
}

// Nothing for what base64url() never writes: each text stands for one value, and each value for one
// text.
std::optional<std::string> from_base64url(std::string_view text) {
    std::string bytes;
    std::uint32_t held = 0;
    int bits = 0;
    for (const char one : text) {
        const auto digit = letters.find(one);
        if (digit == std::string_view::npos) return std::nullopt;
        held = held << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(held >> bits & 255);
    }
    if (base64url(bytes) != text) return std::nullopt;
    return bytes;
}

}  // namespace

std::string fresh_secret() { return base64url(random_bytes(secret_bytes)); }

std::string fresh_token(std::string_view name) {
    return std::string{form_prefix} + base64url(name) + "." + fresh_secret();
}

std::optional<std::string> name_in_token(std::string_view token) {
    if (!token.starts_with(form_prefix) || token.size() > token_bytes_max) return std::nullopt;
    const auto rest = token.substr(form_prefix.size());
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto secret = rest.substr(dot + 1);
    if (secret.size() != secret_letters || !from_base64url(secret)) return std::nullopt;
    auto name = from_base64url(rest.substr(0, dot));
    if (!name || config::user_name_fault(*name)) return std::nullopt;
    return name;
}

std::string hash_of(std::string_view token, hash_costs costs) {
    const auto salt = random_bytes(salt_bytes);
    const auto size = argon2_encodedlen(costs.passes, costs.memory_kib, costs.lanes, salt_bytes,
                                        hash_bytes, Argon2_id);
    std::vector<char> encoded(size);
    const int status = argon2id_hash_encoded(costs.passes, costs.memory_kib, costs.lanes,
                                             token.data(), token.size(), salt.data(), salt.size(),
                                             hash_bytes, encoded.data(), encoded.size());
    if (status == ARGON2_MEMORY_ALLOCATION_ERROR) throw std::bad_alloc{};
    base::ensure(status == ARGON2_OK);
    return encoded.data();
}

comparison compare(std::string_view token, const std::string& hash) noexcept {
    switch (argon2id_verify(hash.c_str(), token.data(), token.size())) {
        case ARGON2_OK:
            return comparison::equal;
        case ARGON2_MEMORY_ALLOCATION_ERROR:
        case ARGON2_THREAD_FAIL:
            return comparison::unknown;
        default:
            return comparison::different;
    }
}

bool is_same_secret(std::string_view left, std::string_view right) noexcept {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string keyed_digest(std::string_view key, std::string_view text) {
    return base64url(hmac_of(key, text));
}

digester::digester() : key_{random_bytes(secret_bytes)} {}

std::string digester::of(std::string_view secret) const { return hmac_of(key_, secret); }

std::string digester::of(std::string_view name, std::string_view secret) const {
    return of(std::to_string(name.size()) + ":" + std::string{name} + std::string{secret});
}

}  // namespace pawl::api
