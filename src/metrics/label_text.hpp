// Names that others have chosen, as values of labels.
#pragma once

#include <string>
#include <string_view>

namespace pawl::metrics {

// Where there are too many.
constexpr std::string_view other_label = "_other";

// Prometheus refuses a whole page for one byte that is no UTF-8: such bytes become U+FFFD. Quotes,
// backslashes and line ends stay, the serializer escapes them.
// Source: The Unicode Standard, table 3-7 (well-formed UTF-8).
std::string label_text(std::string_view name);

}  // namespace pawl::metrics
