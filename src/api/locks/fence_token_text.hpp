// Fencing tokens as requests write them.
#pragma once

#include "base/number.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::api {

constexpr std::int64_t fence_token_max = (std::int64_t{1} << 53) - 1;
constexpr std::string_view fence_token_right =
    "a fencing token is an integer from 1 to 9007199254740991";

inline std::optional<fence_token> fence_token_of(std::string_view text) {
    const auto value = base::parse_number_within<std::uint64_t>(text, 1, fence_token_max);
    if (!value) return std::nullopt;
    return fence_token{*value};
}

}  // namespace pawl::api
