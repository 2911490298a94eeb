#include "config/size.hpp"

#include "base/number.hpp"

#include <array>
#include <utility>

namespace pawl::config {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 60;

struct unit {
    std::string_view name;
    std::int64_t bytes;
};

// Binary ones first, largest first, as format_size tries them.
constexpr std::array<unit, 10> units{{{"TiB", 1LL << 40},
                                      {"GiB", 1LL << 30},
                                      {"MiB", 1LL << 20},
                                      {"KiB", 1LL << 10},
                                      {"B", 1},
                                      {"", 1},
                                      {"kB", 1000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"TB", 1'000'000'000'000}}};

base::text_fault fault(std::size_t column, std::string_view what) {
    return {column, std::string{what}};
}

}  // namespace

base::parsed<std::int64_t> parse_size(std::string_view text) {
    const auto [count, unit_at, too_large] = base::read_number<std::int64_t>(text);
    if (too_large) return fault(0, "more than 2^60 bytes");
    if (unit_at == 0 || count < 0)
        return fault(0, "expected a number with a unit, such as 64KiB, 1MiB or 2GB");
    for (const auto& [name, bytes] : units) {
        if (name != text.substr(unit_at)) continue;
        if (count > largest / bytes) return fault(0, "more than 2^60 bytes");
        return count * bytes;
    }
    return fault(unit_at, "unknown unit; expected B, KiB, MiB, GiB, TiB, kB, MB, GB or TB");
}

std::string format_size(std::int64_t bytes) {
    for (const auto& [name, each] : units)
        if (bytes != 0 && bytes % each == 0 && bytes / each > 0)
            return std::to_string(bytes / each) + std::string{name};
    return std::to_string(bytes);
}

std::string format_count(std::int64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4)
        digits.insert(digits.size() - from_end, ",");
    return digits;
}

}  // namespace pawl::config
