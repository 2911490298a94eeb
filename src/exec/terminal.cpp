#include "exec/terminal.hpp"

#include <signal.h>
#include <unistd.h>

namespace pawl::exec {
namespace {

// A group in the background that sets the foreground is stopped by SIGTTOU, unless it blocks that.
void set_foreground(pid_t group) {
    sigset_t output;
    sigset_t before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &output, &before);
    tcsetpgrp(STDIN_FILENO, group);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

bool holds_terminal() {
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
           tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

bool give_terminal(pid_t group) {
    if (!holds_terminal()) return false;
    set_foreground(group);
    return true;
}

void take_terminal_back() { set_foreground(getpgrp()); }

void stop_with_the_command() { kill(getpid(), SIGSTOP); }

}  // namespace pawl::exec
