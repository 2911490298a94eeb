// A mutex whose lock is given up at an instant on the lease clock.
//
// std::timed_mutex would do, but g++ 12's thread sanitizer does not know how it waits.
#pragma once

#include <pawl/clock.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace pawl::sqlite {

// Used through std::unique_lock.
class deadline_mutex {
public:
    bool try_lock_until(instant deadline) {
        std::unique_lock lock{mutex_};
        while (taken_) {
            const auto left = deadline - lease_clock::now();
            if (left <= std::chrono::nanoseconds{0}) return false;
            freed_.wait_for(lock, left);
        }
        taken_ = true;
        return true;
    }

    void unlock() {
        {
            const std::lock_guard lock{mutex_};
            taken_ = false;
        }
        freed_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable freed_;
    bool taken_ = false;  // under mutex_
};

}  // namespace pawl::sqlite
