#include "tests/crash/fork_trap.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

namespace pawl::crash {
namespace {

bool seize(pid_t process) {
    return ptrace(PTRACE_SEIZE, process, nullptr, PTRACE_O_TRACEFORK) == 0;
}

// False when it is dead.
bool wait_for_stop(pid_t process, int& status) {
    while (waitpid(process, &status, __WALL) < 0)
        if (errno != EINTR) return false;
    return WIFSTOPPED(status);
}

// The child that a traced process forks next, which is traced as well; 0: it died first. The
// process is stopped then, and the child too.
pid_t next_child_of(pid_t process) {
    int status = 0;
    while (wait_for_stop(process, status)) {
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
            unsigned long child = 0;
            ptrace(PTRACE_GETEVENTMSG, process, nullptr, &child);
            const auto pid = static_cast<pid_t>(child);
            return wait_for_stop(pid, status) ? pid : 0;
        }
        const bool is_event = status >> 16 != 0;
        ptrace(PTRACE_CONT, process, nullptr, is_event ? 0 : WSTOPSIG(status));
    }
    return 0;
}

fork_trap::catch_result trap(pid_t parent) {
    const pid_t stopped = next_child_of(parent);
    ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
    if (stopped == 0) return {};
    ptrace(PTRACE_CONT, stopped, nullptr, nullptr);
    const pid_t child = next_child_of(stopped);
    ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    return {stopped, child};
}

}  // namespace

fork_trap::fork_trap(pid_t parent, stop how) {
    std::promise<catch_result> result;
    caught_ = result.get_future().share();
    std::promise<void> set;
    auto is_set = set.get_future();
    tracer_ = std::thread{&fork_trap::watch, this, parent, how, std::move(set), std::move(result)};
    is_set.get();
}

void fork_trap::watch(pid_t parent, stop how, std::promise<void> set,
                      std::promise<catch_result> result) {
    const bool seized = seize(parent);
    set.set_value();
    const auto what = seized ? trap(parent) : catch_result{};
    is_traced_ = what.stopped != 0 && how == stop::traced;
    if (what.stopped != 0 && how == stop::signalled) {
        // It takes effect before anything of its own does.
        kill(what.stopped, SIGSTOP);
        ptrace(PTRACE_DETACH, what.stopped, nullptr, nullptr);
    }
    result.set_value(what);
    // Its own parent hears of its death once this has.
    int status = 0;
    while (is_traced_) is_traced_ = wait_for_stop(what.stopped, status);
}

fork_trap::~fork_trap() {
    const pid_t stopped = caught().stopped;
    if (is_traced_) kill(stopped, SIGKILL);
    tracer_.join();
}

}  // namespace pawl::crash
