// Job control: which process group has the terminal.
//
// A command runs in a process group of its own, and only one group of a terminal may read from it.
// So a command that was started by hand is given the terminal, as a shell gives it to a job.
#pragma once

#include <sys/types.h>

namespace pawl::exec {

// True when a person sits in front of us: stdin and stdout are one terminal and our group has it.
// In a pipeline it stays with us, for the others in it need it too.
bool holds_terminal();

// False when another process has it, such as the shell after a `bg`.
bool give_terminal(pid_t group);

void take_terminal_back();

// Stops this process, as ^Z would, until it is continued.
void stop_with_the_command();

}  // namespace pawl::exec
