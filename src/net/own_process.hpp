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
class own_process {
public:
    bool is_elsewhere() const noexcept {
        return forks_so_far.load(std::memory_order_relaxed) != made_after_;
    }

private:
    const unsigned made_after_ = forks_so_far.load(std::memory_order_relaxed);
};

// What a child is told when it uses something of its parent.
constexpr const char* opened_before_fork =
    "this object of pawl was opened before fork(): in the child, open another one";

// Keeps what the child must not destroy until it ends.
void keep_for_ever(std::shared_ptr<void> what) noexcept;

}  // namespace pawl::net
