#include "engines/zookeeper/client/graveyard.hpp"

#include "net/own_process.hpp"

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

// The thread that closes handles, and what waits for it.
class graveyard {
public:
    // Never destroyed: its thread may run until the process is gone.
    static graveyard& instance() {
        static auto* const only = new graveyard;
        return *only;
    }

    void add(std::unique_ptr<client_handle> handle, instant when) {
        const std::lock_guard lock{mutex_};
        graves_.push_back({std::move(handle), when});
        if (!std::exchange(running_, true)) {
            std::thread{[this] { dig(); }}.detach();
            std::atexit([] { instance().settle(); });
        }
        changed_.notify_all();
    }

private:
    struct grave {
        std::unique_ptr<client_handle> handle;
        instant when;
    };

    void dig() {
        std::unique_lock lock{mutex_};
        for (;;) {
            const auto next =
                std::min_element(graves_.begin(), graves_.end(),
                                 [](const grave& a, const grave& b) { return a.when < b.when; });
            if (next == graves_.end()) {
                changed_.wait(lock);
                continue;
            }
            const auto left = next->when - lease_clock::now();
            if (left.count() > 0) {
                changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, nap_max));
                continue;
            }
            auto due = std::move(next->handle);
            graves_.erase(next);
            ++closing_;
            lock.unlock();
            due.reset();
            lock.lock();
            --closing_;
            changed_.notify_all();
        }
    }

    void settle() {
        // In the child of a fork() the thread is the parent's, and so may be the lock.
        if (process_.is_elsewhere()) return;
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, closing_timeout, [this] {
            const auto now = lease_clock::now();
            return closing_ == 0 && std::none_of(graves_.begin(), graves_.end(),
                                                 [&](const auto& one) { return one.when <= now; });
        });
    }

    // The condition's clock stops while the machine sleeps.
    static constexpr std::chrono::seconds nap_max{10};

    const net::own_process process_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    std::vector<grave> graves_;
    int closing_ = 0;
    bool running_ = false;
};

}  // namespace

void bury(std::unique_ptr<client_handle> handle, instant when) {
    if (handle) graveyard::instance().add(std::move(handle), when);
}

}  // namespace pawl::zookeeper
