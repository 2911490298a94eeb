// Numbers of bytes as people write them: 512, 64KiB, 1MiB, 2GB.
#pragma once

#include "base/duration.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::config {

// A whole number and a unit: B, KiB, MiB, GiB, TiB, or kB, MB, GB, TB (powers of 1000). Without a
// unit: bytes. At most 2^60 bytes.
base::parsed<std::int64_t> parse_size(std::string_view text);

// In the largest binary unit that leaves a whole number: 1048576 is "1MiB".
std::string format_size(std::int64_t bytes);

// Thousands apart: 1,000,000.
std::string format_count(std::int64_t count);

}  // namespace pawl::config
