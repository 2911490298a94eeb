// For tests that need something to have happened in another thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace pawl {

// Longer than anything here takes on a machine that is busy.
constexpr std::chrono::milliseconds happening_timeout{60'000};

// True as soon as it holds; looked at again and again.
inline bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + happening_timeout;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        never.wait_for(lock, std::chrono::milliseconds{5});
    }
    return true;
}

}  // namespace pawl
