// Bytes as letters, four for each three, with '=' where they do not come out even. Source: RFC
// 4648, 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::base {

std::string to_base64(std::string_view bytes);

// The bytes that to_base64 made this of; nothing for any other text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace pawl::base
