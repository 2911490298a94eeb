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

    void submit(blocking_job job);
    // Lets running jobs end and drops those that have not begun.
    void stop();

private:
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
