// Hashes that nodes of different builds agree about, so std::hash would not do.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::schedule {

inline std::uint64_t stable_hash(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

inline std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
    return stable_hash(hash);
}

}  // namespace pawl::schedule
