// A mutex whose lock is given up at an instant on the lease clock, and given in the order of
// asking.
//
// std::timed_mutex would do for the first, but g++ 12's thread sanitizer does not know how it
// waits; and it owes no thread a turn, so that under load a renewal could come too late behind
// claims that asked after it.
#pragma once

#include <pawl/clock.hpp>

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>

namespace pawl::sqlite {

// Used through std::unique_lock.
class deadline_mutex {
public:
    bool try_lock_until(instant deadline) {
        std::unique_lock lock{mutex_};
        if (!taken_) {
            taken_ = true;
            return true;
        }
        const auto me = queue_.emplace(queue_.end());
        while (!me->has_turn) {
            const auto left = deadline - lease_clock::now();
            if (left <= std::chrono::nanoseconds{0}) {
                queue_.erase(me);
                return false;
            }
            me->changed.wait_for(lock, left);
        }
        queue_.erase(me);
        return true;
    }

    void unlock() {
        const std::lock_guard lock{mutex_};
        for (auto& next : queue_) {
            if (next.has_turn) continue;
            // It stays taken: no thread that asks now comes in between.
            next.has_turn = true;
            next.changed.notify_one();
            return;
        }
        taken_ = false;
    }

private:
    struct waiter {
        std::condition_variable changed;
        bool has_turn = false;
    };

    std::mutex mutex_;
    // Under mutex_
    std::list<waiter> queue_;
    bool taken_ = false;
};

}  // namespace pawl::sqlite
