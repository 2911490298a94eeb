#include "exec/child_setup.hpp"

#include "exec/descriptor.hpp"
#include "exec/descriptor_limit.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

namespace pawl::exec {
namespace {

[[noreturn]] void fail(int tell, stage where) {
    child_setup_fault fault{};
    fault.where = static_cast<std::uint32_t>(where);
    fault.error = errno;
    [[maybe_unused]] const auto wrote = ::write(tell, &fault, sizeof fault);
    _exit(127);
}

void give_back_priorities_and_limits(const context& inherited) {
    if (inherited.policy != SCHED_OTHER && inherited.policy >= 0) {
        sched_param parameters{};
        parameters.sched_priority = inherited.priority;
        sched_setscheduler(0, inherited.policy, &parameters);
    }
    setpriority(PRIO_PROCESS, 0, inherited.nice);
    write_oom_score_adj(inherited.oom_score_adj);
    give_back_descriptor_limit(inherited.descriptors);
}

bool set_limits(const std::vector<resource_limit>& limits) {
    for (const resource_limit& one : limits) {
        const rlimit values{one.soft, one.hard};
        const auto resource = static_cast<__rlimit_resource_t>(one.resource);
        if (setrlimit(resource, &values) != 0) return false;
    }
    return true;
}

struct capability_sets {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
};

// The guard has the capabilities that its child has now.
bool may_kill_others() {
    capability_sets mine;
    if (syscall(SYS_capget, &mine.head, mine.sets) != 0) return false;
    return (mine.sets[CAP_TO_INDEX(CAP_KILL)].effective & CAP_TO_MASK(CAP_KILL)) != 0;
}

// What a change from root to another user takes away, unless its securebits say otherwise, and what
// only a program with capabilities of its own would inherit.
bool drop_capabilities() {
    capability_sets none;
    // EINVAL: a kernel that knows no ambient ones, such as gVisor's.
    const bool no_ambient =
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL;
    return no_ambient && syscall(SYS_capset, &none.head, none.sets) == 0;
}

// The stage at which it did not take place, in errno why.
std::optional<stage> fail_to_become(const identity& who) {
    const bool changed = getuid() != who.user || getgid() != who.group;
    // Without privilege one can still be asked to stay oneself.
    if (!changed && geteuid() != 0) return std::nullopt;
    // One that is not root may have the capability to, and would keep more of them than it knows.
    errno = EPERM;
    if (geteuid() != 0) return stage::user;
    if (who.user != geteuid() && !may_kill_others()) return stage::killing;
    const bool is_done = setgroups(who.groups.size(), who.groups.data()) == 0 &&
                         setgid(who.group) == 0 && setuid(who.user) == 0 &&
                         (who.user == 0 || drop_capabilities());
    return is_done ? std::nullopt : std::optional{stage::user};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

void write_oom_score_adj(int value) {
    const descriptor file{::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)};
    if (!file.is_open()) return;
    const std::string text = std::to_string(value);
    [[maybe_unused]] const auto wrote = ::write(file.get(), text.data(), text.size());
}

void set_up_child(const command& wanted, const std::array<int, 3>& streams, int tell, pid_t guard,
                  const context& inherited) {
    setpgid(0, 0);
    give_back_priorities_and_limits(inherited);
    for (int stream = 0; stream <= 2; ++stream) {
        if (dup2(streams[static_cast<std::size_t>(stream)], stream) < 0) fail(tell, stage::guard);
    }
    // Before the command can read from it; SIGTTOU is still blocked.
    if (wanted.place == placement::foreground) tcsetpgrp(STDIN_FILENO, getpid());
    // Before a limit on memory.
    std::vector<char*> arguments = pointers(wanted.arguments);
    std::vector<char*> environment = pointers(wanted.environment);
    // While it still has the privilege to do so.
    if (wanted.nice && setpriority(PRIO_PROCESS, 0, *wanted.nice) != 0) {
        fail(tell, stage::priority);
    }
    if (!set_limits(wanted.resource_limits)) fail(tell, stage::resource_limits);
    if (wanted.user)
        if (const auto where = fail_to_become(*wanted.user)) fail(tell, *where);
    // As the user whom it concerns: what they may not enter, the command may not either.
    if (!wanted.working_directory.empty() && chdir(wanted.working_directory.c_str()) != 0) {
        fail(tell, stage::working_directory);
    }
    if (wanted.file_mask) umask(*wanted.file_mask);
    // After the change of user, which clears it. A guard that died before this line is seen by the
    // next one.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(127);
    environ = environment.data();
    sigprocmask(SIG_SETMASK, &inherited.blocked, nullptr);
    execvp(arguments[0], arguments.data());
    fail(tell, stage::execute);
}

}  // namespace pawl::exec
