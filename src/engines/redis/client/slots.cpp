#include "engines/redis/client/slots.hpp"

#include <array>

namespace pawl::redis {
namespace {

constexpr std::size_t slots_per_shard = cluster_slots / cluster_shards;

constexpr std::array<std::uint16_t, 256> make_crc_table() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned value = byte << 8;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 0x8000) != 0 ? (value << 1) ^ 0x1021 : value << 1;
        table[byte] = static_cast<std::uint16_t>(value);
    }
    return table;
}

constexpr auto crc_table = make_crc_table();

struct tag_table {
    tag_table() {
        std::size_t missing = cluster_shards;
        for (unsigned number = 0; missing > 0; ++number) {
            auto text = std::to_string(number);
            auto& tag = tags[shard_of_key(text)];
            if (!tag.empty()) continue;
            tag = std::move(text);
            --missing;
        }
    }

    std::array<std::string, cluster_shards> tags;
};

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
    unsigned value = 0;
    for (const char letter : bytes)
        value =
            ((value << 8) & 0xffff) ^ crc_table[(value >> 8) ^ static_cast<unsigned char>(letter)];
    return static_cast<std::uint16_t>(value);
}

std::size_t slot_of_name(std::string_view name) noexcept {
    const auto open = name.find('{');
    if (open != std::string_view::npos) {
        const auto close = name.find('}', open + 1);
        if (close != std::string_view::npos && close > open + 1)
            name = name.substr(open + 1, close - open - 1);
    }
    return crc16(name) % cluster_slots;
}

std::size_t shard_of_key(std::string_view key) noexcept {
    return crc16(key) % cluster_slots / slots_per_shard;
}

const std::string& shard_tag(std::size_t shard) {
    static const tag_table table;
    return table.tags.at(shard);
}

std::size_t shard_slot(std::size_t shard) { return crc16(shard_tag(shard)) % cluster_slots; }

std::size_t shard_in_slot(std::size_t slot) {
    const auto shard = slot / slots_per_shard;
    return shard_slot(shard) == slot ? shard : cluster_shards;
}

}  // namespace pawl::redis
