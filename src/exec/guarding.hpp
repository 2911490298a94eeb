// The guard's own process: the parent of one command, and the one who ends it in time.
//
// It does not trust pawl to be alive, or to be scheduled: pawl tells it until when the command may
// run, and what pawl does not prolong ends. It has no threads and no store.
#pragma once

#include "exec/descriptor.hpp"

#include <signal.h>
#include <sys/resource.h>

namespace pawl::exec {

// What a command inherits from the program that pawl was when it started, and what the guard must
// therefore put back after having changed it for itself.
struct context {
    sigset_t blocked{};
    int policy = 0;  // of the scheduler, with its priority
    int priority = 0;
    int nice = 0;
    int oom_score_adj = 0;
    rlimit descriptors{};

    static context here();
};

// Never returns. Takes orders from `socket` (exec/wire.hpp) and exits when the command, and
// everything that it has left behind, is dead.
[[noreturn]] void run_guard(descriptor socket, const context& inherited);

// For the processes that stand beside pawl: out of its process group, so that neither ^C nor ^Z nor
// a stop of the group reaches them; no signal but SIGKILL and SIGSTOP does; they keep none of
// pawl's streams open; they survive a shortage of memory or of processor time; and they adopt
// orphans.
void retire_from_view(const char* name);

// Closes every descriptor but the standard streams and this one, which it moves.
descriptor keep_only(descriptor kept);

// Readable when a child has changed its state.
descriptor child_signals();

// Takes what there is to read and forgets it.
void drain(int file);

}  // namespace pawl::exec
