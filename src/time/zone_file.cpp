#include "time/zone_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pawl::time {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::string_view magic = "TZif";
constexpr std::size_t header_size = 44;
constexpr std::size_t counts_at = 20;  // in the header
constexpr std::size_t type_size = 6;
constexpr std::int64_t offset_most = std::int64_t{26} * 3600;

std::int64_t big_endian(std::string_view bytes) {
    const bool is_negative = (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0;
    std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
    for (const char one : bytes) value = value << 8U | static_cast<unsigned char>(one);
    return static_cast<std::int64_t>(value);
}

// A header and the data behind it, whose times have four bytes or eight.
struct block {
    char version = 0;
    std::size_t times = 0, types = 0;
    std::string_view data{};
    std::size_t time_size = 4;
};

// Takes the block off the front of `bytes`.
std::optional<block> take_block(std::string_view& bytes, std::size_t time_size) {
    if (bytes.size() < header_size || !bytes.starts_with(magic)) return std::nullopt;
    std::size_t counts[6]{};  // of UTC marks, standard marks, leaps, times, types, letters
    for (std::size_t i = 0; i < 6; ++i) {
        const auto count = big_endian(bytes.substr(counts_at + i * 4, 4));
        if (count < 0 || static_cast<std::size_t>(count) > bytes.size()) return std::nullopt;
        counts[i] = static_cast<std::size_t>(count);
    }
    const auto [utc_marks, standard_marks, leaps, times, types, letters] = counts;
    if (leaps != 0 || types == 0) return std::nullopt;
    const auto size =
        times * (time_size + 1) + types * type_size + letters + standard_marks + utc_marks;
    if (bytes.size() - header_size < size) return std::nullopt;
    block found{bytes[4], times, types, bytes.substr(header_size, size), time_size};
    bytes.remove_prefix(header_size + size);
    return found;
}

std::optional<std::vector<stretch>> stretches_of(const block& from) {
    const auto indexes = from.data.substr(from.times * from.time_size, from.times);
    const auto types = from.data.substr(from.times * (from.time_size + 1));
    std::vector<stretch> all;
    // False for an offset that no place on earth has, or a time that is not after the last.
    const auto add = [&](std::int64_t at, std::size_t type) {
        if (type >= from.types) return false;
        const auto offset = big_endian(types.substr(type * type_size, 4));
        if (offset > offset_most || offset < -offset_most) return false;
        const sys_seconds begin{std::max(seconds{at}, -end_of_times)};
        if (!all.empty() && begin == all.back().begin) all.pop_back();
        if (!all.empty() && begin < all.back().begin) return false;
        if (all.empty() || all.back().offset != seconds{offset})
            all.push_back({begin, seconds{offset}});
        return true;
    };
    if (!add(-end_of_times.count(), 0)) return std::nullopt;
    for (std::size_t i = 0; i < from.times; ++i) {
        const auto at = big_endian(from.data.substr(i * from.time_size, from.time_size));
        if (at >= end_of_times.count()) break;
        if (!add(at, static_cast<unsigned char>(indexes[i]))) return std::nullopt;
    }
    return all;
}

}  // namespace

std::optional<zone_table> parse_zone_file(std::string_view bytes) {
    auto found = take_block(bytes, 4);
    if (!found) return std::nullopt;
    zone_table table;
    // From the second version on the same follows with longer times, and then the rule.
    if (found->version >= '2') {
        found = take_block(bytes, 8);
        if (!found || bytes.size() < 2 || bytes.front() != '\n') return std::nullopt;
        const auto end = bytes.find('\n', 1);
        if (end == std::string_view::npos) return std::nullopt;
        table.rule = bytes.substr(1, end - 1);
    }
    auto stretches = stretches_of(*found);
    if (!stretches) return std::nullopt;
    table.stretches = std::move(*stretches);
    return table;
}

}  // namespace pawl::time
