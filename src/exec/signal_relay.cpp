#include "exec/signal_relay.hpp"

#include "exec/terminal.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

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
    state(const boost::asio::any_io_executor& executor, receiver pass_on)
        : signals{executor}, pass_on{std::move(pass_on)} {
        for (const int signal : passed_on) {
            if (!is_ignored(signal)) signals.add(signal);
        }
    }

    boost::asio::signal_set signals;
    receiver pass_on;

    static boost::asio::awaitable<void> listen(std::shared_ptr<state> self) {
        for (;;) {
            boost::system::error_code error;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
            const int signal = co_await self->signals.async_wait(token);
            if (error || !self->pass_on) co_return;
            self->pass_on(signal);
            if (signal == SIGTSTP) stop_with_the_command();
        }
    }
};

signal_relay::signal_relay(boost::asio::any_io_executor executor, receiver pass_on)
    : state_{std::make_shared<state>(executor, std::move(pass_on))} {
    auto listening = state::listen(state_);
    boost::asio::co_spawn(executor, std::move(listening), boost::asio::detached);
}

signal_relay::~signal_relay() {
    state_->pass_on = nullptr;
    boost::system::error_code ignored;
    state_->signals.clear(ignored);
}

}  // namespace pawl::exec
