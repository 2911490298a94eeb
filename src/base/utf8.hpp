// Text of which every byte belongs to a character of UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace pawl::base {

// Keys and owners are any bytes, but a reader of JSON or a page of metrics rejects all of it for
// one byte that is no UTF-8: such bytes become U+FFFD. Everything else stays.
// Source: The Unicode Standard, table 3-7 (well-formed UTF-8).
std::string to_utf8(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace pawl::base
