// The process that forks the guards of commands.
//
// A program with threads cannot fork safely, so this one is forked before there are any, and forks
// a guard for every command from then on. It is the second line of defence as well: when a guard is
// killed, what the guard watched over becomes the launcher's child, and the launcher kills it. It
// continues a guard that has been stopped.
#pragma once

#include "exec/descriptor.hpp"

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace pawl::exec {

constexpr std::size_t guards_max = 4096;  // commands of one launcher at the same time

// Of the commands.
enum class controlling_terminal {
    inherited,
    none  // none of them can read, write or type into this process's, which may be another user's
};

// Thread-safe after start.
class launcher {
public:
    // REQUIRES: this process has one thread so far, and forks nothing else from now on. What is so
    // at this moment (signals ignored and blocked, umask, limits, working directory) is what the
    // commands inherit. Opens /dev/null on standard streams that are closed. Throws
    // std::system_error when the system is out of processes or descriptors.
    static launcher start(controlling_terminal which = controlling_terminal::inherited);

    // Ends all commands as if this process had died, and waits until they are dead: at most the
    // longest grace, unless the kernel holds one of them (state D). A launcher that was stopped is
    // continued.
    ~launcher();
    launcher(launcher&&) = default;
    launcher& operator=(launcher&&) = delete;

    // The same without waiting, which the destructor does. No guard is forked any more.
    void end() { socket_.close(); }

    // Has a guard forked that listens on this socket. 0, or else errno: ECHILD where the launcher
    // is gone, EBUSY where it does not take what it is asked.
    int fork_guard(const descriptor& socket) const;

    // False once the launcher has died; then no other process cleans up behind a dead guard.
    bool is_alive() const;

    // Continues a launcher that was stopped (SIGSTOP), without which no guard is forked.
    void wake() const;

    // A guard that lives is no orphan. For exec::child.
    void add_guard(pid_t guard) const;
    void remove_guard(pid_t guard) const;
    // Kills what dead guards have left to this process. False: nothing is left. REQUIRES: the
    // launcher is dead.
    bool strike_at_orphans() const;

    pid_t pid() const noexcept { return pid_; }
    // For the sockets of runs (exec/folder.hpp); goes when the last command is dead, also when this
    // process has been killed. Empty: there is none.
    const std::string& folder() const noexcept { return folder_; }

private:
    launcher(descriptor socket, pid_t pid, std::string folder) noexcept
        : socket_{std::move(socket)}, pid_{pid}, folder_{std::move(folder)} {}

    // The children of this process that are no orphans.
    struct own_children {
        std::mutex mutex;
        std::set<pid_t> kept;  // under mutex
    };

    // Constant after construction
    std::unique_ptr<own_children> ours_;
    descriptor socket_;
    pid_t pid_;
    std::string folder_;
};

}  // namespace pawl::exec
