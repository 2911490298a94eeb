// The children of this process, adopted ones included.
//
// A guard is a subreaper: a process that loses its parent below it becomes its child. To signal
// children, and none further down, is therefore enough to reach all in the end, and it is safe: the
// number of a child cannot pass to a stranger before its parent, the guard, has waited for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace pawl::exec {

// Nothing where /proc cannot be read, which says nothing about whether there are any.
std::optional<std::vector<pid_t>> descendants();

// The two ways to find them. The kernel's own list needs CONFIG_PROC_CHILDREN; the other reads the
// parent of every process there is.
std::optional<std::vector<pid_t>> descendants_from_list();
std::optional<std::vector<pid_t>> descendants_from_walk();

// Whether a process has begun to end, or is dead and not yet waited for. From then on it closes its
// descriptors one by one, in an order that the kernel does not promise. False where /proc cannot be
// read.
bool is_ending(pid_t process);

// The threads of a process; none where /proc cannot be read or the process is gone.
std::vector<pid_t> threads_of(pid_t process);

}  // namespace pawl::exec
