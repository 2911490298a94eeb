// A semaphore for the runs of a node: what finds no room waits for its turn.
#pragma once

#include "net/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

namespace pawl::schedule {

// On the loop only. First come, first served.
class run_capacity {
public:
    explicit run_capacity(std::size_t limit) : free_{limit} {}

    bool try_take() noexcept {
        if (free_ == 0 || !line_.empty()) return false;
        --free_;
        return true;
    }

    // False when the time is up, or all were sent away.
    boost::asio::awaitable<bool> take(std::chrono::nanoseconds wait) {
        auto place = std::make_shared<waiter>();
        line_.push_back(place);
        auto waiting = place->called.wait_for(wait);
        co_await std::move(waiting);
        if (place->served) co_return true;
        // Those who came together leave together, from the front: a look at the whole line for each
        // of a hundred thousand would keep the loop from renewing leases.
        const auto found = std::find(line_.begin(), line_.end(), place);
        if (found != line_.end()) line_.erase(found);
        co_return false;
    }

    void give_back() {
        if (line_.empty()) {
            ++free_;
            return;
        }
        auto next = std::move(line_.front());
        line_.pop_front();
        next->served = true;
        next->called.set();
    }

    void send_away() {
        for (const auto& one : line_) one->called.set();
        line_.clear();
    }

    std::size_t free() const noexcept { return free_; }

private:
    struct waiter {
        net::event called;
        bool served = false;
    };

    std::size_t free_;
    std::deque<std::shared_ptr<waiter>> line_;
};

}  // namespace pawl::schedule
