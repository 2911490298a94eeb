// The record of one lease as it lies in Redis: one line of text (docs/stores/redis.md).
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::redis {

// The word up to the next space, which is taken off `text` with it; the rest where there is none.
std::string_view take_word(std::string_view& text);
// The same of a word that has to be a whole number, not below 0; false for any other.
bool take_number(std::string_view& text, std::int64_t& number);

// A claim id as it may stand in a record: no space, no comma, never "-".
std::string encode_id(std::string_view id);

// `now` is the server's clock in microseconds. Nothing for a record that only remembers withdrawn
// claims of a key never granted; `rejected` for text that is no record.
result<std::optional<record>> parse_record(std::string_view key, std::string_view text,
                                           std::int64_t now);

}  // namespace pawl::redis
