// Which Redis servers vote, and how to log in to each.
#pragma once

#include "engines/redis/client/redis_settings.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstddef>
#include <vector>

namespace pawl::redlock {

// With one there is no majority to speak of; with many, each grant pays for all.
constexpr std::size_t nodes_min = 2;
constexpr std::size_t nodes_max = 15;

struct redlock_settings {
    store_settings common;
    std::vector<redis::redis_settings> nodes;  // independent masters; `common` is the same in each
};

constexpr std::size_t majority_of(std::size_t nodes) noexcept { return nodes / 2 + 1; }

}  // namespace pawl::redlock
