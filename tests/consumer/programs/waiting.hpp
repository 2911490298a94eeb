// For programs that need a call of another thread to have begun to wait, and servers to answer.
#pragma once

#include <pawl/pawl.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <variant>

inline std::string with_parameter(const std::string& url, const std::string& more) {
    return url + (url.find('?') == std::string::npos ? "?" : "&") + more;
}

inline bool is_of_server(const std::string& url) {
    return url.find("127.0.0.1:") != std::string::npos;
}

// The same store, whose server may stand still for a while on a machine that is busy.
inline std::string with_long_timeout(const std::string& url) {
    return is_of_server(url) ? with_parameter(url, "timeout=20s") : url;
}

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
