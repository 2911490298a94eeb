// Waiting for a time, on the lease clock, which goes on while the machine sleeps.
//
// Asio's own timers sleep on CLOCK_MONOTONIC: after a suspend they would fire late by as long as
// the machine slept. All timers of one context share a timerfd on CLOCK_BOOTTIME, which fires at
// once on resume; or a clock that a simulation turns.
#pragma once

#include "base/identity.hpp"
#include "net/parked_handler.hpp"
#include "time/clocks.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::net {

class timer;

// What the time is for a simulated node, and what chance is.
class simulated_node {
public:
    virtual instant now() const = 0;
    virtual time::wall_instant wall() const = 0;
    virtual std::uint64_t random() = 0;

protected:
    simulated_node() = default;
    ~simulated_node() = default;
    simulated_node(const simulated_node&) = default;
    simulated_node& operator=(const simulated_node&) = default;
};

// The timers of one context, and its clocks: an Asio service, so that those who wait end with it.
// Used on the context's own thread only.
class timers final : public boost::asio::execution_context::service {
public:
    using key_type = timers;
    static boost::asio::execution_context::id id;

    explicit timers(boost::asio::execution_context& owner);
    static timers& of(boost::asio::execution_context& context);
    static timers& of(const boost::asio::any_io_executor& executor);

    instant now() const { return simulated_ ? simulated_->now() : lease_clock::now(); }
    // As this node believes it to be.
    time::wall_instant wall() const { return simulated_ ? simulated_->wall() : time::local_now(); }
    // For a generator.
    std::uint32_t seed() const;
    base::id_source ids() const;
    // Null where the clocks are the system's.
    const simulated_node* simulated() const noexcept { return simulated_; }

    // From now on `node` says what time it is, and calls fire(). Before the first
    // timer is set; nullptr is not allowed.
    void simulate(simulated_node* node);
    // The context in which it sleeps, where that of its timers has no reactor. Before the first
    // timer is set.
    void sleep_in(const boost::asio::any_io_executor& host) { host_ = host; }
    // When the first of them is due; instant::max() for never.
    instant next() const;
    // Ends the waits that are due, in the order of their times, and of their beginnings.
    void fire();

private:
    friend class timer;
    struct due {
        instant at;
        std::uint64_t order;
        auto operator<=>(const due&) const = default;
    };
    void shutdown() override;
    due add(timer& who, instant at);
    void remove(const due& when);
    void arm();
    void listen();

    simulated_node* simulated_ = nullptr;
    std::map<due, timer*> waiting_;
    std::uint64_t order_ = 0;
    bool closed_ = false;
    // Where time is real
    std::optional<boost::asio::any_io_executor> host_;
    std::optional<boost::asio::posix::stream_descriptor> alarm_;
    boost::asio::any_io_executor listener_;  // on which it is heard
    instant armed_ = instant::max();
    bool listening_ = false;
};

// One wait at a time. Used on its context's own thread only. A wait that Asio cancels ends as one
// that cancel() ends; one whose timer is destroyed does as well.
class timer {
public:
    // Throws boost::system::system_error when the system is out of descriptors.
    explicit timer(const boost::asio::any_io_executor& executor)
        : executor_{executor}, home_{&timers::of(executor)} {}
    ~timer();
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    // True when the time has come; false when the wait was ended before. instant::max() for ever.
    boost::asio::awaitable<bool> wait_until(instant when);
    boost::asio::awaitable<bool> wait_for(std::chrono::nanoseconds duration) {
        return wait_until(after(duration));
    }
    // Moves the end of the wait that goes on, if one does.
    void move(instant when);
    void cancel() { end(false); }
    bool waits() const noexcept { return static_cast<bool>(handler_); }

    instant now() const { return home_->now(); }

private:
    friend class timers;
    // Without an overflow.
    instant after(std::chrono::nanoseconds duration) const;
    void begin(instant when, parked_handler<bool> handler);
    void end(bool due);

    boost::asio::any_io_executor executor_;
    timers* home_;
    std::optional<timers::due> place_;
    parked_handler<bool> handler_;
    std::shared_ptr<timer*> alive_;  // known to the cancellation of the wait that goes on
};

// A pause of this coroutine; ends early only when Asio cancels it.
boost::asio::awaitable<void> sleep_for(std::chrono::nanoseconds duration);

}  // namespace pawl::net
