// Percent-encoding: a byte that may not stand in a text as it is becomes '%' and two hexadecimal
// digits. Source: RFC 3986, 2.
#pragma once

#include "base/duration.hpp"
#include "base/hex.hpp"

#include <string>
#include <string_view>

namespace pawl::base {

// Keeps letters, digits and -._~ only, so that the result may stand as one segment of a path or as
// one value of a query.
std::string percent_encode(std::string_view text);

// Keeps the bytes that `keeps` says. What it may not keep, if it is to be decoded, is '%'.
std::string percent_encode(std::string_view text, bool (*keeps)(char),
                           hex_case letters = hex_case::upper);

// Any bytes, of escapes with digits of either case; '+' stays one. The fault, which does not quote
// the text, is where a '%' has no two digits behind it.
parsed<std::string> percent_decode(std::string_view text);

}  // namespace pawl::base
