// What may stand in the file as a whole. Apart from fields.hpp for programs without its parser.
#pragma once

#include <array>
#include <string_view>

namespace pawl::config {

inline constexpr std::array<std::string_view, 4> file_tables{"agent", "user", "defaults", "job"};
inline constexpr std::array<std::string_view, 2> file_urls{"store", "journal"};

}  // namespace pawl::config
