#include "cli/demo/drill_worker.hpp"

#include "time/pause.hpp"

#include <pawl/locks.hpp>

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <stop_token>

namespace pawl::cli {
namespace {

// Two threads tell: the one that writes, and pawl's own when the lease is lost.
class event_writer {
public:
    void tell(const char* what, std::uint64_t token, instant at, std::uint64_t newest = 0) {
        char line[128];
        const int size = std::snprintf(line, sizeof line, "%s %llu %lld %llu\n", what,
                                       static_cast<unsigned long long>(token),
                                       static_cast<long long>(at.time_since_epoch().count()),
                                       static_cast<unsigned long long>(newest));
        const std::lock_guard lock{mutex_};
        if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) _exit(74);
    }

private:
    std::mutex mutex_;
};

// True when SIGTERM came before the time was over.
bool told_to_end_within(millis pause) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    timespec left{};
    left.tv_sec = pause.count() / 1000;
    left.tv_nsec = pause.count() % 1000 * 1'000'000;
    int got = 0;
    while ((got = sigtimedwait(&wanted, nullptr, &left)) < 0 && errno == EINTR) {
    }
    return got == SIGTERM;
}

}  // namespace

status run_drill_worker(const drill_worker_options& what) {
    // Blocked before there are threads, so that it waits for told_to_end_within().
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);

    event_writer out;
    auto store = locks::open(what.store, {.owner = what.name});
    out.tell("waiting", 0, lease_clock::now());
    auto tried =
        store.acquire_with_reason(what.key, {.ttl = what.ttl}, wait_policy{.wait = what.wait});
    auto* held = std::get_if<lease>(&tried);
    if (held == nullptr) {
        out.tell("busy", 0, lease_clock::now());
        return status::busy;
    }
    const auto token = held->token();
    out.tell("granted", number(token), lease_clock::now());
    held->watch_deadline([&out, token](instant, instant valid_until) {
        out.tell("valid_until", number(token), valid_until);
    });
    const std::stop_callback noticing{held->stop_token(), [&out, token] {
                                          out.tell("noticed", number(token), lease_clock::now());
                                      }};
    const auto pause = std::max(what.ttl / 20, millis{10});
    while (!told_to_end_within(pause)) {
        // First, so that a write that is frozen before its answer is known to have begun in time.
        out.tell("writing", number(token), lease_clock::now());
        const auto answer = store.check_fence(what.resource, token);
        if (!answer.accepted) {
            out.tell("rejected", number(token), lease_clock::now(), number(answer.highest));
            // That the lease is lost is told by pawl's own thread, which was frozen as well.
            const auto deadline = lease_clock::now() + what.ttl;
            while (!held->stop_token().stop_requested() && lease_clock::now() < deadline)
                time::pause_until(lease_clock::now() + millis{5});
            return status::done;
        }
        out.tell("wrote", number(token), lease_clock::now(), number(answer.highest));
    }
    held->release();
    out.tell("released", number(token), lease_clock::now());
    return status::done;
}

}  // namespace pawl::cli
