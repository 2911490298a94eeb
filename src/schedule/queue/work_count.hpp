// How many coroutines of a node are at work, and an end to who waits for there being none.
#pragma once

#include "net/timer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>

namespace pawl::schedule {

// On the loop only.
class work_count {
public:
    explicit work_count(const boost::asio::any_io_executor& executor) : none_{executor} {}

    void begin() noexcept { ++count_; }
    void end() {
        if (--count_ == 0) none_.cancel();
    }
    bool goes_on() const noexcept { return count_ > 0; }

    // Ends once there is none, or wake_up() was called. One waits at a time.
    boost::asio::awaitable<bool> wait_for(std::chrono::nanoseconds longest) {
        return none_.wait_for(longest);
    }
    void wake_up() { none_.cancel(); }

private:
    std::size_t count_ = 0;
    net::timer none_;
};

}  // namespace pawl::schedule
