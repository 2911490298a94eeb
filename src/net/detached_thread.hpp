// Threads for what cannot be called off, such as getaddrinfo(), and for which no end may wait.
#pragma once

#include <chrono>
#include <functional>

namespace pawl::net {

// Must not throw, and may run until the program ends.
using detached_job = std::function<void()>;

// On a thread that takes none of the program's signals. Throws std::system_error where the machine
// has no thread left.
void run_detached(detached_job job);

// The same, and waits for its end, for `longest` at most. Runs it here where there is no thread.
void run_detached_for(std::chrono::nanoseconds longest, detached_job job);

}  // namespace pawl::net
