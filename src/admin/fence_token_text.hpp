// Fencing tokens as requests write them.
#pragma once

#include <pawl/types.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::admin {

constexpr std::int64_t fence_token_max = (std::int64_t{1} << 53) - 1;
constexpr std::string_view fence_token_right =
    "a fencing token is a whole number from 1 to 9007199254740991";

inline std::optional<fence_token> fence_token_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (value < 1 || value > static_cast<std::uint64_t>(fence_token_max)) return std::nullopt;
    return fence_token{value};
}

}  // namespace pawl::admin
