// For programs that need a call of another thread to have begun to wait.
#pragma once

#include <pawl/pawl.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <variant>

// Whether a call of these `locks` comes to wait for a key that others hold, within a minute. A
// claim that finds another of its own process in line is told of no holder.
inline bool comes_to_wait(pawl::locks& by, const std::string& key) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 1min;
    while (std::chrono::steady_clock::now() < end) {
        const auto answer = by.acquire_with_reason(key, {.ttl = 60s});
        const auto* held = std::get_if<pawl::busy>(&answer);
        if (held != nullptr && held->holder == pawl::fence_token{}) return true;
        std::this_thread::yield();
    }
    return false;
}
