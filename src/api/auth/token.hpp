// The secrets by which programs and people say who they are, and what the configuration keeps of
// them.
//
// A token that pawl made carries the name of its user, so that one hash is tried and not those of
// all users. It has 256 random bits, which no slow hash needs to protect; the hash is slow because
// an operator may put that of a password there, made with another tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::api {

// Of any token or password.
constexpr std::size_t token_bytes_max = 1024;

// What an argon2id hash costs. Source: OWASP Password Storage Cheat Sheet, the second of its
// equals.
struct hash_costs {
    std::uint32_t memory_kib = 19'456;
    std::uint32_t passes = 2;
    std::uint32_t lanes = 1;
};

// 256 random bits as 43 letters of base64url. Aborts without entropy.
constexpr std::size_t secret_letters = 43;
std::string fresh_secret();
// HMAC-SHA-256 of the text in base64url.
std::string keyed_digest(std::string_view key, std::string_view text);

// pawl.NAME.SECRET, the name in base64url.
std::string fresh_token(std::string_view name);
// The name in a token of that form; nothing in any other text.
std::optional<std::string> name_in_token(std::string_view token);

// $argon2id$v=19$m=…,t=…,p=…$salt$hash. Takes as long as its costs say. Throws std::bad_alloc.
std::string hash_of(std::string_view token, hash_costs costs = {});

// Unknown: it could not be found out, for want of memory.
enum class comparison { equal, different, unknown };
// Takes as long as the costs in the hash say, whatever the token.
comparison compare(std::string_view token, const std::string& hash) noexcept;

// Whether two secrets are the same, in a time that does not tell where they differ.
bool is_same_secret(std::string_view left, std::string_view right) noexcept;

// By which secrets are known in memory: an HMAC under a key that this process drew and never shows.
// So how a container finds one reveals nothing about it.
class digester {
public:
    digester();
    std::string of(std::string_view secret) const;
    // Of both, so that no other pair of texts has the same.
    std::string of(std::string_view name, std::string_view secret) const;

private:
    std::string key_;
};

}  // namespace pawl::api
