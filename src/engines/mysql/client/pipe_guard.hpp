// OpenSSL writes with write(2): to a peer that is gone that is a SIGPIPE, kept off the process
// here.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace pawl::mysql {

class pipe_guard {
public:
    explicit pipe_guard(bool wanted) : wanted_{wanted} {
        if (!wanted_) return;
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_only(), &before_);
    }
    ~pipe_guard() {
        if (!wanted_) return;
        const timespec at_once{};
        const auto& only = pipe_only();
        while (!was_pending_ && sigtimedwait(&only, nullptr, &at_once) == -1 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    pipe_guard(const pipe_guard&) = delete;
    pipe_guard& operator=(const pipe_guard&) = delete;

private:
    static const sigset_t& pipe_only() {
        static const sigset_t only = [] {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGPIPE);
            return set;
        }();
        return only;
    }

    const bool wanted_;
    bool was_pending_ = false;
    sigset_t before_{};
};

}  // namespace pawl::mysql
