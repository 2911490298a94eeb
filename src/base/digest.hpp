// Digests of text.
#pragma once

#include <string>
#include <string_view>

namespace pawl::base {

// SHA-256 as 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view text);
// SHA-1 as 40: only where a protocol asks for it, as Redis does for the names of its scripts.
std::string sha1_hex(std::string_view text);

// MD5 as 32: only where a protocol names content by it, as S3 does.
std::string md5_hex(std::string_view text);

// HMAC-SHA-256 as 32 bytes. Source: RFC 2104.
std::string hmac_sha256(std::string_view key, std::string_view text);

}  // namespace pawl::base
