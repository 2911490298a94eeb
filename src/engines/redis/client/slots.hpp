// The slots of a Redis Cluster, and how the keys of a store are spread over them.
//
// What one script touches must lie in one slot. So in a cluster a namespace is cut into shards,
// each laid out like a namespace of its own under a name with a hash tag, such as pawl{17}: the
// record of a key, the index that lists it and the marker of the quarantine share a slot, whatever
// bytes the key is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::redis {

constexpr std::size_t cluster_slots = 16384;
// Many enough to be even over dozens of masters, few enough that a listing asks them all.
constexpr std::size_t cluster_shards = 256;

// CRC-16/XMODEM. Source: the Redis Cluster specification, "Key distribution model".
std::uint16_t crc16(std::string_view bytes) noexcept;

// The slot that the cluster puts a name into: what stands in its first braces counts, if anything.
std::size_t slot_of_name(std::string_view name) noexcept;

// The shard of a key or a resource, from all of its bytes.
std::size_t shard_of_key(std::string_view key) noexcept;

// The hash tag of a shard: the smallest number whose slot is in the shard's part of all slots, so
// that masters with equal parts of the slots have equal parts of the shards.
const std::string& shard_tag(std::size_t shard);
std::size_t shard_slot(std::size_t shard);
// The shard whose tag lies in the slot, or cluster_shards when there is none.
std::size_t shard_in_slot(std::size_t slot);

}  // namespace pawl::redis
