// Files that are read whole while a loop runs: credentials and the like.
#pragma once

#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace pawl::net {

// The first mebibyte of it, read away from the loop. Nothing: it is not there, or may not be read.
boost::asio::awaitable<std::optional<std::string>> read_small_file(loop& where, std::string path);

// Editors end a file with a line's end, which is no part of what is in it.
std::string without_line_ends(std::string_view text);

}  // namespace pawl::net
