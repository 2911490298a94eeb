#include "engines/zookeeper/store/znode_names.hpp"

#include "base/ascii.hpp"
#include "base/percent.hpp"

#include <cstdint>

namespace pawl::zookeeper {
namespace {

bool is_plain(char c) {
    return base::is_alphanumeric(c) ||
           std::string_view{"-_.~!$&'()*+,;=:@ "}.find(c) != std::string_view::npos;
}

}  // namespace

std::string encode_name(std::string_view key) {
    auto name = base::percent_encode(key, is_plain);
    // A leading dot would make "." and "..".
    if (name.starts_with('.')) name.replace(0, 1, "%2E");
    return name;
}

std::optional<std::string> decode_name(std::string_view name) {
    auto key = base::percent_decode(name);
    if (key.has_error() || encode_name(*key) != name) return std::nullopt;
    return *std::move(key);
}

// Source: FNV-1a, 32 bits, folded to six.
std::string bucket_of(std::string_view key) {
    std::uint32_t hash = 2166136261u;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    std::string bucket;
    base::add_hex(bucket, static_cast<unsigned char>(hash & 0x3f), base::hex_case::upper);
    return bucket;
}

std::string parent_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace pawl::zookeeper
