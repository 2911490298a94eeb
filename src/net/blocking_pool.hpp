// A few threads for clients that block, such as SQLite's, so that the loop never does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pawl::net {

using blocking_job = std::function<void()>;  // must not throw

// Thread-safe. The threads start with the first job. The queue is as long as there are coroutines
// that wait for a job, which is what bounds it.
class blocking_pool {
public:
    explicit blocking_pool(std::size_t threads) : threads_max_{threads} {}
    ~blocking_pool() { stop(); }
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    // Throws std::system_error where the machine has no thread for the first job. Others wait for
    // those that are there, then.
    void submit(blocking_job job);
    // The same for a job that may last: behind others that do it would never begin, so it throws
    // where no thread is free for it and none can be made.
    void submit_alone(blocking_job job);
    // Lets running jobs end and drops those that have not begun.
    void stop();

private:
    void submit(blocking_job job, bool may_wait);
    void work();

    const std::size_t threads_max_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    std::deque<blocking_job> queue_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace pawl::net
