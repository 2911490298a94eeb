// Stops a process at a moment that it passes in microseconds.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <future>
#include <thread>

namespace pawl::crash {

// The next process that `parent` forks is stopped when it has itself forked: it knows nothing of
// that yet, while its own child runs. SIGKILL ends it there.
class fork_trap {
public:
    // By ptrace, so that only the end of the trap continues it, or as by SIGSTOP.
    enum class stop { traced, signalled };
    // Set when this returns. REQUIRES: this process may trace `parent`.
    explicit fork_trap(pid_t parent, stop how = stop::traced);
    // Kills what is traced, if no other has. REQUIRES: a process has been trapped.
    ~fork_trap();
    fork_trap(const fork_trap&) = delete;
    fork_trap& operator=(const fork_trap&) = delete;

    struct catch_result {
        pid_t stopped = 0;
        pid_t child = 0;  // of that one
    };
    // Waits for it. Zeros: it could not be done.
    catch_result caught() const { return caught_.get(); }

private:
    void watch(pid_t parent, stop how, std::promise<void> set, std::promise<catch_result> result);

    std::shared_future<catch_result> caught_;
    std::atomic<bool> is_traced_ = false;
    // The one that traces: only it may let go.
    std::thread tracer_;
};

}  // namespace pawl::crash
