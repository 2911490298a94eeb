// Detects a fork(): whether this process is the one that an object was made in, or its child.
//
// A child has the parent's memory, but none of its threads, and shares its sockets and its epoll
// set. Whatever it did to them, it would do to the parent.
#pragma once

#include <atomic>
#include <memory>

namespace pawl::net {

// How many forks lie between the first process and this one.
extern std::atomic<unsigned> forks_so_far;

// Of something that belongs to the process it was made in. Thread-safe; a question is one load.
class fork_check {
public:
    bool is_forked_child() const noexcept {
        return forks_so_far.load(std::memory_order_relaxed) != made_after_;
    }

private:
    const unsigned made_after_ = forks_so_far.load(std::memory_order_relaxed);
};

// One T in each process: the child of a fork() makes another, as threads that held mutexes of its
// parent's are not there to let them go. Never destroyed. Thread-safe; for static storage.
template <class T>
class one_per_process {
public:
    T& get() {
        auto* known = latest_.load(std::memory_order_acquire);
        while (known == nullptr || known->made_here.is_forked_child()) {
            auto mine = std::make_unique<one>(known);
            if (latest_.compare_exchange_strong(known, mine.get())) return mine.release()->what;
        }
        return known->what;
    }
    // Null where this process has made none yet.
    T* find() {
        auto* const known = latest_.load(std::memory_order_acquire);
        return known == nullptr || known->made_here.is_forked_child() ? nullptr : &known->what;
    }

private:
    struct one {
        explicit one(const one* before) : of_parent{before} {}
        const one* const of_parent;  // for leak checkers: reachable until the end
        const fork_check made_here;
        T what;
    };
    std::atomic<one*> latest_{nullptr};
};

// What a child is told when it uses something of its parent.
constexpr const char* opened_before_fork =
    "this object of pawl was opened before fork(): in the child, open another one";

// Keeps what the child must not destroy until it ends.
void keep_for_ever(std::shared_ptr<void> what) noexcept;

}  // namespace pawl::net
