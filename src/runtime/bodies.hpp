// Runs a body on a thread of its own, with two stop tokens merged into one.
#pragma once

#include "lease/election.hpp"

#include <pawl/lease.hpp>
#include <pawl/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <exception>
#include <functional>
#include <stop_token>
#include <string>

namespace pawl::runtime {

// Requested as soon as one of the two is.
class combined_stop {
public:
    combined_stop(std::stop_token one, std::stop_token other)
        : first_{std::move(one), request{both_}}, second_{std::move(other), request{both_}} {}
    combined_stop(const combined_stop&) = delete;
    combined_stop& operator=(const combined_stop&) = delete;

    std::stop_token token() const { return both_.get_token(); }

private:
    struct request {
        std::stop_source both;
        // What is called may end all of this: the state of the stop has to outlast that.
        void operator()() {
            auto kept = both;
            kept.request_stop();
        }
    };

    std::stop_source both_;
    std::stop_callback<request> first_, second_;
};

// For work in the background: the stop tokens of its program and of its waiter, and the end of
// `locks`.
class stops {
public:
    stops(std::stop_token program, std::stop_token waiter, std::stop_token closing)
        : both_{std::move(program), std::move(waiter)}, all_{both_.token(), std::move(closing)} {}

    std::stop_token token() const { return all_.token(); }

private:
    combined_stop both_;
    combined_stop all_;
};

// Runs `work`, which throws nothing, on a thread of its own and ends when it has. A coroutine that
// is destroyed meanwhile requests `abandoned` and waits for the thread. Throws std::system_error
// where there is no thread to be had.
boost::asio::awaitable<void> on_thread(std::function<void()> work, std::stop_source abandoned);

// What a body threw, for people; empty where it threw nothing.
std::string reason_of(const std::exception_ptr& thrown);

// Whether work may start under a lease that other things were waited for since its grant. One with
// less than half of its time left is renewed first, as work that starts with its end in sight may
// be stopped before it has done anything. Takes as long as the store does: the first blocks, the
// second is awaited on the loop.
bool may_start(lease& held, millis ttl, instant now);
boost::asio::awaitable<bool> async_may_start(lease& held, millis ttl);

// How the lease of a body ended that has just returned.
leasing::term_end end_of(const lease& held, const lease_options& options);

}  // namespace pawl::runtime
