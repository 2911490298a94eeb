// What the small program does by itself. `pawl exec` around a short command costs what it takes to
// start a process; most of that is loading libraries that it does not need. So bin/pawl has `exec`
// on the stores that need no module, and becomes the whole program for all else.
#pragma once

#include <span>
#include <string_view>

namespace pawl::cli {

// True for `--version` alone, and for `exec` where store and journal, by option, by variable or by
// default, are SQLite files or memory. Where it is not sure, false: the whole program can do all of
// it. `words` without the program's name; `variable` is getenv() or a test's.
bool takes_quick_path(std::span<const char* const> words, const char* (*variable)(const char*));

}  // namespace pawl::cli
