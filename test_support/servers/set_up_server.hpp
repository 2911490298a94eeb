// Servers that Debian has no package of: made once, kept in a cache folder, and found there.
#pragma once

#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// The folder that NAME.recipe beside this header has filled, which takes as long as a download or a
// build does the first time. Throws, with what went wrong, if it cannot be made.
std::filesystem::path set_up_server(const std::string& name);

}  // namespace pawl::testing_servers
