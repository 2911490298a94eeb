#include "net/blocking_pool.hpp"

#include <system_error>
#include <utility>

namespace pawl::net {

void blocking_pool::submit(blocking_job job) { submit(std::move(job), true); }
void blocking_pool::submit_alone(blocking_job job) { submit(std::move(job), false); }

void blocking_pool::submit(blocking_job job, bool may_wait) {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    queue_.push_back(std::move(job));
    if (idle_ < queue_.size() && threads_.size() < threads_max_) {
        try {
            threads_.emplace_back([this] { work(); });
            return;
        } catch (const std::system_error&) {
            // The machine has no more threads. Those that are there do it, in their time.
            if (may_wait && !threads_.empty()) return changed_.notify_one();
            queue_.pop_back();
            throw;
        }
    }
    changed_.notify_one();
}

void blocking_pool::work() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        if (queue_.empty()) {
            ++idle_;
            changed_.wait(lock);
            --idle_;
            continue;
        }
        auto job = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        job();
        // A job's captures may own what stops this pool: let go of them outside the lock.
        job = nullptr;
        lock.lock();
    }
}

void blocking_pool::stop() {
    std::deque<blocking_job> dropped;
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        dropped.swap(queue_);
    }
    changed_.notify_all();
    for (auto& thread : threads_)
        if (thread.joinable()) thread.join();
}

}  // namespace pawl::net
