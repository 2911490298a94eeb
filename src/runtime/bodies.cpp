#include "runtime/bodies.hpp"

#include "net/loop.hpp"
#include "net/timer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

// The threads for which one context's coroutines wait. A context that ends first tells them to stop
// and waits for them: what they have to say would find it gone.
class own_threads final : public boost::asio::execution_context::service {
public:
    using key_type = own_threads;
    inline static boost::asio::execution_context::id id;

    explicit own_threads(boost::asio::execution_context& owner) : service{owner} {}
    static own_threads& of(const boost::asio::any_io_executor& executor) {
        return boost::asio::use_service<own_threads>(boost::asio::query(
            executor, boost::asio::execution::context_as<boost::asio::execution_context&>));
    }

    // Begins a thread that says ended(). Where several threads run the context, the coroutine that
    // waits could go on, and be gone, before its thread is stored in its frame: ended() waits.
    // Throws std::system_error where there is no thread to be had.
    template <class Work>
    void begin(std::thread& stored, const std::stop_source& abandoned, Work work) {
        const std::lock_guard lock{mutex_};
        running_.push_back(abandoned);
        try {
            stored = std::thread{std::move(work)};
        } catch (const std::system_error&) {
            running_.pop_back();
            throw;
        }
    }
    // The last that a thread says. What it goes on with is destroyed elsewhere.
    void ended(const std::stop_source& abandoned, std::function<void()> go_on) {
        const std::lock_guard lock{mutex_};
        if (closed_)
            left_.push_back(std::move(go_on));
        else
            go_on();
        running_.erase(std::find(running_.begin(), running_.end(), abandoned));
        changed_.notify_all();
    }

private:
    void shutdown() override {
        std::vector<std::function<void()>> left;
        std::unique_lock lock{mutex_};
        closed_ = true;
        const auto told = running_;
        lock.unlock();
        for (auto one : told) one.request_stop();
        lock.lock();
        changed_.wait(lock, [this] { return running_.empty(); });
        left.swap(left_);
        lock.unlock();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    bool closed_ = false;
    std::vector<std::stop_source> running_;
    std::vector<std::function<void()>> left_;
};

// A body that has been told to stop once is not told otherwise by a renewal.
bool has_ended(const lease& held) { return !held.valid() || held.stop_token().stop_requested(); }

bool has_time(const lease& held, millis ttl, instant now) {
    return held.valid_until() - now >= ttl / 2;
}

}  // namespace

bool may_start(lease& held, millis ttl, instant now) {
    if (has_ended(held)) return false;
    return has_time(held, ttl, now) || (held.renew() && !has_ended(held));
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
    std::exception_ptr rejected;
    auto& all = own_threads::of(co_await boost::asio::this_coro::executor);
    auto start = [&](auto handler) {
        // A handler is move-only, and a thread's function is copied here and there.
        auto resume = std::make_shared<decltype(handler)>(std::move(handler));
        std::function<void()> go_on =
            [resume, executor = boost::asio::get_associated_executor(*resume)]() mutable {
                boost::asio::post(executor,
                                  [last = std::exchange(resume, nullptr)] { std::move (*last)(); });
            };
        auto body = [&work, &all, abandoned = own.abandoned, go_on]() mutable {
            {
                const net::loop::body_scope here;
                work();
            }
            all.ended(abandoned, std::exchange(go_on, nullptr));
        };
        try {
            all.begin(own.worker, own.abandoned, std::move(body));
        } catch (const std::system_error&) {
            rejected = std::current_exception();
            go_on();
        }
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        start, boost::asio::use_awaitable);
    if (rejected) std::rethrow_exception(rejected);
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
        return "it threw what is not a std::exception";
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
