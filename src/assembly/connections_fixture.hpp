// What the tests of connections of the application's share.
#pragma once

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace pawl {

using namespace std::chrono_literals;

constexpr lease_options minute{.ttl = 1min};

// Waits for what must come; a test that waits longer has failed.
template <class Condition>
void until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!holds()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "it did not come";
        std::this_thread::sleep_for(2ms);
    }
}

// What a claim says that fails for the store's fault, behind its errc.
inline std::string store_fault(locks& where) {
    try {
        static_cast<void>(where.try_acquire("key", minute));
    } catch (const store_error& fault) {
        return std::string{name_of(fault.code())} + " " + fault.what();
    }
    return "no fault";
}

// Whether it is held now, by a claim that is given back at once.
inline bool takes(locks& where, const std::string& key) {
    const auto held = where.try_acquire(key, minute);
    return held.has_value();
}

inline std::string option_fault(const std::string& url, open_options options) {
    try {
        static_cast<void>(locks::open(url, std::move(options)));
    } catch (const option_error& fault) {
        return fault.what();
    }
    return "no fault";
}

inline void expect_words(const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

// Claims, renews, hands the key over to one who waits, and runs a job.
inline void expect_all_verbs(locks& where, locks& other) {
    auto held = where.try_acquire("key", {.ttl = 4s});
    ASSERT_TRUE(held);
    EXPECT_FALSE(takes(other, "key"));
    // Beyond its TTL it is kept alive by the heartbeat.
    const auto refused = other.acquire("key", minute, 6s);
    EXPECT_FALSE(refused.has_value());
    EXPECT_TRUE(held->valid());
    const auto token = held->token();
    auto waiting = std::async(std::launch::async, [&] {
        const auto next = other.acquire("key", minute, 20s);
        return next ? next->token() : fence_token{};
    });
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_GT(waiting.get(), token);
    int runs = 0;
    const job work{.name = "job", .lease = minute, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(where.run(work), run_outcome::ran);
    EXPECT_EQ(runs, 1);
}

// In the child every call throws, and the ends of its copies touch nothing: the parent goes on.
inline void expect_dead_after_fork(std::unique_ptr<locks> where) {
    const auto held = where->try_acquire("forked", minute);
    ASSERT_TRUE(held);
    const auto child = ::fork();
    if (child == 0) {
        bool threw = false;
        try {
            static_cast<void>(where->try_acquire("other", minute));
        } catch (const std::logic_error&) {
            threw = true;
        }
        where.reset();
        ::_exit(threw ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(takes(*where, "other"));
    EXPECT_FALSE(takes(*where, "forked"));
}

}  // namespace pawl
