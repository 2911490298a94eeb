// Signals that pawl receives and a command is meant to have.
#pragma once

#include "net/loop.hpp"

#include <functional>
#include <memory>

namespace pawl::exec {

// Catches SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT and SIGTSTP, from
// construction to destruction. Those that are ignored stay ignored: nohup must go on working. After
// SIGTSTP (^Z, in a pipeline) has been passed on, this process stops itself, until it is continued.
// Used on its loop only, its end included; at most one exists at a time.
class signal_relay {
public:
    using receiver = std::function<void(int signal)>;

    signal_relay(net::loop& where, receiver pass_on);
    ~signal_relay();
    signal_relay(const signal_relay&) = delete;
    signal_relay& operator=(const signal_relay&) = delete;

private:
    struct state;
    net::loop& loop_;
    // Shared with the handler that waits for signals, which may die as late as the loop.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::exec
