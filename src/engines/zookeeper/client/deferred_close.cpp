#include "engines/zookeeper/client/deferred_close.hpp"

#include "net/fork_check.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::zookeeper {
namespace {

// How long the end of a process waits for sessions that are being closed.
constexpr millis closing_timeout{250};

// The thread that closes handles, and what waits for it. Of each process one, as its thread does
// not pass to the child of a fork(); it may run until the process is gone.
class closer {
public:
    void add(std::unique_ptr<client_handle> handle, instant when) {
        const std::lock_guard lock{mutex_};
        waiting_.push_back({std::move(handle), when});
        if (!std::exchange(running_, true)) {
            std::thread{[this] { run(); }}.detach();
            std::atexit(settle_own);
        }
        changed_.notify_all();
    }

private:
    struct deferred {
        std::unique_ptr<client_handle> handle;
        instant when;
    };

    void run() {
        std::unique_lock lock{mutex_};
        for (;;) {
            const auto next = std::min_element(
                waiting_.begin(), waiting_.end(),
                [](const deferred& a, const deferred& b) { return a.when < b.when; });
            if (next == waiting_.end()) {
                changed_.wait(lock);
                continue;
            }
            const auto left = next->when - lease_clock::now();
            if (left.count() > 0) {
                changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, nap_max));
                continue;
            }
            auto due = std::move(next->handle);
            waiting_.erase(next);
            ++closing_;
            lock.unlock();
            due.reset();
            lock.lock();
            --closing_;
            changed_.notify_all();
        }
    }

    // A child inherits that its parent's is called at the end.
    static void settle_own();
    void settle() {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, closing_timeout, [this] {
            const auto now = lease_clock::now();
            return closing_ == 0 && std::none_of(waiting_.begin(), waiting_.end(),
                                                 [&](const auto& one) { return one.when <= now; });
        });
    }

    // The condition's clock stops while the machine sleeps.
    static constexpr std::chrono::seconds nap_max{10};

    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    std::vector<deferred> waiting_;
    int closing_ = 0;
    bool running_ = false;
};

constinit net::one_per_process<closer> closers;

void closer::settle_own() {
    if (auto* const mine = closers.find()) mine->settle();
}

}  // namespace

void close_later(std::unique_ptr<client_handle> handle, instant when) {
    if (handle) closers.get().add(std::move(handle), when);
}

}  // namespace pawl::zookeeper
