#include "exec/signal_relay.hpp"

#include "base/ensure.hpp"
#include "exec/terminal.hpp"

#include <boost/asio/signal_set.hpp>

#include <signal.h>

#include <utility>

namespace pawl::exec {
namespace {

constexpr int passed_on[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                             SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};

bool is_ignored(int signal) {
    struct sigaction now{};
    return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

struct signal_relay::state {
    state(net::loop& where, receiver pass_on)
        : signals{where.get_executor()}, pass_on{std::move(pass_on)} {
        for (const int signal : passed_on) {
            if (!is_ignored(signal)) signals.add(signal);
        }
    }

    boost::asio::signal_set signals;
    receiver pass_on;

    static void listen(const std::shared_ptr<state>& self) {
        self->signals.async_wait([self](const boost::system::error_code& error, int signal) {
            if (error || !self->pass_on) return;
            self->pass_on(signal);
            if (signal == SIGTSTP) stop_with_the_command();
            listen(self);
        });
    }
};

signal_relay::signal_relay(net::loop& where, receiver pass_on)
    : loop_{where}, state_{std::make_shared<state>(where, std::move(pass_on))} {
    state::listen(state_);
}

signal_relay::~signal_relay() {
    // Elsewhere it would race with a signal that is being passed on.
    base::ensure(loop_.is_driving());
    state_->pass_on = nullptr;
    boost::system::error_code ignored;
    // clear() leaves the wait pending, where a loop that ends does not find it: it would keep
    // itself alive for ever.
    state_->signals.cancel(ignored);
    state_->signals.clear(ignored);
}

}  // namespace pawl::exec
