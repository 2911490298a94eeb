// The text of `pawl checkpoint -`.
#pragma once

#include <istream>
#include <string>

namespace pawl::cli {

// All of it, without the line end behind it. Of a text that is too long to be saved, so much that
// it is: what writes to `from` may never end.
std::string read_checkpoint(std::istream& from);

}  // namespace pawl::cli
