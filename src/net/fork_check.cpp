#include "net/fork_check.hpp"

#include <pthread.h>

#include <mutex>
#include <vector>

namespace pawl::net {
namespace {

void count_fork() noexcept { forks_so_far.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace

std::atomic<unsigned> forks_so_far{0};

void keep_for_ever(std::shared_ptr<void> what) noexcept {
    // Reachable until the end, so that leak checkers have nothing to say.
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory for it, to end is right
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    const std::lock_guard lock{mutex};
    kept.push_back(std::move(what));
}

}  // namespace pawl::net
