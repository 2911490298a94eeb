// The record of one key as it lies in one node, one line of text (docs/stores/redlock.md), and what
// the records of several nodes say together.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl::redlock {

struct node_record {
    enum class phase { free, promised, confirmed } at = phase::free;
    fence_token holder{};  // of the phase: 0 when free, promised is this node's own
    millis remaining{};    // 0: not live
    fence_token last{};    // the highest that was confirmed or burnt
    std::optional<occurrence> done{};
    std::string id;  // of the claim, as in the record
    std::string owner;

    bool is_live() const noexcept { return remaining.count() > 0; }
    bool holds(fence_token token) const noexcept {
        return is_live() && at == phase::confirmed && holder == token;
    }
};

// `now` is the node's clock in microseconds. Empty for text that is no record.
std::optional<node_record> parse_record(std::string_view text, std::int64_t now);

// As it stands in a record: 16 digits, which hold every token below 2^53.
std::string digits_of(fence_token token);

// What one node said of a key; empty: it has no record. Only nodes that answered are there.
using observations = std::span<const std::optional<node_record>>;

// Held if a majority says so; where nodes are missing, by those that have seen most. Empty for a
// key that was never held.
std::optional<record> merge(const std::string& key, observations seen, std::size_t nodes,
                            std::size_t majority);
// Whether nodes that are missing could not change who holds the key, nor noticeably until when.
bool is_settled(observations seen, std::size_t nodes, std::size_t majority);

}  // namespace pawl::redlock
