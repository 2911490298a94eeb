// A descriptor that stands for a process: unlike its number, it can never come to mean another one.
#pragma once

#include "exec/descriptor.hpp"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace pawl::exec {

// By their numbers, as the C library's header (2.36) is none for C++. Closed where the kernel, or a
// filter on its calls, does not know them.
inline descriptor open_pidfd(pid_t process) {
    return descriptor{static_cast<int>(syscall(SYS_pidfd_open, process, 0U))};
}

inline void signal_pidfd(const descriptor& process, int signal) {
    syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0U);
}

}  // namespace pawl::exec
