#include "runtime/bodies.hpp"

#include "net/timer.hpp"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <string_view>
#include <system_error>
#include <thread>

namespace pawl::runtime {
namespace {

struct joined_thread {
    std::stop_source abandoned;
    std::thread worker{};

    explicit joined_thread(std::stop_source when_abandoned)
        : abandoned{std::move(when_abandoned)} {}
    ~joined_thread() {
        if (!worker.joinable()) return;
        abandoned.request_stop();
        worker.join();
    }
    joined_thread(const joined_thread&) = delete;
    joined_thread& operator=(const joined_thread&) = delete;
};

// Whoever has been told to stop once is not told otherwise by a renewal.
bool has_ended(const lease& held) { return !held.valid() || held.stop_token().stop_requested(); }

bool has_time(const lease& held, millis ttl, instant now) {
    return held.valid_until() - now >= ttl / 2;
}

}  // namespace

bool may_start(lease& held, millis ttl) {
    if (has_ended(held)) return false;
    return has_time(held, ttl, lease_clock::now()) || (held.renew() && !has_ended(held));
}

boost::asio::awaitable<bool> async_may_start(lease& held, millis ttl) {
    if (has_ended(held)) co_return false;
    const auto here = co_await boost::asio::this_coro::executor;
    if (has_time(held, ttl, net::timers::of(here).now())) co_return true;
    auto renewing = held.async_renew();
    const bool renewed = co_await std::move(renewing);
    co_return renewed && !has_ended(held);
}

boost::asio::awaitable<void> on_thread(std::function<void()> work, std::stop_source abandoned) {
    joined_thread own{std::move(abandoned)};
    std::exception_ptr refused;
    auto start = [&](auto handler) {
        // A handler is move-only, and a thread's function is copied here and there.
        auto resume = std::make_shared<decltype(handler)>(std::move(handler));
        const auto go_on = [resume, executor = boost::asio::get_associated_executor(*resume)] {
            boost::asio::post(executor, [resume] { std::move (*resume)(); });
        };
        try {
            own.worker = std::thread{[&work, go_on] {
                work();
                go_on();
            }};
        } catch (const std::system_error&) {
            refused = std::current_exception();
            go_on();
        }
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        start, boost::asio::use_awaitable);
    if (refused) std::rethrow_exception(refused);
    own.worker.join();
}

std::string reason_of(const std::exception_ptr& thrown) {
    if (!thrown) return {};
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        const std::string_view what = error.what();
        return what.empty() ? "it threw an exception without a word" : std::string{what};
    } catch (...) {
        return "it threw what is no std::exception";
    }
}

leasing::term_end end_of(const lease& held, const lease_options& options) {
    const auto why = held.lost();
    if (why == loss_reason::lifetime_ended) return leasing::term_end::given_up;
    if (why) return leasing::term_end::taken_away;
    // Told to stop while the lease still lives: the store does not answer, or its lifetime ends.
    const bool in_doubt = held.stop_token().stop_requested() && options.max_lifetime.count() == 0;
    return in_doubt ? leasing::term_end::taken_away : leasing::term_end::given_up;
}

}  // namespace pawl::runtime
