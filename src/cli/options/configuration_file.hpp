// What commands that are no agent read of its configuration file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::cli {

// The URL under `store` or `journal`; nothing where the file has none. Throws exit_error with the
// place of what is wrong: no regular file, no TOML, a key of the file that is unknown, or a URL
// that stands in a table. Jobs may be wrong: the agent says so.
std::optional<std::string> url_in_file(const std::string& path, std::string_view key);

}  // namespace pawl::cli
