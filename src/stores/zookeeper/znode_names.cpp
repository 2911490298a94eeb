#include "stores/zookeeper/znode_names.hpp"

#include <cstdint>

namespace pawl::zookeeper {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"-_.~!$&'()*+,;=:@ "}.find(c) != std::string_view::npos;
}

}  // namespace

std::string encode_name(std::string_view key) {
    std::string name;
    name.reserve(key.size());
    for (const char c : key) {
        // A leading dot would make "." and "..".
        if (is_plain(c) && !(c == '.' && name.empty())) {
            name += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        name += '%';
        name += digits[byte >> 4];
        name += digits[byte & 15];
    }
    return name;
}

std::optional<std::string> decode_name(std::string_view name) {
    std::string key;
    key.reserve(name.size());
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '%') {
            key += name[i];
            continue;
        }
        if (i + 2 >= name.size()) return std::nullopt;
        const auto high = digits.find(name[i + 1]), low = digits.find(name[i + 2]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        key += static_cast<char>(high << 4 | low);
        i += 2;
    }
    if (encode_name(key) != name) return std::nullopt;
    return key;
}

// Source: FNV-1a, 32 bits, folded to six.
std::string bucket_of(std::string_view key) {
    std::uint32_t hash = 2166136261u;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    return {digits[hash >> 4 & 3], digits[hash & 15]};
}

std::string parent_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace pawl::zookeeper
