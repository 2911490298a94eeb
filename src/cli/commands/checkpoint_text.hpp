// The text of `pawl checkpoint -`.
#pragma once

#include <string>

namespace pawl::cli {

// All that can be read, without the line end behind it. Of a text that is too long to be saved, so
// much that it is: what writes to it may never end. Throws exit_error where nothing comes, or it
// cannot be read: what came before that is no checkpoint.
std::string read_checkpoint(int descriptor);

}  // namespace pawl::cli
