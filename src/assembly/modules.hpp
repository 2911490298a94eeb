// Engines that are files of their own: where they lie, and what is wrong with one that cannot be
// used.
#pragma once

#include <pawl/spi/module.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::assembly {

// Where modules are looked for, in this order: the folders of PAWL_ENGINE_PATH, which programs with
// raised privileges do not heed, and the one beside the program or the library that this is in.
std::vector<std::filesystem::path> module_folders();

// The file NAME.so, where there is one.
std::optional<std::filesystem::path> find_module(std::string_view name);

// Loaded once, and for good. Throws option_error that says in one line why it cannot be used.
const engine_module& load_module(const std::filesystem::path& file);

}  // namespace pawl::assembly
