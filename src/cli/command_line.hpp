// The command `pawl`: from the words of a command line to an exit status.
#pragma once

namespace pawl::cli {

// What main() is given, and what it returns: one of cli/status.hpp, or the status of the command
// that `pawl exec` ran. Once in a process: it sets up the log and what becomes of signals, and
// takes secrets out of `words`, which other users of the machine can read.
int run(int count, char** words);

// The same with the command `exec` alone, for words of which takes_quick_path() holds.
int run_quick(int count, char** words);

}  // namespace pawl::cli
