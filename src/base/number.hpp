// Whole numbers in text, the same in every locale: digits, behind a '-' where Number is signed.
//
// No '+', no white space, no prefix such as 0x; leading zeros are fine. Of radix 16 the letters may
// be of either case.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace pawl::base {

// What a text begins with, for those who tell too large a number from none.
template <std::integral Number>
struct number_at_front {
    Number value = 0;
    std::size_t size = 0;  // the bytes of the text that are it; 0: there is none
    bool out_of_range = false;
};

template <std::integral Number>
number_at_front<Number> read_number(std::string_view text, int radix = 10) {
    number_at_front<Number> read;
    const auto* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, read.value, radix);
    read.out_of_range = error == std::errc::result_out_of_range;
    read.size = static_cast<std::size_t>(rest - text.data());
    return read;
}

// The number at the front, whatever follows. Nothing where there is none or it is out of range.
template <std::integral Number>
std::optional<Number> leading_number(std::string_view text, int radix = 10) {
    const auto read = read_number<Number>(text, radix);
    if (read.size == 0 || read.out_of_range) return std::nullopt;
    return read.value;
}

// The number that is the whole text. Nothing for an empty text, one with anything else in it, and a
// number that is out of range.
template <std::integral Number>
std::optional<Number> parse_number(std::string_view whole, int radix = 10) {
    const auto read = read_number<Number>(whole, radix);
    if (read.size == 0 || read.size != whole.size() || read.out_of_range) return std::nullopt;
    return read.value;
}

// The same, or nothing where it is not from `least` to `most`.
template <std::integral Number>
std::optional<Number> parse_number_within(std::string_view whole, Number least, Number most) {
    const auto value = parse_number<Number>(whole);
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

// With zeros in front up to so many digits, so that numbers sort as text does; a number of more
// digits loses its first ones.
std::string padded(std::uint64_t value, std::size_t digits);

}  // namespace pawl::base
