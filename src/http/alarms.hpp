// The deadlines of many connections on one timer.
//
// A timer each would cost a descriptor each. And since most deadlines move before they come, moving
// one later costs nothing: it is looked at when the old one comes.
#pragma once

#include "net/boot_timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <set>
#include <utility>

namespace pawl::http {

// On its executor only. Outlives its alarms.
class alarms {
public:
    class alarm {
    public:
        // `ring` may set and clear alarms, but not end this one.
        alarm(alarms& of, std::function<void()> ring) : of_{of}, ring_{std::move(ring)} {}
        ~alarm() { of_.forget(*this); }
        alarm(const alarm&) = delete;
        alarm& operator=(const alarm&) = delete;

        void set(instant when) { of_.set(*this, when); }
        void clear() noexcept { due_ = instant::max(); }
        bool is_set() const noexcept { return due_ != instant::max(); }

    private:
        friend class alarms;
        alarms& of_;
        std::function<void()> ring_;
        instant due_ = instant::max();
        instant queued_ = instant::max();  // its place in the queue, never after due_
    };

    explicit alarms(const boost::asio::any_io_executor& executor) : timer_{executor} {}

    // Rings until stop(). Its caller keeps this alive.
    boost::asio::awaitable<void> run();
    void stop();

private:
    void set(alarm& one, instant when);
    void forget(alarm& one) noexcept;
    void ring_what_is_due(instant now);

    net::boot_timer timer_;
    std::set<std::pair<instant, alarm*>> queue_;
    bool stopped_ = false;
};

}  // namespace pawl::http
