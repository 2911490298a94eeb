#include "net/detached_thread.hpp"

#include <csignal>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace pawl::net {
namespace {

// Those of a thread that begins are those of the thread that begins it.
class without_signals {
public:
    without_signals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(const without_signals&) = delete;
    without_signals& operator=(const without_signals&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

void run_detached(detached_job job) {
    const without_signals meanwhile;
    std::thread{std::move(job)}.detach();
}

void run_detached_for(std::chrono::nanoseconds longest, detached_job job) {
    const auto shared = std::make_shared<detached_job>(std::move(job));
    const auto ended = std::make_shared<std::promise<void>>();
    auto waiting = ended->get_future();
    try {
        run_detached([shared, ended] {
            (*shared)();
            *shared = nullptr;
            ended->set_value();
        });
    } catch (const std::system_error&) {
        return (*shared)();
    }
    waiting.wait_for(longest);
}

}  // namespace pawl::net
