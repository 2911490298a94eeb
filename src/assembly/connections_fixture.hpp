// What the tests of connections of the application's share.
#pragma once

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

// Waits until nothing that a store does in the background is at the server, so that its end finds
// every connection idle.
template <class Active>
void until_idle(Active active) {
    int calm = 0;
    until([&] {
        calm = active() == 0 ? calm + 1 : 0;
        return calm == 20;
    });
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
    auto held = where.try_acquire("key", {.ttl = 9s});
    ASSERT_TRUE(held);
    EXPECT_FALSE(takes(other, "key"));
    // Beyond its TTL it is kept alive by the heartbeat.
    const auto rejected = other.acquire("key", minute, 11s);
    EXPECT_FALSE(rejected.has_value());
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
    auto held = where->try_acquire("forked", minute);
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
    // What has not been answered when the object goes is given up, with its connection.
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE(where->drain(minute.ttl));
}

// One of the functions of connection_factories.
template <class Given>
using factory_member = std::function<Given()> connection_factories::*;

template <class Given>
open_options lending(factory_member<Given> which, std::function<Given()> make) {
    open_options options;
    options.connections.*which = std::move(make);
    return options;
}

// As an application has it: it gives connections out, and looks at those that come back.
template <class Connection>
class lending_pool {
public:
    using given_type = std::shared_ptr<Connection>;

    lending_pool(const lending_pool&) = delete;
    lending_pool& operator=(const lending_pool&) = delete;

    given_type give() {
        const std::lock_guard guard{mutex_};
        ++given;
        Connection* one = nullptr;
        if (idle_.empty()) {
            one = connect();
            ++made;
        } else {
            one = idle_.back();
            idle_.pop_back();
        }
        prepare(one);
        return {one, [this](Connection* back) { take(back); }};
    }
    std::function<given_type()> giver() {
        return [this] { return give(); };
    }
    bool all_are_back() {
        const std::lock_guard guard{mutex_};
        return taken == given;
    }

    // Statements for each connection that is given.
    std::vector<std::string> prologue;
    int given = 0, made = 0, broken = 0, taken = 0;
    // What is wrong with those that came back and stand; empty: nothing.
    std::string dirt;

protected:
    lending_pool() = default;
    virtual ~lending_pool() = default;
    // In the destructor of what is derived.
    void disconnect_all() {
        for (auto* one : idle_) disconnect(one);
    }

private:
    virtual Connection* connect() = 0;
    virtual void disconnect(Connection* one) = 0;
    // Runs the prologue.
    virtual void prepare(Connection* one) = 0;
    virtual bool stands(Connection* back) = 0;
    virtual void look_at(Connection* back) = 0;

    void take(Connection* back) {
        const std::lock_guard guard{mutex_};
        ++taken;
        if (!stands(back)) {
            ++broken;
            disconnect(back);
            return;
        }
        look_at(back);
        idle_.push_back(back);
    }

    std::mutex mutex_;
    std::vector<Connection*> idle_;
};

template <class Pool>
void expect_all_in_order(Pool& pool) {
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_EQ(pool.broken, 0);
    EXPECT_EQ(pool.dirt, "");
}

// Many callers at once, over at most two connections. The URL says so.
template <class Pool>
void expect_two_at_most(const std::string& url, Pool& pool, open_options over) {
    {
        auto mine = locks::open(url, std::move(over));
        std::vector<std::thread> callers;
        for (int i = 0; i < 32; ++i)
            callers.emplace_back([&, i] {
                for (int j = 0; j < 8; ++j) {
                    auto held = mine.try_acquire("key/" + std::to_string(i), minute);
                    if (held) held->release();
                }
            });
        for (auto& one : callers) one.join();
        EXPECT_GE(pool.given, 1);
        EXPECT_LE(pool.given, 2);
    }
    EXPECT_TRUE(pool.all_are_back());
    EXPECT_EQ(pool.dirt, "");
}

// What a function gives that has none, or throws.
template <class Given>
void expect_none_is_told(const std::string& engine, factory_member<Given> which, Given none) {
    const auto url = engine + ":?timeout=10s";
    const auto told = "unreachable " + engine + ": the application gave no connection";
    auto mine = locks::open(url, lending<Given>(which, [none] { return none; }));
    EXPECT_EQ(store_fault(mine), told);
    auto other = locks::open(url, lending<Given>(which, []() -> Given {
                                 throw std::runtime_error{"the pool is empty\nsee its log"};
                             }));
    EXPECT_EQ(store_fault(other), told + ": the pool is empty");
}

// Goal: neither the caller nor the end of the store depends on a function that is slow, and its
// late answer comes back unused.
template <class Pool>
void expect_late_ones_are_unused(const std::string& engine, Pool& pool,
                                 factory_member<typename Pool::given_type> which) {
    std::latch go{1};
    {
        auto mine =
            locks::open(engine + ":?timeout=200ms", lending<typename Pool::given_type>(which, [&] {
                            go.wait();
                            return pool.give();
                        }));
        expect_words(store_fault(mine), "unreachable " + engine + ": ");
        go.count_down();
        until([&] { return pool.given > 0 && pool.all_are_back(); });
        EXPECT_EQ(pool.broken, 0);
        EXPECT_EQ(pool.dirt, "");
    }
    EXPECT_TRUE(pool.all_are_back());
}

}  // namespace pawl
