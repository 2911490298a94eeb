// Keeps the processors from going to sleep while something is measured.
//
// On a quiet virtual machine a core that sleeps takes tens of microseconds to wake, several times
// what a request to a server on the same machine takes; both sides of every ratio would mostly
// measure that. So a process for each core spins at SCHED_IDLE, which gives way to everything else.
#pragma once

#include <sys/types.h>

#include <vector>

namespace pawl::benchmarks {

class wakefulness {
public:
    // REQUIRES: this process has no other thread yet.
    wakefulness();
    ~wakefulness();
    wakefulness(const wakefulness&) = delete;
    wakefulness& operator=(const wakefulness&) = delete;

private:
    std::vector<pid_t> spinners_;
};

}  // namespace pawl::benchmarks
