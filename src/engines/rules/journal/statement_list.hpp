// Statements that stand together in one SQL file, each behind a line that names it.
#pragma once

#include <string_view>

namespace pawl::journals {

// The statement that this text has under the name: from the line `-- name: NAME` to the next empty
// one. Aborts where it has none: the file is ours.
std::string_view statement_named(std::string_view text, std::string_view name);

}  // namespace pawl::journals
