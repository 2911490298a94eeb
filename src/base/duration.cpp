#include "base/duration.hpp"

#include "base/number.hpp"

#include <array>
#include <limits>
#include <stdexcept>

namespace pawl::base {
namespace {

struct unit {
    std::string_view name;
    std::int64_t milliseconds;
};

constexpr std::array<unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::int64_t longest = 3653LL * 86'400'000;
constexpr std::string_view expected = "expected a duration such as 250ms, 30s, 5m, 2h or 1h30m";

text_fault fault(std::size_t column, std::string_view what) { return {column, std::string{what}}; }

std::string_view unit_name_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (text[end] < '0' || text[end] > '9')) ++end;
    return text.substr(at, end - at);
}

}  // namespace

void throw_exception_from_error(const text_fault& fault, const boost::source_location&) {
    throw std::invalid_argument{fault.what};
}

parsed<millis> parse_duration(std::string_view text) {
    if (text == "0") return millis{0};
    if (text.empty()) return fault(0, expected);
    std::int64_t total = 0;
    std::size_t at = 0, next_unit = 0;
    while (at < text.size()) {
        const auto [count, digits, too_large] = read_number<std::int64_t>(text.substr(at));
        if (text[at] == '-') return fault(at, "a duration cannot be negative");
        if (too_large) return fault(at, "the duration is longer than 10 years");
        if (digits == 0) return fault(at, expected);
        const auto unit_at = at + digits;
        const auto name = unit_name_at(text, unit_at);
        if (name.empty()) return fault(unit_at, "the unit is missing: ms, s, m, h or d");
        std::size_t index = next_unit;
        while (index < units.size() && units[index].name != name) ++index;
        if (index == units.size()) {
            for (const auto& known : units)
                if (known.name == name)
                    return fault(unit_at, "units go from the largest to the smallest, each once");
            return fault(unit_at, "unknown unit '" + std::string{name} + "': ms, s, m, h or d");
        }
        if (count > (longest - total) / units[index].milliseconds)
            return fault(at, "the duration is longer than 10 years");
        total += count * units[index].milliseconds;
        next_unit = index + 1;
        at = unit_at + name.size();
    }
    return millis{total};
}

std::string format_duration(millis duration) {
    if (duration.count() == 0) return "0s";
    std::string text;
    auto left = duration.count();
    if (left < 0) {
        text = '-';
        left = left == std::numeric_limits<std::int64_t>::min()
                   ? std::numeric_limits<std::int64_t>::max()
                   : -left;
    }
    for (const auto& [name, milliseconds] : units) {
        const auto count = left / milliseconds;
        if (count == 0) continue;
        text += std::to_string(count);
        text += name;
        left -= count * milliseconds;
    }
    return text;
}

}  // namespace pawl::base
