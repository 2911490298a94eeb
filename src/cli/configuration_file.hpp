// What commands that are no agent read of its configuration file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::cli {

// The URL under `store` or `journal`; nothing where the file has none. Throws exit_error with the
// place of what is wrong.
std::optional<std::string> url_in_file(const std::string& path, std::string_view key);

}  // namespace pawl::cli
