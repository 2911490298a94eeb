#include <pawl/partition.hpp>

#include <algorithm>

namespace pawl {
namespace {

// The constants of FNV-1a.
std::uint64_t hash_of(std::string_view bytes) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001b3;
    }
    return hash;
}

// Each bit of the result depends on every bit of `value`; the multipliers are SplitMix64's.
std::uint64_t mixed(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

}  // namespace

std::uint32_t partition_of(std::string_view key, std::uint32_t count) noexcept {
    const auto hash = hash_of(key);
    std::uint32_t chosen = 0;
    std::uint64_t highest = 0;
    for (std::uint32_t index = 0; index < std::max(count, 1U); ++index) {
        const auto weight = mixed(hash + (index + 1) * 0x9e3779b97f4a7c15);
        if (index == 0 || weight > highest) {
            highest = weight;
            chosen = index;
        }
    }
    return chosen;
}

}  // namespace pawl
